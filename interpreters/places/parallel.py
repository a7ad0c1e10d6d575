"""Programs at many places, lifted through any handler; and the same as one batch.

A mapped operand's rows go to the places as the leaves' rows do: the axis of the places comes
first in every leaf, before any axis that a handler adds in front of the value's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows import collective
from effax.effects.rows.control import call
from effax.effects.rows.shape import move_axis
from effax.interpreters.batch.parallel import as_batch
from effax.interpreters.functor.lifting import (
    PLAIN,
    Lifting,
    functor,
    leaf_count,
    leaves_of,
    lift,
    lift_call,
)


def lift_parallel(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lift the program that each place runs.

    A handler with a state gets one state back, not one from each place: for it the places are one
    batch, on one device.
    """
    program: Program = attributes["program"]
    mapped: tuple[bool, ...] = attributes["mapped"]
    state = handler.state_mode()
    modes = tuple(map(handler.mode, operands))
    lifted = lift(program, handler, modes, state)
    if handler.state_types(state) or handler.state_types(lifted.state_mode) or lifted.log:
        batch = as_batch(program, mapped, attributes["size"], attributes["binds"][0])
        return lift_call(handler, call, operands, {"program": batch, "name": attributes["name"]})
    flat: list[Any] = []
    flat_mapped: list[bool] = []
    for x, mode, has_rows in zip(operands, modes, mapped, strict=True):
        leaves = list(leaves_of(handler, x, mode))
        if has_rows:
            axes = _axes(handler, mode, len(leaves))
            leaves = [move_axis(leaf, k, 0) for leaf, k in zip(leaves, axes, strict=True)]
        flat += leaves
        flat_mapped += [has_rows] * len(leaves)
    results = effect(
        *lifted.captured,
        *flat,
        **{
            **attributes,
            "program": lifted.program,
            "mapped": (*(False for _ in lifted.captured), *flat_mapped),
        },
    )
    rest, values = list(results), []
    for mode, t in zip(lifted.out_modes, program.out_types, strict=True):
        n = leaf_count(handler, mode, t)
        leaves, rest = rest[:n], rest[n:]
        if mode is PLAIN:
            values += leaves
        else:
            axes = _axes(handler, mode, n)
            moved = [move_axis(leaf, 0, k) for leaf, k in zip(leaves, axes, strict=True)]
            values.append(handler.value(mode, moved))
    return values


def _axes(handler: Lifting, mode: Any, count: int) -> Sequence[int]:
    return (0,) * count if mode is PLAIN else handler.leaf_axes(mode) or (0,) * count


functor[collective.parallel] = lift_parallel
