"""Effects that a function writes out in terms of others, where a handler has no rule for them.

A handler without a rule takes the function's word for what it has to know: tangents, lanes. But a
handler further out may have a rule, now or whenever a program that is recorded here is run. So an
effect is written out only for what can't be had from itself: its value is asked of it, on the
leaves that are values, and a batch of it is an effect that can still be done lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.errors import MissingRuleError
from effax.effects.handler import bottom, outside
from effax.effects.program import row_of
from effax.effects.rows import custom
from effax.effects.types import typeof
from effax.interpreters.functor.lifting import PLAIN, Lifting, functor
from effax.interpreters.functor.meanings import performed

Expansion = Callable[..., Any]
expansions: Final[dict[Effect, Expansion]] = {}
"""The function that each effect is written out as."""


def expansion(effect: Effect) -> Callable[[Expansion], Expansion]:
    """Register what an effect means in terms of others, for handlers without a rule for it."""

    def fill(function: Expansion) -> Expansion:
        def written_out(
            handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
        ) -> Any:
            own = handler.write_out(effect, operands, attributes, function)
            if own is not NotImplemented:
                return own
            values = asked(handler, effect, operands, attributes)
            with outside(handler):
                found = function(*operands, **attributes)
            if values is None:
                return found
            if not effect.multiple:
                return with_value(handler, found, values)
            return [with_value(handler, x, y) for x, y in zip(found, values, strict=True)]

        functor[effect] = written_out
        expansions[effect] = function
        return function

    return fill


def asked(
    handler: Lifting, effect: Effect, operands: Sequence[Any], attributes: dict[str, Any]
) -> Any:
    """The effect's own result on values, outside; None where some operand has no such leaf.

    None also where its programs, or what it is written out as, perform effects: these happen once,
    when it is written out. Raises `MissingRuleError` where a handler outside has a rule, which
    would not be asked.
    """
    if (effect.higher_order or effect.performs) and handler.interprets(effect, attributes):
        return None
    primals = []
    for x in operands:
        mode = handler.mode(x)
        at = 0 if mode is PLAIN else handler.value_leaf(mode)
        if at is None:
            return None
        primals.append(x if mode is PLAIN else handler.leaves(x, mode)[at])
    if _performs_inside(handler, effect, operands, attributes):
        return None
    return effect(*primals, **attributes)


def _performs_inside(
    handler: Lifting, effect: Effect, operands: Sequence[Any], attributes: dict[str, Any]
) -> bool:
    own, row = effect, row_of(effect, attributes)
    if effect is custom.each_lane:
        own, row = attributes["of"], attributes["program"].row
    elif not effect.performs:
        row |= performed(effect, tuple(map(typeof, operands)), attributes)
    row -= {own.row}
    if not row:
        return False
    rival = next((h for h in outwards(handler) if own in getattr(h, "rules", ())), None)
    if rival is None:
        return True
    inner, outer = type(handler).__name__, type(rival).__name__
    raise MissingRuleError(
        f"{outer} has a rule for '{own.name}', but {inner}, inside of it, has none, and uses the "
        f"definition of '{own.name}', which performs {sorted(row)}: that would happen twice. Give "
        f"{inner} a rule for '{own.name}', or pass the answer as an operand"
    )


def with_value(handler: Lifting, x: Any, value: Any) -> Any:
    """A result whose leaf that is the value is this one."""
    mode = handler.mode(x)
    if mode is PLAIN:
        return value
    at = handler.value_leaf(mode)
    if at is None:
        return x
    leaves = list(handler.leaves(x, mode))
    leaves[at] = value
    return handler.value(mode, leaves)


def outwards(handler: Lifting) -> Iterator[Any]:
    """The handlers outside of one, the next first."""
    outer = handler.outer
    while outer is not bottom:
        yield outer
        outer = outer.outer
