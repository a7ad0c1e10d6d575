"""Parts of complex numbers; real numbers have them too."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.eager.whole import opening, whole
from effax.effects.rows import complex, transcendental
from effax.effects.rows.shape import full
from effax.effects.types import default_float, is_complex, is_float, is_inexact, typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy.elementary import rad2deg
from effax.operands.arguments import cast
from effax.operands.promoting import array, unary


@whole()
def real(val: ArrayLike, /) -> Array:
    """Return the real part.

    Args:
      val: array_like.

    >>> real(1 + 2j)
    Array(1., dtype=float32, weak_type=True)
    """
    values = array(unary("real", val))
    return complex.real(values) if is_complex(typeof(values).dtype) else values


@whole()
def imag(val: ArrayLike, /) -> Array:
    """Return the imaginary part.

    Args:
      val: array_like; of real numbers it is zero.

    >>> imag(1 + 2j)
    Array(2., dtype=float32, weak_type=True)
    """
    val = array(unary("imag", val))
    type_ = typeof(val)
    if is_complex(type_.dtype):
        return complex.imag(val)
    zeros = full(type_.shape, 0, type_.dtype)
    return cast(zeros, type_.dtype, type_.weak_type)


@whole()
def conjugate(x: ArrayLike, /) -> Array:
    """Return the complex conjugate.

    Args:
      x: array_like; real numbers stay as they are.

    >>> conjugate(1 + 2j)
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    values = array(unary("conjugate", x))
    return complex.conj(values) if is_complex(typeof(values).dtype) else values


conj = conjugate


@whole("deg")
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Return the angle of complex numbers.

    Args:
      z: array_like; integers, and single real numbers, are computed in the default floating dtype.
      deg: whether the angle is in degrees, not radians.

    >>> angle(-1)
    Array(3.1415927, dtype=float32)
    """
    z = array(unary("angle", z))
    kind = typeof(z)
    if not is_inexact(kind.dtype) or (is_float(kind.dtype) and not kind.shape):
        z = cast(z, default_float())
    re, im = real(z), imag(z)
    result = transcendental.atan2(im, re)
    return rad2deg(result) if deg else result


@opening
def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype is complex.

    Args:
      x: array_like, or a nested list of numbers.

    >>> iscomplexobj(1j), iscomplexobj([1.0])
    (True, False)
    """
    if isinstance(x, list | tuple):
        return any(map(iscomplexobj, x))  # elements may be traced
    if isinstance(x, str | np.ndarray | type | np.dtype) or x is None:
        return np.asarray(x).dtype.kind == "c"  # objects and text are no effax arrays
    dtype = getattr(x, "dtype", None)  # of a sparse matrix too
    return bool(is_complex(typeof(x).dtype if dtype is None else dtype))


@opening
def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not complex.

    Args:
      x: array_like, or a nested list of numbers.

    >>> isrealobj(1j), isrealobj([1.0])
    (False, True)
    """
    return not iscomplexobj(x)
