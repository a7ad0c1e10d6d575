"""Names for annotations of programs that take arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from effax.effects.value import Value

    ArrayLike: TypeAlias = Value | np.ndarray[Any, Any] | np.generic | bool | int | float | complex
    """What can stand where an array is asked for; no list."""
else:
    ArrayLike = Any

DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | Any
"""What can stand where a dtype is asked for."""

__all__ = ["ArrayLike", "DTypeLike"]
