"""Guards: a program whose observable effects happen only while a flag is up.

Batched branches and loops also run for lanes that do not take them, whose values are thrown away.
Such a lane must not print anything, nor fail a check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from effax.effects.contexts import put
from effax.effects.effect import Effect
from effax.effects.handler import Carrier, current
from effax.effects.program import Program, Variable, row_of
from effax.effects.rows import control
from effax.effects.rows.callback import OnlyWhen, debug_callback, io_callback
from effax.effects.rows.check import check, debug_check
from effax.effects.rows.logical import not_, or_
from effax.effects.types import ShapedArray, bool_
from effax.interpreters.functor.lifting import PLAIN, Lifting, Mode, functor
from effax.interpreters.functor.rotation import rotated_while
from effax.interpreters.stage import Stage

FLAG: Final = ShapedArray((), bool_)
_GUARDED: Final = frozenset({"callback", "check", "debug_check"})


class _Nobody(Carrier):
    """The carrier of a handler that owns no values."""

    __slots__ = ()


class Guard(Lifting):
    """Observable effects take the flag into account; the flag is the handler's state."""

    __slots__ = ("active",)

    carrier = _Nobody
    rules: ClassVar[dict[Effect, Callable[..., Any]]] = {}

    def __init__(self, outer: Any = None) -> None:
        super().__init__(outer)
        self.active: Any = None

    def mode(self, value: Any) -> Mode:
        """All values are others'."""
        return PLAIN

    def state_leaves(self, mode: Mode) -> Sequence[Any]:
        """The flag."""
        return (self.active,)

    def state_types(self, mode: Mode) -> Sequence[ShapedArray]:
        """The flag's type."""
        return (FLAG,)

    def state_set(self, mode: Mode, leaves: Sequence[Any]) -> None:
        """Under that flag from now on."""
        (self.active,) = leaves

    def interprets(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Whether there is something to guard."""
        return not _GUARDED.isdisjoint(row_of(effect, attributes))

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Guard what can be observed; the rest passes."""
        if not effect.answerable:
            return self.outer.perform(effect, operands, attributes)
        token = put(current, self.outer)
        try:
            if not self.interprets(effect, attributes):
                return effect(*operands, **attributes)
            if effect is control.while_loop:
                return rotated_while(self, operands, attributes)
            if effect.higher_order or effect.performs:
                lifting: Callable[..., Any] = functor.get(effect, Guard.missing)
                return lifting(self, effect, operands, attributes)
            return self._observable(effect, operands, attributes)
        finally:
            current.reset(token)

    def _observable(
        self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
    ) -> Any:
        if effect is check or effect is debug_check:
            holds, *payload = operands
            return effect(or_(holds, not_(self.active)), *payload, **attributes)
        if effect is debug_callback or effect is io_callback:
            types = attributes.get("result_types", ())
            return effect(
                self.active,
                *operands,
                **{**attributes, "callback": OnlyWhen(attributes["callback"], types)},
            )
        return effect(*operands, **attributes)


def needs_guard(program: Program) -> bool:
    """Whether a program has observable effects, beside computing results."""
    return bool(program.row & _GUARDED)


def guarded(program: Program) -> Program:
    """The program with one more input, the first: a Boolean that permits observable effects."""
    found = program.memo.get("guarded")
    if found is None and not needs_guard(program):
        flag = Variable(None, FLAG)
        found = program.memo["guarded"] = Program(
            (flag, *program.inputs), program.equations, program.outputs, program.name
        )
    if found is None:
        recorder = Stage()
        token = put(current, recorder)
        try:
            handler = Guard(recorder)
            handler.active = recorder.input(FLAG)
            inputs = [recorder.input(t) for t in program.in_types]
            results = handler.run(program.run, *inputs)
            found = program.memo["guarded"] = recorder.finish(results, program.name).program
        finally:
            current.reset(token)
            recorder.close()
    return found
