"""Ordering: effects that must happen in turn become a chain of tokens.

Ordered callbacks say no more than that they are ordered. Before a program is compiled this handler
makes each of them take the token that the one before it gave: its state is the token, carried
through branches, loops and calls by the functor like any state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from effax.effects.contexts import put
from effax.effects.effect import Effect
from effax.effects.handler import Carrier, current
from effax.effects.program import Program, programs_in
from effax.effects.rows import control, shape
from effax.effects.rows.callback import TOKEN, debug_callback, io_callback, sequenced_callback
from effax.effects.types import ShapedArray
from effax.interpreters.functor.lifting import PLAIN, Lifting, Mode, functor
from effax.interpreters.functor.rotation import rotated_while
from effax.interpreters.stage import Stage


def has_ordered(program: Program) -> bool:
    """Whether a program, or one inside it, performs an ordered callback."""
    found = program.memo.get("ordered")
    if found is None:
        found = program.memo["ordered"] = "callback" in program.row and any(
            _is_ordered(e.effect, e.attributes) for e in program.equations
        )
    return bool(found)


def _is_ordered(effect: Effect, attributes: dict[str, Any]) -> bool:
    if effect.higher_order:
        return any(map(has_ordered, programs_in(attributes)))
    return effect in (debug_callback, io_callback) and bool(attributes["ordered"])


class _Nobody(Carrier):
    """The carrier of a handler that owns no values."""

    __slots__ = ()


class Ordering(Lifting):
    """Threads a token through the ordered callbacks of a program."""

    __slots__ = ("token",)

    carrier = _Nobody
    rules: ClassVar[dict[Effect, Callable[..., Any]]] = {}

    def __init__(self, outer: Any = None) -> None:
        super().__init__(outer)
        self.token: Any = None

    def mode(self, value: Any) -> Mode:
        """All values are others'."""
        return PLAIN

    def state_leaves(self, mode: Mode) -> Sequence[Any]:
        """The token of the last ordered callback."""
        return (self.token,)

    def state_types(self, mode: Mode) -> Sequence[ShapedArray]:
        """The type of tokens."""
        return (TOKEN,)

    def state_set(self, mode: Mode, leaves: Sequence[Any]) -> None:
        """Go on from that token."""
        (self.token,) = leaves

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Ordered callbacks take the token, and give the next; the rest passes."""
        if not effect.answerable:
            return self.outer.perform(effect, operands, attributes)
        token = put(current, self.outer)
        try:
            if not _is_ordered(effect, attributes):
                return effect(*operands, **attributes)
            if effect.higher_order:
                lifter = _lifters.get(effect) or functor[effect]
                return lifter(self, effect, operands, attributes)
            self.token, *results = sequenced_callback(
                self.token,
                *operands,
                callback=attributes["callback"],
                result_types=attributes.get("result_types", ()),
                debugs=effect is debug_callback,
            )
            return results
        finally:
            current.reset(token)


def _while(
    handler: Ordering, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    return rotated_while(handler, operands, attributes)


_lifters = {control.while_loop: _while}


def in_order(program: Program) -> Program:
    """The program with its ordered callbacks in a chain; the same where it has none."""
    if not has_ordered(program):
        return program
    found = program.memo.get("in order")
    if found is None:
        recorder = Stage()
        token = put(current, recorder)
        try:
            handler = Ordering(recorder)
            handler.token = shape.full((), False, TOKEN.dtype)
            inputs = [recorder.input(t) for t in program.in_types]
            results = handler.run(program.run, *inputs)
            found = program.memo["in order"] = recorder.finish(results, program.name).program
        finally:
            current.reset(token)
            recorder.close()
    return found
