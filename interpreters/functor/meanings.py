"""The meaning of effects from outside in terms of others, for columns without a cell for them.

`extend.expand` declares it once. Handlers of first-order rules find it in the functor; those that
record or walk programs (residual staging, transposition, discharge) call the program of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.handler import Carrier
from effax.effects.program import programs_in
from effax.effects.rows.state import Ref
from effax.effects.types import ShapedArray
from effax.interpreters.stage import Staged, stage

meanings: Final[dict[Effect, Callable[..., Any]]] = {}
"""The function that says what an effect is, called with operands and attributes."""


_of_types: Final[dict[Any, Staged]] = {}
_LIMIT: Final = 1024


def meaning(
    effect: Effect, types: Sequence[ShapedArray], attributes: dict[str, Any]
) -> Staged | None:
    """An effect as a program of operands of these types; None where nobody has said it.

    It is remembered with the first program among the attributes, if there is one.
    """
    function = meanings.get(effect)
    if function is None:
        return None
    owner = next(programs_in(attributes), None)
    memo = _of_types if owner is None else owner.memo
    key = "meaning", effect, function, tuple(types), tuple(attributes.items())
    found: Staged | None = memo.get(key)
    if found is None:

        def body(*values: Any) -> Sequence[Any]:
            result = function(*values, **attributes)
            return list(result) if effect.multiple else [result]

        found = stage(body, types, effect.name)
        if not any(isinstance(x, (Carrier, Ref)) for x in found.captured):
            if memo is _of_types and len(memo) >= _LIMIT:
                memo.clear()
            memo[key] = found
    return found


def performed(
    effect: Effect, types: Sequence[ShapedArray], attributes: dict[str, Any]
) -> frozenset[str]:
    """The row of what an effect means, of operands of these types; empty where nobody has said."""
    found = meaning(effect, types, attributes)
    return frozenset() if found is None else found.program.row


def no_rule(name: str, effect: Effect) -> str:
    """The message for an effect that an interpreter has no rule for."""
    if effect.higher_order:
        return f"{name}: {undeclared(effect)}"
    return (
        f"{name} has no rule for the effect '{effect.name}'; @extend.expand({effect.name}) defines "
        "it in other effects for every interpreter, the `rule` decorators of extend.jvp, "
        "extend.batch and the others for one"
    )


def undeclared(effect: Effect) -> str:
    """The message for an effect with programs that no interpreter can go through."""
    return (
        f"the effect '{effect.name}' has programs among its attributes, but no definition in "
        "terms of other effects; define it once for every interpreter: "
        f"@extend.expand({effect.name})"
    )
