"""Images of another size, by resampling each axis with a kernel."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from math import pi
from typing import Any

import effax.numpy as jnp
from effax.eager.whole import own_promotion, whole
from effax.effects.types import finfo, float32, inexact_dtype, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.contraction import Precision
from effax.numpy.decompositions import floats
from effax.operands.arguments import canonical_axes, concrete_int, listed
from effax.operands.promoting import arraylike

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
__dir__ = __all__.copy

_NEGLIGIBLE = 1000 * 1.1920929e-07


class ResizeMethod(enum.Enum):
    """Methods of resampling images.

    >>> from effax.image import ResizeMethod
    >>> ResizeMethod.from_string("bicubic")
    <ResizeMethod.CUBIC: 4>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name; raises `ValueError` for others."""
        if s not in _NAMES:
            raise ValueError(f'Unknown resize method "{s}"')
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(["linear", "bilinear", "trilinear", "triangle"], ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(["cubic", "bicubic", "tricubic"], ResizeMethod.CUBIC),
    **dict.fromkeys(["cubic-pytorch", "bicubic-pytorch"], ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def _triangle(x: Array) -> Array:
    return jnp.maximum(0, 1 - x)


def _lanczos(radius: int) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        """sinc(x) sinc(x / radius), within the radius."""
        # A fusion may compute x twice, as 0 and as 1e-8: by a series around 0 they agree.
        near = x < 1e-4
        away = jnp.where(near, 1, x)
        inside = radius * jnp.sin(pi * away) * jnp.sin(pi * away / radius) / (pi * away) ** 2
        series = 1 - (1 + 1 / radius**2) / 6 * (pi * x) ** 2
        return jnp.where(near, series, jnp.where(x < radius, inside, 0))

    return kernel


def _cubic(a: float) -> Callable[[Array], Array]:
    def kernel(x: Array) -> Array:
        """Keys' cubic convolution (1981), of slope a at 1."""
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = a * (((x - 5) * x + 8) * x - 4)
        return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))

    return kernel


_KERNELS = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
}


def _overlaps(size: int, length: int, step: Array, start: Array) -> Array:
    """Return the share of each pixel in the area of each new pixel."""
    left = jnp.arange(length) * step + start
    pixel = jnp.arange(size)[:, None]
    return jnp.maximum(jnp.minimum(left + step, pixel + 1) - jnp.maximum(left, pixel), 0)


def _repeating(size: int, centre: Array) -> Array:
    """Weights of the four pixels around each centre, where those at the borders go on outside.

    They go on for four pixels, as in JAX; what is farther out is zero.
    """
    first = jnp.floor(centre) - 1
    parts = jnp.zeros((size, centre.shape[0]), centre.dtype)
    for tap in range(4):
        pixel = jnp.clip(first + tap, 0, size - 1)
        here = jnp.arange(size)[:, None] == pixel
        parts = parts + jnp.where(here, _cubic(-0.75)(jnp.abs(centre - first - tap)), 0)
    return jnp.where((centre >= -4) & (centre < size + 3), parts, 0)


def _weights(
    size: int,
    length: int,
    scale: Array,
    translation: Array,
    method: ResizeMethod,
    antialias: bool,
) -> Array:
    """The part of each pixel (rows) in each new one (columns), along one axis.

    Kernels are as wide as new pixels are apart if those are further apart than pixels, with
    `antialias`. New pixels with their centres outside of the image are zero.
    """
    step = 1 / scale
    centre = (jnp.arange(length, dtype=step.dtype) + 0.5 - translation) * step - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _repeating(size, centre)
    if method is ResizeMethod.AREA:
        parts = _overlaps(size, length, step, -translation * step)
    else:
        width = jnp.maximum(step, 1) if antialias else 1
        pixels = jnp.arange(size, dtype=step.dtype)[:, None]
        parts = _KERNELS[method](jnp.abs(centre - pixels) / width)
    total = jnp.sum(parts, axis=0)
    whole_weight = jnp.abs(total) > _NEGLIGIBLE
    parts = jnp.where(whole_weight, parts / jnp.where(whole_weight, total, 1), 0)
    return jnp.where((centre >= -0.5) & (centre <= size - 0.5), parts, 0)


def _resampled(
    image: ArrayLike,
    shape: tuple[int, ...],
    axes: Sequence[int],
    scales: Sequence[Array],
    translations: Sequence[Array],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Array:
    (x,) = floats("image.resize", image)
    kind = x.dtype
    if x.size == 0 or 0 in shape:
        return jnp.zeros(shape, kind)
    if kind.itemsize == 1:  # products of eight bits would be rounded for each axis
        x = x.astype(float32)
    for axis, scale, translation in zip(axes, scales, translations, strict=True):
        size, length = x.shape[axis], shape[axis]
        weights = _weights(size, length, scale, translation, method, antialias).astype(x.dtype)
        if axis == 0:  # nothing has to be moved afterwards
            x = jnp.tensordot(weights, x, axes=(0, 0), precision=precision)
        else:
            moved = jnp.tensordot(x, weights, axes=(axis, 0), precision=precision)
            x = jnp.moveaxis(moved, -1, axis)
    return x.astype(kind)


def _asked(image: ArrayLike, shape: Any, method: Any) -> tuple[tuple[int, ...], ResizeMethod]:
    """The new shape and the method, checked."""
    arraylike("image.resize", image)
    given = typeof(image).shape
    lengths = tuple(concrete_int(n, "the length of the new shape") for n in listed(shape))
    if len(lengths) != len(given):
        raise ValueError(
            f"shape must have length equal to the number of dimensions of x;  {lengths} vs {given}"
        )
    if any(n < 0 for n in lengths):
        raise ValueError(f"a shape can't have negative lengths: {lengths}")
    found = method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)
    return lengths, found


@whole("shape")
def _nearest(image: ArrayLike, shape: tuple[int, ...]) -> Array:
    x = jnp.asarray(image)
    for axis, length in enumerate(shape):
        size = x.shape[axis]
        if size != length:
            centre = (jnp.arange(length, dtype="float32") + 0.5) * (size / max(length, 1))
            places = jnp.floor(centre).astype("int32")
            x = jnp.take(x, places, axis=axis, mode="clip") if size else jnp.zeros(shape, x.dtype)
    return x


@whole("shape", "method", "antialias", "precision")
def _resize(
    image: ArrayLike,
    shape: tuple[int, ...],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Array:
    given = typeof(image).shape
    axes = [i for i, n in enumerate(shape) if n != given[i]]
    wide = inexact_dtype(typeof(image).dtype)
    wide = float32 if wide.itemsize == 1 else jnp.promote_types(wide, float32)
    kind = finfo(wide).dtype
    scales = [jnp.asarray(shape[i] / given[i] if given[i] else 1.0, kind) for i in axes]
    zeros = [jnp.zeros((), kind)] * len(axes)
    return _resampled(image, shape, axes, scales, zeros, method, antialias, precision)


@own_promotion
def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Array:
    """Return an image resized to another shape.

    Args:
      image: an array of any rank.
      shape: the new length of each axis; axes that keep theirs stay as they are.
      method: a `ResizeMethod` or its name: "nearest", "linear" ("bilinear", "trilinear",
        "triangle"), "cubic" ("bicubic", "tricubic"; Keys, a = -0.5), "cubic-pytorch" (a = -0.75
        and outermost pixels repeated, where there is no antialiasing), "lanczos3", "lanczos5",
        "area" (means).
      antialias: whether kernels widen where the image shrinks.
      precision: of the products.

    Returns:
      An array of that shape; integers become floats, except by "nearest".

    Raises:
      ValueError: for unknown methods, and shapes of another rank.

    >>> import effax.image, effax.numpy as jnp
    >>> effax.image.resize(jnp.array([0.0, 4.0]), (4,), "linear")
    Array([0., 1., 3., 4.], dtype=float32)
    """
    lengths, found = _asked(image, shape, method)
    if found is ResizeMethod.NEAREST:
        return _nearest(image, lengths)
    return _resize(image, lengths, found, antialias, precision)


@whole("shape", "spatial_dims", "method", "antialias", "precision")
def _scale_and_translate(
    image: ArrayLike,
    shape: tuple[int, ...],
    spatial_dims: tuple[int, ...],
    scale: ArrayLike,
    translation: ArrayLike,
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Array:
    scale, translation = floats("image.scale_and_translate", scale, translation)
    n = len(spatial_dims)
    scales, translations = [scale[i] for i in range(n)], [translation[i] for i in range(n)]
    return _resampled(
        image, shape, spatial_dims, scales, translations, method, antialias, precision
    )


@own_promotion
def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Array:
    """Return an image magnified and moved along some axes; outside of the image it is zero.

    A point at x, where pixel i covers i to i + 1, goes to `scale * x + translation`.

    Args:
      image: an array of any rank.
      shape: the shape of the result; axes that aren't named keep their lengths.
      spatial_dims: the axes.
      scale, translation: vectors, a number for each of the axes; differentiable.
      method: a `ResizeMethod` or its name, as for `resize`, but "nearest".
      antialias: whether kernels widen where the image shrinks.
      precision: of the products.

    Raises:
      ValueError: for unknown methods and "nearest", shapes of another rank, other lengths of axes
        that aren't named, and vectors of another length than there are axes.

    >>> import effax.image, effax.numpy as jnp
    >>> one = jnp.ones(1)
    >>> effax.image.scale_and_translate(jnp.arange(3.0), (4,), (0,), one, one, "linear")
    Array([0., 0., 1., 2.], dtype=float32)
    """
    lengths, found = _asked(image, shape, method)
    if found is ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate."
        )
    scale, translation = arraylike("image.scale_and_translate", scale, translation)
    given = typeof(image).shape
    axes = canonical_axes(tuple(spatial_dims), len(given))
    for name, x in (("scale", scale), ("translation", translation)):
        if typeof(x).shape != (len(axes),):
            raise ValueError(
                f"{name} must be a vector with a number for each of the {len(axes)} spatial_dims, "
                f"but its shape is {typeof(x).shape}"
            )
    kept = [i for i in range(len(given)) if i not in axes and lengths[i] != given[i]]
    if kept:
        raise ValueError(
            f"shape {lengths} differs from the image's, {given}, along axes {kept}, which are not "
            f"among spatial_dims {axes}"
        )
    return _scale_and_translate(
        image, lengths, axes, scale, translation, found, antialias, precision
    )
