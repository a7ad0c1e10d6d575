"""Pure rules of a user's interpreter, where nothing is installed outside: each one operation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

from effax.effects.effect import LITERALS, Effect
from effax.effects.handler import bottom
from effax.effects.shape import broadcast_in_dim, scalar

if TYPE_CHECKING:
    from effax.interpreters.interpreter.handler import Interpretation
    from effax.interpreters.interpreter.rules import Rule

_ABSENT: Final = "absent"
_LEAF: Final = "leaf"
_PLAIN: Final = "plain"
_NUMBER: Final = "number"


def fused(
    handler: Interpretation,
    rule: Rule,
    effect: Effect,
    operands: Sequence[Any],
    attributes: dict[str, Any],
) -> tuple[Any] | None:
    """Perform the effects of a pure rule as one; return its result, or None where that can't be."""
    fields = handler.interpreter._fields
    carrier = handler.carrier
    codes: list[Hashable] = []
    values: list[Any] = []
    for x in operands:
        if type(x) is carrier and x.handler is handler:
            given = x.data.__dict__
            for name in fields.leaves:
                leaf = given[name]
                if leaf is None:
                    codes.append(_ABSENT)
                else:
                    codes.append(_LEAF)
                    values.append(leaf)
            for name in fields.statics:
                codes.append(given[name])
        elif type(x) in LITERALS:
            if not effect.literals:
                return None
            types = tuple(map(effect.operand_type, operands))
            values.append(scalar(x, effect.literal_type(x, types).dtype))
            codes.append(_NUMBER)
        else:
            values.append(x)
            codes.append(_PLAIN)

    def flat(*leaves: Any) -> tuple[list[Any], Any] | None:
        own = _rebuilt(handler, effect, operands, leaves)
        results = handler.ask(rule, effect, own, attributes)
        return None if results is NotImplemented else _taken_apart(handler, results)

    key = rule, handler.static, effect, *codes, *attributes.items()
    found = bottom.together(key, flat, values)
    if found is None:
        return None
    leaves, made = found
    results = _carried(handler, leaves, made)
    return (results,) if effect.multiple else (results[0],)


def _rebuilt(
    handler: Interpretation, effect: Effect, operands: Sequence[Any], leaves: Sequence[Any]
) -> list[Any]:
    """Operands like the given ones, of other leaves; numbers are repeated to their type."""
    rest, found = iter(leaves), []
    types = tuple(map(effect.operand_type, operands))
    for x in operands:
        if handler.owns(x):
            given = dict(x.data.__dict__)
            for name in handler.interpreter._fields.leaves:
                if given[name] is not None:
                    given[name] = next(rest)
            found.append(handler.carrier(handler, handler.interpreter._made(given)))
        elif type(x) in LITERALS:
            shape = effect.literal_type(x, types).shape
            found.append(broadcast_in_dim(next(rest), shape=shape, dims=()))
        else:
            found.append(next(rest))
    return found


def _taken_apart(handler: Interpretation, results: Any) -> tuple[list[Any], Any]:
    """The leaves of results, and how they are put together: for each the leaves, and the rest."""
    leaves: list[Any] = []
    made: list[tuple[tuple[str, ...], dict[str, Any]] | None] = []
    for x in results if isinstance(results, list) else [results]:
        if not handler.owns(x):
            leaves.append(x)
            made.append(None)
            continue
        given = x.data.__dict__
        names = tuple(n for n in handler.interpreter._fields.leaves if given[n] is not None)
        leaves += [given[n] for n in names]
        made.append((names, {n: None if n in names else v for n, v in given.items()}))
    return leaves, made


def _carried(handler: Interpretation, leaves: Sequence[Any], made: Any) -> list[Any]:
    rest, found = iter(leaves), []
    for one in made:
        if one is None:
            found.append(next(rest))
            continue
        names, fixed = one
        data = object.__new__(handler.interpreter)
        given = data.__dict__
        given.update(fixed)
        for name in names:
            given[name] = next(rest)
        found.append(handler.carrier(handler, data))
    return found
