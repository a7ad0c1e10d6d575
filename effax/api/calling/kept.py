"""Traces that later calls of a function may use, as long as what it refers to is the same.

`jit` promises to trace once, whatever happens to the variables around a function. Checkpointed
functions and branches are called eagerly too, where a variable that was given another value is to
count. So a trace is kept only for a function that refers to constants, functions and modules, and
is used while these are the very objects that they were.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, NoneType
from typing import Any, Final

from effax.api.calling.call_arguments import axes_in_scope, tracked_axes
from effax.effects.config import trace_key
from effax.effects.effect import REFERENCES, Effect
from effax.effects.handler import Carrier
from effax.effects.interning import keep
from effax.effects.types import typeof

_TRACES: Final = 64
_CONSTANT: Final = (
    *(NoneType, bool, int, float, complex, str, bytes, type, ModuleType),
    *(FunctionType, BuiltinFunctionType, Effect),
)
_UNSET: Final = object()
_kept: Final[weakref.WeakKeyDictionary[Any, dict[Any, tuple[Any, Any]]]] = (
    weakref.WeakKeyDictionary()
)


def key_of(tree: Any, leaves: Sequence[Any], statics: Sequence[tuple[Any, Any]] = ()) -> Any:
    """The key of a trace for these arguments; None where each call is traced anew.

    `statics` are pairs of a place and a value.
    """
    settings = trace_key()
    if settings.debug_key_reuse or not REFERENCES.isdisjoint(map(type, leaves)):
        return None
    if any(isinstance(x, Carrier) for _, x in statics):  # a carrier hashes by identity
        return None
    told = tuple([(at, type(x), x) for at, x in statics])
    try:
        hash(told)
    except TypeError:
        return None
    types = tuple([typeof(x) for x in leaves])
    return settings, axes_in_scope(), tracked_axes(), tree, types, told


def find_trace(function: Callable[..., Any], key: Any) -> Any:
    """Return the trace kept for a function and a key if it may still be used; else None."""
    if key is None or type(function) is not FunctionType:
        return None
    known = _kept.get(function, {}).get(key)
    if known is None:
        return None
    referred, value = known
    now = _referred(function)
    if now is None or len(now) != len(referred):
        return None
    return value if all(map(_is, now, referred)) else None


def keep_trace(function: Callable[..., Any], key: Any, captured: Sequence[Any], value: Any) -> None:
    """Keep what was traced for a key, if it captured nothing and may be used later."""
    if key is None or captured or type(function) is not FunctionType:
        return
    referred = _referred(function)
    if referred is not None:
        keep(_kept.setdefault(function, {}), key, (referred, value), _TRACES)


def _is(x: Any, y: Any) -> bool:
    return x is y


def _referred(function: FunctionType) -> list[Any] | None:
    """Return the objects that a function names; None if one of them can change within."""
    found: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # a cell that is not bound yet
            found.append(_UNSET)
    spaces = function.__globals__
    found += [spaces.get(name, _UNSET) for name in _names(function.__code__)]
    found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return found if all(x is _UNSET or isinstance(x, _CONSTANT) for x in found) else None


def _names(code: CodeType) -> list[str]:
    """The global names in a function's text, and in those of the functions inside."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += _names(constant)
    return names
