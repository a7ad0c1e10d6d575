"""The split of a program at many places into a known and a linear half, at the same places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import collective
from effax.interpreters.functor.masks import pick
from effax.interpreters.residual.partition import SplitPlan, planners, split


def plan_parallel(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """Each place keeps its own residuals: they come as rows, and go back as rows."""
    parts = split(attributes["program"], unknown)
    mapped: tuple[bool, ...] = attributes["mapped"]
    known_mapped = pick(mapped, unknown, False)

    def known(operands: Sequence[Any]) -> list[Any]:
        return pick(operands, unknown, False)

    def linear(operands: Sequence[Any], residuals: Sequence[Any]) -> list[Any]:
        plain = known(operands)
        return [
            *(plain[i] for i in parts.forwarded),
            *residuals,
            *pick(operands, unknown, True),
        ]

    linear_mapped = (
        *(known_mapped[i] for i in parts.forwarded),
        *(True for _ in range(parts.made)),
        *pick(mapped, unknown, True),
    )
    return SplitPlan(
        {**attributes, "program": parts.known, "mapped": tuple(known_mapped)},
        {**attributes, "program": parts.linear, "mapped": linear_mapped},
        parts.unknown_outputs,
        known,
        linear,
    )


planners[collective.parallel] = plan_parallel
