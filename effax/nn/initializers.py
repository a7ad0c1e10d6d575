"""Initial weights of networks: functions of a key, a shape and a dtype, the same as JAX's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from effax import random
from effax.eager.whole import whole
from effax.effects.config import trace_key
from effax.effects.rows import elementwise, transcendental
from effax.effects.rows import shape as shapes
from effax.effects.rows.complex import complex as complex_of
from effax.effects.types import (
    canonical_shape,
    complex_dtype,
    default_float,
    is_float,
    is_inexact,
    real_dtype,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]
__dir__ = __all__.copy

Axes = int | Sequence[int]
Shape = tuple[int, ...]
Make = Callable[..., Array]


@runtime_checkable
class Initializer(Protocol):
    """A function that makes weights: `init(key, shape, dtype=...)`."""

    def __call__(
        self,
        key: ArrayLike,
        shape: Shape,
        dtype: DTypeLike | None = None,
        out_sharding: OutSharding = None,
    ) -> Array:
        """Weights of that shape."""


class InitializerFamily(Protocol):
    """`variance_scaling` at fixed parameters."""

    __name__: str
    __qualname__: str

    def __call__(
        self,
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        """An initializer for these axes."""


def _dtype_of(dtype: Any) -> Any:
    return default_float() if dtype is None else user_dtype(dtype, "an initializer")


@whole("shape", "dtype", "make", "parameters")
def _made(
    key: ArrayLike, shape: Shape, dtype: Any, make: Make, parameters: tuple[Any, ...]
) -> Array:
    return make(key, shape, dtype, *parameters)


def _initializer(default: Any, make: Make, *parameters: Any) -> Initializer:
    """The initializer whose weights are `make(key, shape, dtype, *parameters)`."""

    def init(key: ArrayLike, shape: Any, dtype: Any = default, out_sharding: Any = None) -> Array:
        lengths, kind = canonical_shape(shape), _dtype_of(dtype)
        if trace_key().debug_key_reuse:  # a compiled call would check the key only once
            weights = make(key, lengths, kind, *parameters)
        else:
            weights = _made(key, lengths, kind, make, parameters)
        if out_sharding is None:
            return weights
        from effax.sharding import reshard

        return reshard(weights, out_sharding)

    return init


def _scaled(x: Array, factor: Any, shape: Shape, dtype: Any) -> Array:
    """x times a number, rounded to the dtype first."""
    if isinstance(factor, bool | int | float):
        return elementwise.mul(x, shapes.full(shape, factor, dtype))
    from effax.random.bits import parameter

    scalar = parameter(factor, dtype)
    return elementwise.mul(x, shapes.broadcast_in_dim(scalar, shape=shape, dims=()))


def zeros(key: Array, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
    """Return zeros.

    Args:
      key: not used.
      shape: the shape of the result.
      dtype: the dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax.nn import initializers
    >>> initializers.zeros(None, (2,))
    Array([0., 0.], dtype=float32)
    """
    return constant(0)(key, shape, dtype, out_sharding)


def ones(key: Array, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Array:
    """Return ones.

    Args:
      key: not used.
      shape: the shape of the result.
      dtype: the dtype of the result; by default float32 (float64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax.nn import initializers
    >>> initializers.ones(None, (2,))
    Array([1., 1.], dtype=float32)
    """
    return constant(1)(key, shape, dtype, out_sharding)


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """Make an initializer of one value everywhere (or of an array, repeated to the shape).

    Args:
      value: array_like; it broadcasts to the shape of the weights.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).

    >>> from effax.nn import initializers
    >>> initializers.constant(7)(None, (2,))
    Array([7., 7.], dtype=float32)
    """
    return _initializer(dtype, _constant, value)


def _constant(key: Array, shape: Shape, dtype: Any, value: Any) -> Array:
    from effax.lax.conversion import convert_element_type
    from effax.lax.shapes import broadcast_shapes, repeated

    if broadcast_shapes(typeof(value).shape, shape) != tuple(shape):
        raise ValueError(
            f"constant: can't broadcast a value of type {typeof(value).str_short()} to shape "
            f"{shape}"
        )
    return repeated(convert_element_type(value, dtype), shape)


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Make an initializer of uniform numbers in [0, scale).

    Args:
      scale: the upper bound.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).

    >>> import effax
    >>> effax.nn.initializers.uniform(10.0)(effax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _initializer(dtype, _uniform, scale)


def _uniform(key: Array, shape: Shape, dtype: Any, scale: Any) -> Array:
    return _scaled(random.uniform(key, shape, dtype), scale, shape, dtype)


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Make an initializer of normal numbers of mean 0.

    Args:
      stddev: the standard deviation.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).

    >>> import effax
    >>> effax.nn.initializers.normal()(effax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _initializer(dtype, _normal, stddev)


def _normal(key: Array, shape: Shape, dtype: Any, stddev: Any) -> Array:
    return _scaled(random.normal(key, shape, dtype), stddev, shape, dtype)


def truncated_normal(
    stddev: ArrayLike = 1e-2,
    dtype: DTypeLike | None = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """Make an initializer of normal numbers that are cut off, then multiplied by `stddev`.

    Args:
      stddev: the factor, which is the standard deviation before the cut.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).
      lower, upper: the bounds of the standard normal numbers, before the factor.

    >>> import effax
    >>> effax.nn.initializers.truncated_normal()(effax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _initializer(dtype, _truncated_normal, stddev, lower, upper)


def _truncated_normal(
    key: Array, shape: Shape, dtype: Any, stddev: Any, lower: Any, upper: Any
) -> Array:
    drawn = random.truncated_normal(key, lower, upper, shape, dtype)
    return _scaled(drawn, stddev, shape, dtype)


def _size(shape: tuple[int, ...], axes: Axes) -> int:
    return shape[axes] if isinstance(axes, int) else math.prod(shape[i] for i in axes)


def _fans(
    shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> tuple[float, float]:
    """Return a unit's numbers of inputs and outputs, a convolution window's places included."""
    if in_axis == -2 and len(shape) <= 1:
        raise ValueError(
            f"initializers: in_axis is -2 by default, and weights of shape {shape} have no such "
            "axis; pass in_axis and out_axis"
        )
    ins, outs, batch = (_size(shape, axes) for axes in (in_axis, out_axis, batch_axis))
    field = math.prod(shape) / ins / outs / batch
    return ins * field, outs * field


def variance_scaling(
    scale: ArrayLike,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Make an initializer whose variance is `scale` over a number of inputs or outputs.

    Args:
      scale: the variance of what comes out, for inputs of variance 1.
      mode: "fan_in", "fan_out", "fan_avg" or "fan_geo_avg": what to divide by.
      distribution: "truncated_normal", "normal" or "uniform".
      in_axis: the axis or axes of the inputs.
      out_axis: the axis or axes of the outputs.
      batch_axis: the axis or axes that count for neither.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).

    >>> import effax
    >>> init = effax.nn.initializers.variance_scaling(1.0, "fan_in", "normal")
    >>> init(effax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    axes = tuple(a if isinstance(a, int) else tuple(a) for a in (in_axis, out_axis, batch_axis))
    return _initializer(dtype, _variance_scaling, scale, mode, distribution, axes)


def _variance_scaling(
    key: Array,
    shape: Shape,
    dtype: Any,
    scale: Any,
    mode: str,
    distribution: str,
    axes: tuple[Axes, ...],
) -> Array:
    fan_in, fan_out = _fans(shape, *axes)
    divisors = {
        "fan_in": fan_in,
        "fan_out": fan_out,
        "fan_avg": (fan_in + fan_out) / 2,
        "fan_geo_avg": (fan_in * fan_out) ** 0.5,
    }
    if mode not in divisors:
        raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
    if not is_inexact(dtype) and distribution != "normal":
        raise ValueError(f"variance_scaling: dtype must be a float or complex dtype, got {dtype}")
    return _drawn(key, shape, dtype, distribution, scale / divisors[mode])


# Standard deviations of the normal distribution truncated at 2, real and complex.
_CUT_REAL = 0.87962566103423978
_CUT_COMPLEX = 0.95311164380491208


def _drawn(
    key: Array, shape: tuple[int, ...], dtype: Any, distribution: str, variance: float
) -> Array:
    """Numbers of a variance; it and its root are rounded to the dtype, as in JAX."""
    real = is_float(dtype)

    def root(factor: float, divisor: float | None = None) -> Array:
        number = shapes.full((), variance, dtype)
        if factor != 1:
            number = elementwise.mul(number, factor)
        number = elementwise.sqrt(number)
        if divisor is not None:
            number = elementwise.div(number, divisor)
        return shapes.broadcast_in_dim(number, shape=shape, dims=())

    if distribution == "truncated_normal":
        if real:
            drawn = random.truncated_normal(key, -2, 2, shape, dtype)
            return elementwise.mul(drawn, root(1, _CUT_REAL))
        drawn = _complex_truncated_normal(key, 2, shape, dtype)
        return elementwise.mul(drawn, root(1, _CUT_COMPLEX))
    if distribution == "normal":
        return elementwise.mul(random.normal(key, shape, dtype), root(1))
    if distribution == "uniform":
        if real:
            return elementwise.mul(random.uniform(key, shape, dtype, -1), root(3))
        return elementwise.mul(_complex_uniform(key, shape, dtype), root(1))
    raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")


def _polar(radius: Array, key: Array, shape: tuple[int, ...], part: Any) -> Array:
    """Numbers of these radii at uniform angles."""
    angle = elementwise.mul(random.uniform(key, shape, part), 2 * math.pi)
    return complex_of(
        elementwise.mul(radius, transcendental.cos(angle)),
        elementwise.mul(radius, transcendental.sin(angle)),
    )


def _complex_uniform(key: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    part = real_dtype(complex_dtype(dtype))
    key_r, key_theta = random.split(key)
    radius = elementwise.sqrt(elementwise.mul(random.uniform(key_r, shape, part), 2.0))
    return _polar(radius, key_theta, shape, part)


def _complex_truncated_normal(
    key: Array, upper: float, shape: tuple[int, ...], dtype: Any
) -> Array:
    part = real_dtype(complex_dtype(dtype))
    key_r, key_theta = random.split(key)
    share = elementwise.mul(random.uniform(key_r, shape, part), 1 - math.exp(-(upper**2)))
    radius = elementwise.sqrt(elementwise.neg(transcendental.log1p(elementwise.neg(share))))
    return _polar(radius, key_theta, shape, part)


def _family(
    name: str, scale: float, mode: str, distribution: str, source: str
) -> InitializerFamily:
    """One of the initializers that are `variance_scaling` at fixed parameters."""

    def initializer(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(
            scale, mode, distribution, in_axis, out_axis, batch_axis, dtype=dtype
        )

    initializer.__name__ = initializer.__qualname__ = name
    initializer.__doc__ = f"""Make `variance_scaling({scale}, "{mode}", "{distribution}")`.

    Source: {source}.

    Args:
      in_axis: the axis or axes of the inputs.
      out_axis: the axis or axes of the outputs.
      batch_axis: the axis or axes that count for neither.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).

    >>> import effax
    >>> effax.nn.initializers.{name}()(effax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return initializer


_GLOROT, _LECUN, _HE = "Glorot & Bengio 2010", "LeCun et al. 1998", "He et al. 2015"
glorot_uniform = _family("glorot_uniform", 1.0, "fan_avg", "uniform", _GLOROT)
glorot_normal = _family("glorot_normal", 1.0, "fan_avg", "truncated_normal", _GLOROT)
lecun_uniform = _family("lecun_uniform", 1.0, "fan_in", "uniform", _LECUN)
lecun_normal = _family("lecun_normal", 1.0, "fan_in", "truncated_normal", _LECUN)
he_uniform = _family("he_uniform", 2.0, "fan_in", "uniform", _HE)
he_normal = _family("he_normal", 2.0, "fan_in", "truncated_normal", _HE)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Make an initializer of orthonormal rows or columns, whichever are fewer (Saxe et al. 2014).

    Args:
      scale: a factor of all weights.
      column_axis: the axis of the columns; all other axes together are those of the rows.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).

    >>> import effax
    >>> effax.nn.initializers.orthogonal()(effax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    return _initializer(dtype, _orthogonal, scale, column_axis)


def _orthogonal(key: Array, shape: Shape, dtype: Any, scale: Any, column_axis: int) -> Array:
    if len(shape) < 2:
        raise ValueError("orthogonal initializer requires at least a 2D shape")
    if 0 in shape:
        return shapes.full(shape, 0, dtype)
    at = column_axis % len(shape)
    columns = shape[at]
    rest = shape[:at] + shape[at + 1 :]
    q = random.orthogonal(key, math.prod(rest), (), dtype, columns)
    q = shapes.reshape(q, shape=(*rest, columns))
    order = list(range(len(rest)))
    order.insert(at, len(rest))
    return _scaled(shapes.transpose(q, permutation=tuple(order)), scale, shape, dtype)


def delta_orthogonal(
    scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """Make an initializer of convolutions that are `orthogonal` in the middle of their window.

    All other places of the window are zero. From Xiao et al. 2018.

    Args:
      scale: a factor of all weights.
      column_axis: as for `orthogonal`, of the matrix in the middle, which the last two axes hold.
      dtype: the default dtype of the weights; None for float32 (float64 with x64).

    >>> import effax
    >>> effax.nn.initializers.delta_orthogonal()(effax.random.key(0), (3, 2, 2)).shape
    (3, 2, 2)
    """
    return _initializer(dtype, _delta_orthogonal, scale, column_axis)


def _delta_orthogonal(key: Array, shape: Shape, dtype: Any, scale: Any, column_axis: int) -> Array:
    if len(shape) not in (3, 4, 5):
        raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
    if shape[-1] < shape[-2]:
        raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
    middle = _orthogonal(key, shape[-2:], dtype, scale, column_axis)
    window = shape[:-2]
    before = tuple((k - 1) // 2 for k in window)
    config = (
        *((b, k - 1 - b, 0) for b, k in zip(before, window, strict=True)),
        (0, 0, 0),
        (0, 0, 0),
    )
    middle = shapes.reshape(middle, shape=(1,) * len(window) + shape[-2:])
    return shapes.pad(middle, shapes.scalar(0, dtype), config=config)
