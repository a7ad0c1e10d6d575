"""What a call of a function with a derivative of its own means: the function, its rule, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from effax.api.arguments import name_of
from effax.api.custom_calls import CustomCall
from effax.api.deferred import DeferredJVP
from effax.api.differentiable import as_value
from effax.effects.errors import ClosedOverError
from effax.effects.handler import bottom, innermost
from effax.effects.program import Program
from effax.effects.tree import tree_flatten
from effax.interpreters.batch.batched import Batch
from effax.interpreters.jvp.dual import JVP
from effax.interpreters.residual import Record


class Meaning(Enum):
    """What a call of a function with a derivative of its own means where it is made."""

    FUNCTION = "no one asks for the rule: the function itself is called"
    RULE = "the handler on top asks for the derivative: the rule is called, and not the function"
    PROGRAM = "the function's program is recorded or lifted, and its rule with it"


def meaning_of(leaves: Sequence[Any], functions: Sequence[Any], kind: str) -> Meaning:
    """What a call on these values means, by the handlers from the top of the stack outwards.

    `functions` are the user's, the first of them the one that is called: none of them may close
    over what a handler on the way differentiates.
    """
    top = handler = innermost()
    closed = None
    while handler is not bottom:
        if handler.captures or not isinstance(handler, (JVP, DeferredJVP, Batch, Record)):
            return Meaning.PROGRAM
        if closed is None:
            closed = list(_closed_over(functions))
        owned = [_owns(handler, x) for x in leaves]
        if isinstance(handler, Batch):
            leaves, closed = _unbatched(handler, leaves), _unbatched(handler, closed)
        elif isinstance(handler, Record):
            if any(owned):  # a linear function, written out as it is linear itself
                return Meaning.FUNCTION
        else:
            if any(_owns(handler, x) for x in closed):
                raise ClosedOverError.of(name_of(functions[0]), kind)
            if any(owned):
                return Meaning.RULE if handler is top else Meaning.PROGRAM
        handler = handler.outer
    return Meaning.FUNCTION


def _owns(handler: Any, value: Any) -> bool:
    if handler.owns(value):
        return True
    inner = getattr(handler, "inner", None)
    return inner is not None and inner.owns(value)


def _unbatched(handler: Batch, values: Sequence[Any]) -> list[Any]:
    return [x.many if handler.owns(x) else x for x in values]


def _closed_over(functions: Sequence[Any]) -> Iterator[Any]:
    """The leaves of what functions close over."""
    for function in functions:
        for cell in getattr(function, "__closure__", None) or ():
            try:
                content = cell.cell_contents
            except ValueError:  # a name that is not bound yet
                continue
            yield from tree_flatten(content)[0]


def called(call: CustomCall) -> Any:
    """The function's result, of arrays where it is given Python numbers or NumPy's arrays."""
    return call.function(*call.merged(call.filled(list(map(as_value, call.leaves)))))


def staged(call: CustomCall, meaning: Meaning) -> tuple[tuple[Any, ...], Program | None]:
    """What the function captured, and its program: nothing where the rule alone is called."""
    if meaning is Meaning.RULE:
        return (), None
    found = call.staged()
    return found.captured, found.program
