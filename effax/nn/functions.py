"""Functions of whole axes: softmax and its kin, standardisation, one-hot vectors."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any, Literal, overload

from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import whole
from effax.effects.rows import comparison, conversion, elementwise, reduction, transcendental
from effax.effects.rows import shape as shapes
from effax.effects.rows.complex import real
from effax.effects.rows.reduction import without
from effax.effects.rows.selection import select_n
from effax.effects.types import (
    default_float,
    float16,
    is_bool,
    is_complex,
    is_inexact,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike
from effax.numpy.reductions import check_mask, rounded, widened
from effax.operands.arguments import (
    broadcast,
    canonical_axes,
    cast,
    check_arrays,
    combine,
    common_shape,
    known_index,
    number_of_elements,
    strong,
)
from effax.operands.promoting import (
    asarray,
    promote,
    promote_dtypes,
    promote_dtypes_inexact,
    promote_inexact,
)

Axis = int | Sequence[int] | None


def _over(effect: Any, x: Array, axes: tuple[int, ...], keepdims: bool = True) -> Array:
    """A reduction, keeping the axes with the length 1."""
    folded = effect(x, axes=axes)
    if not keepdims:
        return folded
    lengths = tuple(1 if i in axes else n for i, n in enumerate(typeof(x).shape))
    return shapes.reshape(folded, shape=lengths)


def _sum(x: Array, axes: tuple[int, ...], keepdims: bool = True) -> Array:
    """The sum over axes, of narrow floats added up in float32, as NumPy and JAX do."""
    return rounded(_wide_sum(x, axes, keepdims), x)


def _wide_sum(x: Array, axes: tuple[int, ...], keepdims: bool = True) -> Array:
    """The same before it is rounded: float16 has no numbers above 65504."""
    return _over(reduction.reduce_sum, widened(x), axes, keepdims)


def _like(x: ArrayLike, y: ArrayLike) -> Array:
    """x repeated to the shape of y."""
    return broadcast(x, typeof(y).shape)


def _masked(x: ArrayLike, where: Any, number: Any) -> Any:
    """x where the mask is true, a number elsewhere; x itself without a mask."""
    return x if where is None else select_n(_mask(where, x), number, x)


def _mask(where: Any, x: ArrayLike) -> Array:
    return _like(asarray(where), x)


def _stopped_max(x: Array, axes: tuple[int, ...], where: Any) -> Array:
    from effax.effects.rows.elementwise import stop_gradient

    return stop_gradient(_over(reduction.reduce_max, _masked(x, where, -math.inf), axes))


def _prepared(name: str, x: ArrayLike, axis: Axis, where: Any) -> tuple[Array, tuple[int, ...]]:
    """The array as floats, for softmax in the shape that the mask gives it, and the axes."""
    check_arrays(name, x)
    check_mask(f"nn.{name}", where)
    if "softmax" in name:
        if where is not None:
            x = x if is_inexact(typeof(x).dtype) else _joined(x, -math.inf)
            canonical_axes(axis, typeof(x).ndim)  # an axis that only the mask has is refused
        elif is_bool(typeof(x).dtype):
            raise TypeError(f"{name}: expected numbers, got Booleans")
    values = strong(promote_inexact(asarray(x), name=name)[0])
    if where is not None and "softmax" in name:
        lengths = common_shape(typeof(values).shape, typeof(asarray(where)).shape)
        values = broadcast(values, lengths)
    return values, canonical_axes(axis, typeof(values).ndim)


def _joined(x: ArrayLike, number: complex) -> Array:
    """x in the dtype in which it meets a Python number, that stands where a mask is false."""
    return promote_dtypes(asarray(x), number)[0]


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = ...,
    b: ArrayLike | None = ...,
    keepdims: bool = ...,
    return_sign: Literal[False] = ...,
    where: ArrayLike | None = ...,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = ...,
    b: ArrayLike | None = ...,
    keepdims: bool = ...,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = ...,
) -> tuple[Array, Array]: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = ...,
    b: ArrayLike | None = ...,
    keepdims: bool = ...,
    return_sign: bool = ...,
    where: ArrayLike | None = ...,
) -> Array | tuple[Array, Array]: ...
@whole("axis", "keepdims", "return_sign")
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Return `log(sum(b * exp(a)))`, without overflow.

    Args:
      a: the exponents.
      axis: what to sum over: an axis, several, or all for None.
      b: factors.
      keepdims: keep the axes, with the length 1.
      return_sign: give a pair, the logarithm of the absolute value, and the sign.
      where: which elements to sum.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> float(nn.logsumexp(jnp.array([1000.0, 1000.0])))
    1000.693...
    """
    check_arrays("logsumexp", a)
    check_mask("nn.logsumexp", where)
    if where is not None:
        a = _joined(a, 0)
    if b is None:
        (x,) = promote_dtypes_inexact(asarray(a))
        factor = None
    else:
        x, factor = promote_dtypes_inexact(asarray(a), asarray(b))
        lengths = common_shape(typeof(x).shape, typeof(factor).shape)
        x, factor = broadcast(x, lengths), broadcast(factor, lengths)
    if where is not None:
        lengths = common_shape(typeof(x).shape, typeof(asarray(where)).shape)
        x = broadcast(x, lengths)
        factor = None if factor is None else broadcast(factor, lengths)
        x = _masked(x, where, 0.0)
    axes = canonical_axes(axis, typeof(x).ndim)
    if factor is not None:
        x = select_n(comparison.ne(factor, 0.0), -math.inf, x)
    size = real(x) if is_complex(typeof(x).dtype) else x
    largest = _stopped_max(size, axes, where)
    largest = select_n(elementwise.is_finite(largest), 0.0, largest)
    below = elementwise.sub(x, _like(cast(largest, typeof(x).dtype, typeof(x).weak_type), x))
    terms = transcendental.exp(below)
    if factor is not None:
        terms = elementwise.mul(terms, factor)
    total = _wide_sum(_masked(terms, where, 0.0), axes, keepdims)
    if not keepdims:
        largest = shapes.reshape(largest, shape=without(typeof(x).shape, axes))
    result = _logarithm(total, largest, return_sign, factor is not None)
    kind = typeof(size).dtype
    if return_sign:
        return cast(result[0], kind), cast(result[1], typeof(x).dtype)
    return cast(result, typeof(x).dtype)


def _logarithm(total: Array, largest: Array, return_sign: bool, may_be_negative: bool) -> Any:
    """`log(total) + largest`, with NaN for negative totals, or with the sign beside it."""
    sign = elementwise.sign(total)
    whole_plane = is_complex(typeof(total).dtype)
    if return_sign or not whole_plane:
        total = elementwise.abs(total)
    type = typeof(total)
    out = elementwise.add(transcendental.log(total), cast(largest, type.dtype, type.weak_type))
    if return_sign:
        return out, sign
    if may_be_negative and not whole_plane:
        out = select_n(comparison.lt(sign, 0.0), out, math.nan)
    return out


@whole("axis", "keepdims")
def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Return `log(mean(exp(x)))`, computed without overflow.

    Args:
      x: array_like.
      axis: the axis or axes to average over; None for all.
      where: Boolean mask of the elements that take part.
      keepdims: whether the reduced axes stay, with length 1.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> nn.logmeanexp(jnp.array([1000.0, 1000.0]))
    Array(1000., dtype=float32)
    """
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    x, axes = _prepared("logmeanexp", x, axis, where)
    type = typeof(total)
    if where is None:
        count = math.prod(typeof(x).shape[i] for i in axes)
        return elementwise.sub(total, math.log(count) if count else -math.inf)
    ones = conversion.convert_element_type(_mask(where, x), dtype=type.dtype)
    counted = _sum(ones, axes, keepdims)
    return elementwise.sub(total, transcendental.log(counted))


@whole("axis")
def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Return `log(softmax(x))`, computed without overflow.

    Args:
      x: array_like.
      axis: the axis or axes along which the softmax sums to 1; None for all.
      where: Boolean mask of the elements that take part; the others are -inf in the result.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> nn.log_softmax(jnp.zeros(2))
    Array([-0.6931472, -0.6931472], dtype=float32)
    """
    x, axes = _prepared("log_softmax", x, axis, where)
    largest = _stopped_max(x, axes, where)
    shifted = elementwise.sub(_masked(x, where, -math.inf), _like(largest, x))
    terms = _masked(transcendental.exp(shifted), where, 0.0)
    total = rounded(transcendental.log(_wide_sum(terms, axes)), x)
    return _masked(elementwise.sub(shifted, _like(total, x)), where, -math.inf)


@whole("axis")
def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Return `exp(x) / sum(exp(x))`, computed without overflow.

    Args:
      x: array_like.
      axis: the axis or axes along which the result sums to 1; None for all.
      where: Boolean mask of the elements that take part; the others are 0 in the result.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> nn.softmax(jnp.zeros(2))
    Array([0.5, 0.5], dtype=float32)
    """
    x, axes = _prepared("softmax", x, axis, where)

    @custom_jvp
    def function(x: Array) -> Array:
        largest = _stopped_max(x, axes, where)
        terms = transcendental.exp(elementwise.sub(_masked(x, where, -math.inf), _like(largest, x)))
        total = _wide_sum(_masked(terms, where, 0.0), axes)
        if typeof(x).dtype == float16:  # bfloat16 has room for any total
            terms = widened(terms)
        else:
            total = rounded(total, x)
        shares = rounded(elementwise.div(terms, _like(total, x)), x)
        return _masked(shares, where, 0.0)

    @function.defjvp
    def function_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        """The derivative of the result alone: of a quotient it would read the exponentials too."""
        y, t = function(*primals), _masked(tangents[0], where, 0.0)
        moved = _like(_sum(elementwise.mul(y, t), axes), y)
        return y, elementwise.mul(y, elementwise.sub(t, moved))

    return function(x)


@whole("axis", "algorithm")
def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """Return x shifted and scaled to mean 0 and variance 1 along some axes.

    Args:
      x: array_like.
      axis: the axis or axes to average over; None for all.
      mean: array_like, the mean; by default computed from `x`.
      variance: array_like, the variance; by default computed from `x`.
      epsilon: a small number that is added to the variance.
      where: Boolean mask of the elements that the mean and the variance are computed from.
      algorithm: how the variance is computed where only the mean is given: by "stable" it is the
        mean of squared differences from that mean, by "fast" the mean of squares less the square of
        the mean, of which few digits are right where the mean is large. Without a mean both are the
        first: JAX's "fast", its default, is the second even then.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> nn.standardize(jnp.array([1.0, 3.0]), epsilon=0.0)
    Array([-1.,  1.], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'.")
    given, (x, axes) = x, _prepared("standardize", x, axis, where)
    if variance is None and algorithm == "fast" and is_complex(typeof(x).dtype):
        raise ValueError(
            "standardize: algorithm='fast' needs real numbers; for complex ones pass variance, or "
            "algorithm='stable'"
        )
    if mean is None and variance is None:
        return _standardized(x, axes, epsilon, where)
    if mean is not None and variance is not None:  # nothing is computed from x, so it may stay weak
        x = broadcast(asarray(given), typeof(x).shape)
    centre = _mean(x, axes, where) if mean is None else asarray(mean)
    x, centred = _difference(x, centre)
    if variance is None and algorithm == "stable":
        spread = _mean(elementwise.square(centred), axes, where)
    elif variance is None:
        squares = _mean(elementwise.square(x), axes, where)
        squares, square = promote(squares, elementwise.square(centre), name="standardize")
        spread = elementwise.max(elementwise.sub(squares, square), 0.0)
    else:
        spread = asarray(variance)
    return _scaled(centred, spread, epsilon)


def _standardized(x: Array, axes: tuple[int, ...], epsilon: ArrayLike, where: Any) -> Array:
    """By the mean and the variance of x itself; narrow floats are widened, and rounded once."""
    wide = widened(x)
    centred = elementwise.sub(wide, _like(_mean(wide, axes, where), wide))
    spread = _mean(elementwise.square(centred), axes, where)
    wanted = typeof(promote_inexact(x, epsilon, name="standardize")[0]).dtype
    return cast(_scaled(centred, spread, epsilon), wanted)


def _scaled(centred: Array, spread: Array, epsilon: ArrayLike) -> Array:
    spread, epsilon = promote_inexact(spread, epsilon, name="standardize")
    scale = elementwise.rsqrt(elementwise.add(spread, epsilon))
    centred, scale = promote(centred, scale, name="standardize")
    return elementwise.mul(centred, scale)


def _difference(x: ArrayLike, y: Array) -> tuple[Array, Array]:
    one, other = promote_inexact(x, y, name="standardize")
    return one, elementwise.sub(one, other)


def _mean(x: ArrayLike, axes: tuple[int, ...], where: Any) -> Array:
    """The mean over axes, of narrow floats computed in float32."""
    wide = widened(x)
    total = _over(reduction.reduce_sum, _masked(wide, where, 0.0), axes)
    number = math.prod(typeof(x).shape[i] for i in axes)
    count: Any = number_of_elements(number, typeof(total).dtype)
    if where is not None:
        ones = conversion.convert_element_type(_mask(where, x), dtype=typeof(wide).dtype)
        count = _over(reduction.reduce_sum, ones, axes)
    return rounded(combine(elementwise.div, total, count), x)


def one_hot(
    x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: Any = -1
) -> Array:
    """Return each integer as a vector of zeros with one 1, along a new axis.

    Args:
      x: array_like of integers; one outside of [0, num_classes) becomes all zeros.
      num_classes: the length of the new axis.
      dtype: the dtype of the result; by default float32 (float64 with x64).
      axis: the position of the new axis, or the name of a mapped axis, over whose members the
        classes then lie.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> nn.one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.], [0., 0., 1.]], dtype=float32)
    """
    wanted = default_float() if dtype is None else user_dtype(dtype, "one_hot")
    classes = known_index("effax.nn.one_hot", "num_classes", num_classes)
    if is_inexact(typeof(asarray(x)).dtype):
        warnings.warn(
            "effax.nn.one_hot input should be integer-typed: a float between two classes belongs "
            "to neither; convert it with astype(int)",
            DeprecationWarning,
            stacklevel=2,
        )
    try:
        at = operator.index(axis)
    except TypeError:
        return _one_hot_of_mapped(asarray(x), classes, wanted, axis)
    return _one_hot(x, classes, wanted, at)


@whole("classes", "dtype", "axis")
def _one_hot(x: Any, classes: int, dtype: Any, axis: int) -> Array:
    x = asarray(x)
    type = typeof(x)
    if is_bool(type.dtype):
        raise TypeError("one_hot: expected numbers of classes, got Booleans")
    (at,) = canonical_axes(axis, type.ndim + 1)
    lengths = (*type.shape[:at], classes, *type.shape[at:])
    dims = tuple(i for i in range(type.ndim + 1) if i != at)
    repeated = shapes.broadcast_in_dim(x, shape=lengths, dims=dims)
    numbers = shapes.iota(dtype=type.dtype, shape=lengths, dimension=at)
    return conversion.convert_element_type(comparison.eq(repeated, numbers), dtype=dtype)


def _one_hot_of_mapped(x: Array, classes: int, dtype: Any, axis: Any) -> Array:
    from effax.lax.parallel import axis_index, axis_size

    if classes != axis_size(axis):
        raise ValueError(
            f"Expected num_classes to match the size of axis {axis}, "
            f"but {classes} != {axis_size(axis)}"
        )
    one, other = promote(x, axis_index(axis), name="one_hot")
    return conversion.convert_element_type(comparison.eq(one, other), dtype=dtype)
