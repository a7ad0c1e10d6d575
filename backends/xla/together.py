"""Several effects as one operation, where nothing is installed: what a rule performs, for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla import scalars
from effax.backends.xla.array import buffer_of, spec_of
from effax.backends.xla.dispatch import (
    LIMIT,
    compile_program,
    evaluate,
    joined,
    refuse_execution,
)
from effax.backends.xla.launch import Launch
from effax.backends.xla.layout import layout_of
from effax.backends.xla.placement import Spec
from effax.effects.config import trace_key
from effax.effects.effect import LITERALS
from effax.effects.handler import bottom
from effax.interpreters.stage import ELEMENTS_ASKED, stage

_NEW: Final[Any] = object()


def together(
    key: Any, function: Callable[..., tuple[Sequence[Any], Any] | None], values: Sequence[Any]
) -> tuple[list[Any], Any] | None:
    """Perform what a function of several effects does on arrays as one operation.

    The function returns its results, and what to return beside them. What it performs depends on
    `key` and the types of the values alone. None where there is more to be done than to run
    something compiled: the function returns None; it asks for elements or uses arrays of its own;
    what it performs can be observed; a value is a Python number (but not one of NumPy's); `perform`
    is watched.
    """
    if bottom.perform is not evaluate:
        return None
    try:
        full = trace_key(), key, *map(spec_of, values)
    except AttributeError:
        if not LITERALS.isdisjoint(map(type, values)):
            return None
        values = [scalars.number(x) if isinstance(x, np.generic) else x for x in values]
        try:
            full = trace_key(), key, *map(spec_of, values)
        except AttributeError:
            return None
    found = joined.get(full, _NEW)
    if found is _NEW:
        if len(joined) >= LIMIT:
            joined.clear()
        found = joined[full] = _joined(function, [x.spec for x in values])
    if found is None:
        return None
    launch, more = found
    return launch([*map(buffer_of, values)]), more


def _joined(
    function: Callable[..., tuple[Sequence[Any], Any] | None], specs: Sequence[Spec]
) -> tuple[Launch, Any] | None:
    """Compile the effects of a function on values with these specs; None where that can't be."""
    beside: list[Any] = []

    def results(*values: Any) -> Sequence[Any]:
        found = function(*values)
        if found is None:
            return []
        beside.append(found[1])
        return found[0]

    try:
        staged = stage(results, [s.type for s in specs], "together")
    except ELEMENTS_ASKED:
        return None
    if not beside or staged.captured or staged.program.row:
        return None
    layout = layout_of(specs, staged.program)
    if not layout.is_single:
        return None
    refuse_execution(staged.program.name)
    made = compile_program(staged.program, layout, single_op=True)
    return made.gather(specs, layout).launch(list), beside[0]
