"""Fixpoints of the modes of a loop's carry: modes that no further step changes.

Modes only grow: each round lifts the body, and joins what its results turn out to be. Where the
joins of one carry go on growing, as those of a counter of depth do, the handler is asked to widen
(Cousot & Cousot 1977).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.errors import FixpointError

PATIENCE: Final = 32
"""The number of times that the mode of a carry may grow before it is widened, and after."""


def fixpoint(
    handler: Any,
    step: Callable[[tuple[Any, ...], Any], Any],
    modes: Sequence[Any],
    state: Any,
) -> tuple[Any, tuple[Any, ...], Any]:
    """The least modes of carry and state that a step keeps, and the step lifted at them.

    `step(modes, state)` lifts the body; its first results are the carry.

    Raises `FixpointError` where modes grow without end, and the handler does not widen.
    """
    now, grown, state_grown = tuple(modes), [0] * len(modes), 0
    while True:
        lifted = step(now, state)
        joined = [handler.join(a, b) for a, b in zip(now, lifted.out_modes, strict=False)]
        after = handler.state_join(state, lifted.state_mode)
        for i, (before, mode) in enumerate(zip(now, joined, strict=True)):
            if mode == before:
                continue
            grown[i] += 1
            if grown[i] > PATIENCE:
                joined[i] = wide = handler.widen(before, mode)
                if handler.join(wide, mode) != wide:
                    raise FixpointError(
                        f"{_name(handler)}: the mode of value {i} of a loop's carry was widened "
                        f"to {wide!r}, which is not above {mode!r}: joining the two must give it"
                    )
            if grown[i] > 2 * PATIENCE:
                raise FixpointError(
                    f"{_name(handler)}: the mode of value {i} of a loop's carry has grown in "
                    f"{grown[i]} steps, {PATIENCE} of them after it was widened, last from "
                    f"{before!r} to {joined[i]!r}; widen must return a mode that no later step "
                    "changes"
                )
        if after != state:
            state_grown += 1
            if state_grown > PATIENCE:
                raise FixpointError(
                    f"{_name(handler)}: each of {state_grown} steps of a loop has changed the "
                    "structure or the types of its state; write to the same entries in each step"
                )
        if tuple(joined) == now and after == state:
            return lifted, now, state
        now, state = tuple(joined), after


def _name(handler: Any) -> str:
    return str(handler.label or type(handler).__name__)
