"""Pure rules of a user's interpreter: what one performs is one step where nothing else is between.

At the bottom of the stack the step is an operation, compiled once for the types it meets. In a
recorder it is the equations that the rule had recorded the time before.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

from effax.effects.effect import LITERALS, Effect, distinct
from effax.effects.handler import bottom
from effax.effects.rows.shape import broadcast_in_dim, scalar
from effax.interpreters.interpreter.carried import Carried

if TYPE_CHECKING:
    from effax.interpreters.interpreter.handler import Interpretation
    from effax.interpreters.interpreter.rules import Rule

_PLAIN: Final = "plain"
_NUMBER: Final = "number"


def fused(
    handler: Interpretation,
    rule: Rule,
    effect: Effect,
    operands: Sequence[Any],
    attributes: dict[str, Any],
) -> Any:
    """Perform the effects of a pure rule as one step; NotImplemented where that can't be."""
    outer = handler.outer
    together = outer.together
    if together is None:
        return NotImplemented
    codes: list[Hashable] = []
    values: list[Any] = []
    for x in operands:
        if type(x) is Carried and x.handler is handler:
            codes.append(x.form)
            values += x.parts
        elif type(x) not in LITERALS:
            codes.append(_PLAIN)
            values.append(x)
        elif not effect.literals:
            return NotImplemented
        elif outer is bottom:
            types = tuple([effect.operand_type(y) for y in operands])
            codes.append(_NUMBER)
            values.append(scalar(x, effect.literal_type(x, types).dtype))
        else:  # other literals are part of the program
            codes.append((type(x), distinct(x)))

    def flat(*leaves: Any) -> tuple[list[Any], Any] | None:
        own = _rebuilt(handler, effect, operands, leaves)
        results = handler.ask(rule, effect, own, attributes)
        return None if results is NotImplemented else _taken_apart(handler, results)

    key: Any = rule, handler.__class__, handler.settings, effect, *codes, *attributes.items()
    found = together(key, flat, values)
    if found is None:
        return NotImplemented
    leaves, made = found
    if not effect.multiple:
        form, type_, _ = made[0]
        return leaves[0] if form is None else Carried(handler, form, leaves, type_)
    results, rest = [], iter(leaves)
    for form, type_, n in made:
        parts = [next(rest) for _ in range(n)]
        results.append(parts[0] if form is None else Carried(handler, form, parts, type_))
    return results


def _rebuilt(
    handler: Interpretation, effect: Effect, operands: Sequence[Any], leaves: Sequence[Any]
) -> list[Any]:
    """Operands like the given ones, of other leaves; at the bottom, numbers are leaves, too."""
    rest, found = iter(leaves), []
    types = tuple([effect.operand_type(x) for x in operands])
    for x in operands:
        if handler.owns(x):
            found.append(Carried(handler, x.form, [next(rest) for _ in x.parts]))
        elif type(x) not in LITERALS:
            found.append(next(rest))
        elif handler.outer is bottom:
            shape = effect.literal_type(x, types).shape
            found.append(broadcast_in_dim(next(rest), shape=shape, dims=()))
        else:
            found.append(x)
    return found


def _taken_apart(handler: Interpretation, results: Any) -> tuple[list[Any], Any]:
    """The leaves of results; and for each result its form and type, and how many are its own."""
    leaves: list[Any] = []
    made: list[tuple[Any, Any, int]] = []
    for x in results if isinstance(results, list) else [results]:
        if handler.owns(x):
            leaves += x.parts
            made.append((x.form, x.type, len(x.parts)))
        else:
            leaves.append(x)
            made.append((None, None, 1))
    return leaves, made
