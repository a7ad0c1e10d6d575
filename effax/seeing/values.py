"""Values as short text: what a handler's carrier holds, and what is known of it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from effax.effects.handler import Carrier
from effax.effects.program import Program, Variable
from effax.effects.types import typeof
from effax.effects.value import Value
from effax.interpreters.interpreter import Carried, Interpreter

_FEW: Final = 4
_DEEP: Final = 4
_OWN: Final = frozenset({"handler", "type", "origin", "__weakref__"})


def shown(value: Any, depth: int = 0) -> str:
    """A value in a few words.

    Small arrays by their elements, others by their type; a carrier by its class and what it is
    made of; a variable of a program being recorded as `<type>`.
    """
    if isinstance(value, Carrier):
        return _carrier(value, depth)
    if isinstance(value, Interpreter):
        return _data(value, depth)
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    if isinstance(value, (Value, np.ndarray, np.generic)):
        return _array(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(x, depth) for x in value)
    return type(value).__name__


def _array(value: Any) -> str:
    kind = typeof(value)
    if kind.size > _FEW or kind.dtype.kind not in "biufc":
        return kind.str_short()
    elements = np.asarray(value)
    if not elements.shape:
        return f"{elements.item():.6g}" if kind.dtype.kind == "f" else str(elements.item())
    text = np.array2string(elements, precision=4, separator=" ").replace("\n", "")
    return f"{text}:{kind.str_short()}"


def _carrier(value: Carrier, depth: int) -> str:
    if type(value) is Variable:
        return f"<{value.type.str_short()}>"
    name = type(value).__name__
    if depth >= _DEEP:
        return f"{name}<{value.type.str_short()}>"
    if type(value) is Carried:
        return _data(value.data, depth)
    parts = [shown(getattr(value, slot), depth + 1) for slot in _slots(type(value))]
    return f"{name}({', '.join(parts)})"


def _slots(kind: type) -> list[str]:
    """Return the contents of a carrier: the slots of its class that not every carrier has."""
    slots = kind.__dict__.get("__slots__", ())
    return [x for x in ((slots,) if isinstance(slots, str) else slots) if x not in _OWN]


def _data(value: Any, depth: int) -> str:
    parts = [f"{name}={shown(x, depth + 1)}" for name, x in vars(value).items()]
    return f"{type(value).__name__}({', '.join(parts)})"


def attributes_text(attributes: dict[str, Any]) -> str:
    """Attributes in brackets; programs and functions by name."""
    parts = [f"{name}={_attribute(value)}" for name, value in attributes.items()]
    return f"[{' '.join(parts)}]" if parts else ""


def _attribute(value: Any) -> str:
    if type(value) is Program:
        return f"{value.name}{{{len(value.equations)}}}"
    if type(value) is tuple and any(type(x) is Program for x in value):
        return f"({', '.join(map(_attribute, value))})"
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return str(value)
