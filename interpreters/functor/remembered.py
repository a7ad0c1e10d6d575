"""Derived programs, and for how long they can be kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from effax.effects.contexts import put
from effax.effects.handler import Carrier
from effax.effects.program import Program
from effax.effects.rows.state import Ref

_here: Final[ContextVar[dict[Any, Any] | None]] = ContextVar("effax.derived", default=None)
"""Derived programs that hold traced values, since the outermost call of `remembered` began."""


def remembered(program: Program, key: Hashable, make: Callable[[], Any]) -> Any:
    """Return what `make` derives from a program, made once for a key; look in its memo first.

    The result lists in `captured` the outer values that it holds. Where one of them is traced, the
    result can't be kept in the program's memo: a rule that closes over a traced value may close
    over another one next time. Until the outermost call of this function returns, it is the same
    value, so nested programs, which are derived several times each, are derived once here, too.
    """
    outermost = _here.get()
    here: dict[Any, Any] = {} if outermost is None else outermost
    found = here.get((program, key))
    if found is not None and all(x.handler.live for x in _traced(found)):
        return found
    token = put(_here, here) if outermost is None else None
    try:
        found = make()
    finally:
        if token is not None:
            _here.reset(token)
    if next(_traced(found), None) is None:
        program.memo[key] = found
    else:
        here[program, key] = found
    return found


def _traced(derived: Any) -> Iterator[Any]:
    return (x for x in derived.captured if isinstance(x, (Carrier, Ref)))
