"""Choosing between values, element by element."""

from __future__ import annotations

from typing import Any, overload

from effax.eager.whole import whole
from effax.effects.effect import LITERALS
from effax.effects.rows import comparison, complex
from effax.effects.rows.selection import select_n
from effax.effects.types import finfo, is_complex, is_inexact, real_dtype, typeof
from effax.effects.value import Array, ArrayLike
from effax.keys.decorators import moves_keys
from effax.numpy.arithmetic import choose, maximum, minimum
from effax.numpy.comparing import truth
from effax.operands.arguments import broadcast, cast, strong
from effax.operands.promoting import array, arraylike, broadcast_shapes, promote, unary


@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> Array: ...
@overload
def where(
    condition: ArrayLike,
    x: None = ...,
    y: None = ...,
    /,
    *,
    size: int | None = ...,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = ...,
) -> tuple[Array, ...]: ...
@moves_keys("x", "y")
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array | tuple[Array, ...]:
    """Return x where the condition holds, else y; of the condition alone, where it holds.

    The latter is `nonzero(condition, size=size, fill_value=fill_value)`.

    >>> where(True, 1, 2)
    Array(1, dtype=int32, weak_type=True)
    """
    if x is None and y is None:
        import effax.numpy

        arraylike("where", condition)
        return effax.numpy.nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("Either both or neither of the x and y arguments should be provided.")
    if size is not None or fill_value is not None:
        raise ValueError("size and fill_value are not supported by the form of where with x and y.")
    return _where(condition, x, y)


@whole()
def _where(condition: Any, x: Any, y: Any) -> Any:
    (condition,) = arraylike("where", condition)
    condition = truth(array(condition))
    x, y = arraylike("where", x, y)
    shapes = [typeof(v).shape for v in (condition, x, y)]
    lengths = broadcast_shapes("where", shapes, any_rank=True)
    x, y = promote(x, y, name="where", any_rank=True)
    x, y = (v if type(v) in LITERALS else broadcast(v, lengths) for v in (x, y))
    if typeof(condition).shape:
        condition = broadcast(condition, lengths)
    return select_n(condition, y, x)


def clip(
    arr: ArrayLike | None = None,
    /,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    **given: Any,
) -> Array:
    """Limit values to an interval.

    Args:
      arr: array_like of real numbers.
      min: the lower bound, array_like; None for none.
      max: the upper bound, array_like; None for none.
      **given: NumPy's older names `a`, `a_min` and `a_max` of the three.

    Raises:
      ValueError: for complex numbers.

    >>> clip(5, 0, 3)
    Array(3, dtype=int32, weak_type=True)
    """
    arr = given.pop("a", arr)
    min, max = given.pop("a_min", min), given.pop("a_max", max)
    if given:
        raise TypeError(f"clip() got an unexpected keyword argument {sorted(given)[0]!r}")
    return _clip(arr, min, max)


@whole()
def _clip(arr: Any, least: Any, most: Any) -> Any:
    (arr,) = arraylike("clip", arr)
    bounds = [x for x in (least, most) if x is not None]
    if any(is_complex(typeof(x).dtype) for x in arraylike("clip", arr, *bounds)):
        raise ValueError(
            "jnp.clip: Complex values have no ordering and cannot be clipped; clip the real and "
            "the imaginary part"
        )
    if least is not None:
        arr = maximum(least, arr)
    if most is not None:
        arr = minimum(most, arr)
    return array(arr)


@whole("copy")
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Replace NaN and infinities by numbers.

    Args:
      x: array_like; integers stay as they are, and parts of complex numbers are replaced alone.
      copy: without effect, as arrays can't be written to.
      nan: the number for NaN, or array_like, which `x` is broadcast with.
      posinf: that for infinity; by default the largest float of the dtype.
      neginf: that for minus infinity; by default the least float of the dtype.

    >>> nan_to_num(float("nan"))
    Array(0., dtype=float32)
    """
    values = array(unary("nan_to_num", x))
    dtype = typeof(values).dtype
    if not is_inexact(dtype):
        return values
    values = strong(values)
    if is_complex(dtype):
        parts = complex.real(values), complex.imag(values)
        return complex.complex(
            *(nan_to_num(p, nan=nan, posinf=posinf, neginf=neginf) for p in parts)
        )
    info = finfo(real_dtype(dtype))
    infinity = float("inf")
    most = float(info.max) if posinf is None else posinf
    least = float(info.min) if neginf is None else neginf
    values = _replaced(comparison.ne(values, values), nan, values)
    values = _replaced(comparison.eq(values, infinity), most, values)
    return _replaced(comparison.eq(values, -infinity), least, values)


def _replaced(mask: Any, value: Any, x: Any) -> Any:
    """`x` with a number where the mask holds, or with an array that it is broadcast with."""
    if type(value) in LITERALS:
        return choose(mask, value, x)
    return _where(mask, cast(value, typeof(x).dtype), x)
