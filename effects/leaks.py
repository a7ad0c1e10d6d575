"""Leaks: carriers that outlive their handler, found by who still refers to them.

Under the setting `check_tracer_leaks`, `stage` and the handlers ask here when they end. It costs
walks over all objects of the process.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, Final
from weakref import ref

from effax.effects.errors import LeakedCarrierError, kind_of_value, origin_of
from effax.effects.frames import defer, describe, is_library, place

_DEPTH: Final = 6
_CONTAINERS: Final = (list, tuple, dict, set, frozenset)


def look(handler: Any, what: str, kept: Collection[Any] = ()) -> None:
    """Raise `LeakedCarrierError` if anything but `kept` refers to carriers of a dead handler.

    `kept` are the containers that may.
    """
    gc.collect()
    allowed = {id(x) for x in kept}
    rightful = Counter(map(id, chain.from_iterable(kept)))
    carriers = [
        x for x in gc.get_referrers(handler) if type(x) is handler.carrier and x.handler is handler
    ]
    texts = []
    for i in range(len(carriers)):
        # Two of the references are made here: the list's, and the argument of getrefcount.
        if sys.getrefcount(carriers[i]) - 2 > rightful[id(carriers[i])]:
            allowed |= {id(carriers), id(sys._getframe())}
            texts.append(_text(carriers[i], allowed))
    if texts:
        n = len(texts)
        raise LeakedCarrierError(
            f"Leaked traced values: {n} traced value{'s' if n > 1 else ''} leaked from {what}: it "
            "has ended, but something still refers to them.\n"
            + "\n".join(texts[:8])
            + "\nReturn them from the function instead of keeping them."
        )


def _text(value: Any, allowed: set[int]) -> str:
    origin = origin_of(value)
    made = f", made at {describe(origin)}" if origin is not None else ""
    holders = list(dict.fromkeys(_holders((value,), allowed)))
    held = "; ".join(holders[:3]) or "a local variable of a function that runs, or C code"
    return f"  {value.type!r}, {kind_of_value(value)}{made}; held by {held}"


def _holders(path: tuple[Any, ...], allowed: set[int]) -> Iterator[str]:
    """Describe the referrers of the last object of a path that begins with a carrier."""
    if len(path) > _DEPTH:
        return
    referrers = gc.get_referrers(path[-1])
    seen = allowed | {id(referrers), id(path), id(sys._getframe())}
    for x in referrers:
        if id(x) in seen:
            continue
        named = _named(x, path)
        if named:
            yield named
        elif not isinstance(x, FrameType):
            further = list(_holders((*path, x), seen | {id(path[-1])}))
            # Users don't think of cells and of an object's __dict__, so these are not named.
            for text in further:
                silent = isinstance(x, CellType) or text.startswith(("the variable", "the attr"))
                yield text if silent else f"{_article(x)} in {text}"
            if not further and isinstance(x, _CONTAINERS):
                yield _article(x)


def _article(x: Any) -> str:
    return f"a {type(x).__name__}" + (f" of {len(x)}" if isinstance(x, _CONTAINERS) else "")


def _named(x: Any, path: tuple[Any, ...]) -> str:
    """The words for a holder that has a name of its own; "" for a container, or a cell."""
    value = path[-1]
    if isinstance(x, FrameType):
        if is_library(x.f_code.co_filename):
            return ""
        names = [n for n, v in x.f_locals.items() if v is value]
        return f"the local variable {', '.join(names)} of {x.f_code.co_qualname}" if names else ""
    if isinstance(x, FunctionType):
        return _of_function(x, path)
    if isinstance(x, dict):
        names = [str(n) for n, v in x.items() if v is value]
        if "__builtins__" in x:  # only the globals of a module have this key
            return f"the global {', '.join(names)} of the module {x.get('__name__')}"
        return ""
    if isinstance(x, (*_CONTAINERS, CellType, MethodType, ModuleType)) or hasattr(x, "handler"):
        return ""
    names = [n for n in _attributes(x) if any(getattr(x, n, None) is y for y in path[-2:])]
    return f"the attribute {names[0]} of a {type(x).__qualname__}" if names else ""


def _of_function(function: FunctionType, path: tuple[Any, ...]) -> str:
    found = place((function.__code__, 0))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        if any(cell is x for x in path[-2:]):
            at = f"{found.file}:{found.line}" if found else ""
            return (
                f"the variable {name} that the function {function.__qualname__} ({at}) closes over"
            )
    return ""


def _attributes(x: Any) -> Iterator[str]:
    yield from getattr(x, "__dict__", ())
    for cls in type(x).__mro__:
        slots = getattr(cls, "__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def ended(handler: Any) -> None:
    """Look for carriers of a handler that has just ended, once the outermost transform returns."""
    # A weak reference, because the handler's state may hold values of other handlers, which are
    # looked for first. The carriers hold their handler: once it is gone, so are they.
    found = ref(handler)

    def look_again() -> None:
        still = found()
        if still is not None:
            look(still, type(still).__name__)

    defer(look_again)
