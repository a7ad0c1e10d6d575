"""The meaning of a call of a function with its own rule: the function, the rule, or both."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import Any

from effax.api.calling.arguments import name_of
from effax.api.calling.differentiable import as_value
from effax.api.calling.scopes import AtOnce
from effax.api.custom.calls import CustomCall
from effax.eager.deferred import DeferredJVP
from effax.effects.errors import ClosedOverError
from effax.effects.handler import Carrier, bottom, innermost
from effax.effects.program import Program
from effax.effects.tree import tree_flatten
from effax.interpreters.batch.batched import Batch
from effax.interpreters.jvp.dual import JVP
from effax.interpreters.residual import Record
from effax.interpreters.stage import refuse_returned


class Meaning(Enum):
    """The meaning of one call of a function with a derivative of its own."""

    FUNCTION = "no one asks for the rule: the function itself is called"
    RULE = "the handler on top asks for the derivative: the rule is called, and not the function"
    PROGRAM = "the function's program is recorded or lifted, and its rule with it"


def meaning_of(leaves: Sequence[Any], functions: Sequence[Any], kind: str) -> Meaning:
    """Find the meaning of a call on these values, from the top of the stack outwards.

    `functions` are the user's, the first of them the one that is called: it may not close over
    what a handler on the way differentiates, nor the others over what the one does that asks.
    """
    top = handler = innermost()
    closed: list[list[Any]] = []
    while handler is not bottom:
        if isinstance(handler, AtOnce) and not any(isinstance(x, Carrier) for x in leaves):
            return Meaning.FUNCTION
        if handler.captures or not isinstance(handler, (JVP, DeferredJVP, Batch, Record)):
            return Meaning.PROGRAM
        closed = closed or [_closed_over(f) for f in functions]
        owned = any(map(handler.holds, leaves))
        if isinstance(handler, Batch):
            leaves = _unbatched(handler, leaves)
            closed = [_unbatched(handler, values) for values in closed]
        elif isinstance(handler, Record):
            if owned:  # the function is linear, and is recorded as it is
                return Meaning.FUNCTION
        else:
            asking = closed if owned else closed[:1]
            if any(handler.holds(x) for values in asking for x in values):
                raise ClosedOverError.of(name_of(functions[0]), kind)
            if owned:
                return Meaning.RULE if handler is top else Meaning.PROGRAM
        handler = handler.outer
    return Meaning.FUNCTION


def _unbatched(handler: Batch, values: Sequence[Any]) -> list[Any]:
    return [x.many if handler.owns(x) else x for x in values]


def _closed_over(function: Any) -> list[Any]:
    """The leaves of what a function closes over."""
    found: list[Any] = []
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # a name that is not bound yet has an empty cell
            found += tree_flatten(cell.cell_contents)[0]
    return found


def called(call: CustomCall) -> Any:
    """The function's result, of arrays where it is given Python numbers or NumPy's arrays."""
    result = call.function(*call.merged(call.filled(list(map(as_value, call.leaves)))))
    if call.refs:
        refuse_returned(tree_flatten(result)[0], name_of(call.function))
    return result


def staged(call: CustomCall, meaning: Meaning) -> tuple[tuple[Any, ...], Program | None]:
    """The captured values and the program of the function; nothing if only the rule is called."""
    if meaning is Meaning.RULE:
        return (), None
    found = call.staged()
    return found.captured, found.program
