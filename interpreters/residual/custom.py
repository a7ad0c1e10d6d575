"""Splitting of calls whose batching is the user's: the linear half is such a call, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.program import Program, without_dead_code
from effax.effects.rows import custom
from effax.interpreters.functor.masks import pick
from effax.interpreters.residual.partition import SplitPlan, planners, settle, split
from effax.interpreters.residual.record import Record


def dependent(name: str) -> UnsupportedDerivativeError:
    """The error for a batching rule some result of which moves where the function's does not."""
    return UnsupportedDerivativeError(
        f"the batching rule of the custom_vmap function {name} makes a result depend on a "
        "differentiated argument of which the function's own result is independent; make the rule "
        "compute the function's own result"
    )


class _KnownBatching:
    """A batching rule, asked for the results that do not depend on the unknown operands."""

    __slots__ = ("name", "rule", "types", "unknown", "unknown_outputs")

    def __init__(
        self,
        rule: Any,
        unknown: tuple[bool, ...],
        unknown_outputs: tuple[bool, ...],
        types: Sequence[Any],
        name: str,
    ) -> None:
        self.rule = rule
        self.unknown = unknown
        self.unknown_outputs = unknown_outputs
        self.types = types
        self.name = name

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        recording = Record()
        given = zip(values, batched, strict=True)
        pairs = [
            (recording.unknown(t), False) if u else next(given)
            for u, t in zip(self.unknown, self.types, strict=True)
        ]
        results, marks = recording.run(
            self.rule, size, [b for _, b in pairs], [x for x, _ in pairs]
        )
        found = pick(results, self.unknown_outputs, False)
        if any(map(recording.owns, found)):
            raise dependent(self.name)
        return found, pick(marks, self.unknown_outputs, False)


class _LinearBatching:
    """A batching rule, asked for some of its results."""

    __slots__ = ("rule", "wanted")

    def __init__(self, rule: Any, wanted: tuple[bool, ...]) -> None:
        self.rule = rule
        self.wanted = wanted

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        results, marks = self.rule(size, batched, values)
        return pick(results, self.wanted, True), pick(marks, self.wanted, True)


def plan_custom_vmap(unknown: tuple[bool, ...], attributes: dict[str, Any]) -> SplitPlan:
    """The linear half computes the known part again, as the residuals of a batch are not those of
    one element: only the user's rule knows what it keeps."""
    program: Program = attributes["program"]
    rule, name = attributes["rule"], attributes["name"]
    parts = split(program, unknown)
    later = parts.unknown_outputs
    own = later.count(False)
    known = parts.known
    known = without_dead_code(
        Program(known.inputs, known.equations, known.outputs[:own], program.name)
    )
    linear = settle(without_dead_code(program, later), unknown)
    return SplitPlan(
        {
            "program": known,
            "rule": _KnownBatching(rule, unknown, later, program.in_types, name),
            "name": name,
        },
        {"program": linear, "rule": _LinearBatching(rule, later), "name": name},
        later,
        lambda operands: pick(operands, unknown, False),
        lambda operands, residuals: list(operands),
    )


planners[custom.custom_vmap_call] = plan_custom_vmap
