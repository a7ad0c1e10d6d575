"""Python numbers as operands of executables: buffers that are made once and shared."""

from __future__ import annotations

from typing import Any, Final

from effax.backends.xla.array import asarray
from effax.backends.xla.placement import Placement, Spec, default
from effax.effects import config
from effax.effects.effect import distinct
from effax.effects.interning import keep
from effax.effects.types import ShapedArray, typeof

_LIMIT: Final = 4096
_constants: Final[dict[Any, Any]] = {}
_numbers: Final[dict[Any, Number]] = {}


class Number:
    """A Python number as an operand: its buffer is shared, so it is no `Array` of the user's."""

    __slots__ = ("buffer", "spec")

    def __init__(self, x: Any) -> None:
        scalar = typeof(x)
        self.buffer = constant(x, scalar)
        self.spec = Spec(scalar, default())

    @property
    def type(self) -> Any:
        """The number's type, weak."""
        return self.spec.type


def number(x: Any) -> Number:
    """A Python number as an operand, from a small cache."""
    key = x.__class__, distinct(x), config.trace_key()
    found = _numbers.get(key)
    if found is None or config.guarded or found.buffer.is_deleted():
        found = keep(_numbers, key, Number(x), _LIMIT)
    return found


def constant(x: Any, type: ShapedArray | None = None, placement: Placement | None = None) -> Any:
    """The buffer of a Python number, from a small cache (unless transfers are guarded).

    For operands of an executable only: it is shared, so it must neither be donated nor be handed
    to the user as an array. Errors are those of `asarray`.
    """
    key = (x.__class__, distinct(x), type, placement, config.trace_key())
    found = _constants.get(key)
    if found is None or found.is_deleted() or config.guarded:
        found = keep(_constants, key, asarray(x, type, placement).buffer, _LIMIT)
    return found


def clear() -> None:
    """Forget the buffers."""
    _constants.clear()
    _numbers.clear()
