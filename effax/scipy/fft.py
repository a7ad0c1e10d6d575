"""Cosine transforms of the second type, as `scipy.fft` has them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import pi, sqrt

import effax.numpy as jnp
from effax.eager.whole import own_promotion, whole
from effax.effects.types import is_complex
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.operands.arguments import canonical_axes, canonical_axis

__all__ = ["dct", "dctn", "idct", "idctn"]
__dir__ = __all__.copy


def _operand(name: str, x: ArrayLike, type: int, norm: str | None) -> Array:
    """The array as floats of at least 32 bits; refuses other types and norms."""
    if type != 2:
        raise NotImplementedError(
            f"Only DCT type 2 is implemented; {name} was asked for type {type!r}."
        )
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"scipy.fft.{name}: norm={norm!r} is not implemented")
    (x,) = floats(name, x)
    return x.astype(jnp.float32) if x.dtype.itemsize < 4 else x


def _resized(x: Array, axis: int, length: int | None) -> Array:
    """The array cut, or filled up with zeros, to a length along an axis."""
    have = x.shape[axis]
    length = have if length is None else operator.index(length)
    if length < 1:
        raise ValueError(f"Invalid number of data points ({length}) specified.")
    if length <= have:
        return x[(slice(None),) * axis + (slice(length),)]
    return jnp.pad(x, [(0, length - have) if i == axis else (0, 0) for i in range(x.ndim)])


def _turns(n: int, x: Array) -> Array:
    """Quarter turns: exp(-i pi k / 2n)."""
    real = x.real.dtype
    angle = jnp.arange(n, dtype=real) * (-pi / (2 * n))
    return jnp.cos(angle) + 1j * jnp.sin(angle)


def _scales(n: int, x: Array) -> Array:
    """Return the factors of the orthogonal transform: the root of 1/4n, then of 1/2n."""
    return jnp.where(jnp.arange(n) == 0, sqrt(0.25 / n), sqrt(0.5 / n)).astype(x.real.dtype)


def _forward(x: Array, norm: str | None) -> Array:
    """By one Fourier transform of the even places and then the odd ones, backwards (Makhoul 1980).

    Linear in x, so right for complex numbers, where it is two real transforms at once.
    """
    n = x.shape[-1]
    spectrum = jnp.fft.fft(jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1))
    turned = spectrum * _turns(n, x)
    if is_complex(x.dtype):
        mirrored = jnp.roll(spectrum[..., ::-1], 1, axis=-1)
        out = turned + mirrored * jnp.conj(_turns(n, x))
    else:
        out = 2 * turned.real
    return out * _scales(n, x) if norm == "ortho" else out


def _backward(x: Array, norm: str | None) -> Array:
    """The inverse of `_forward`, step by step."""
    n = x.shape[-1]
    if norm == "ortho":
        x = x / _scales(n, x)
    nothing = jnp.zeros_like(x[..., :1])
    mirrored = jnp.concatenate([nothing, x[..., :0:-1]], axis=-1)
    spectrum = 0.5 * (x - 1j * mirrored) * jnp.conj(_turns(n, x))
    mixed = jnp.fft.ifft(spectrum)
    mixed = mixed if is_complex(x.dtype) else mixed.real
    half = (n + 1) // 2
    even, odd = mixed[..., :half], mixed[..., half:][..., ::-1]
    odd = jnp.pad(odd, [(0, 0)] * (x.ndim - 1) + [(0, half - odd.shape[-1])])
    return jnp.stack([even, odd], axis=-1).reshape(*x.shape[:-1], 2 * half)[..., :n]


def _along(transform: Callable[..., Array], x: Array, axis: int, norm: str | None) -> Array:
    return jnp.moveaxis(transform(jnp.moveaxis(x, axis, -1), norm), -1, axis)


def _one(name: str, x: ArrayLike, type: int, n: int | None, axis: int, norm: str | None) -> Array:
    value = _operand(name, x, type, norm)
    where = canonical_axis(axis, value.ndim)
    transform = _forward if name == "dct" else _backward
    return _along(transform, _resized(value, where, n), where, norm)


def _many(
    name: str,
    x: ArrayLike,
    type: int,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> Array:
    value = _operand(name, x, type, norm)
    if s is not None:
        s = (s,) if isinstance(s, int) else tuple(s)
        axes = range(-len(s), 0) if axes is None else axes
    where = canonical_axes(tuple(axes) if isinstance(axes, range) else axes, value.ndim)
    if s is not None and len(s) != len(where):
        raise ValueError(
            f"{name}: when given, axes and shape arguments have to be of the same length, but "
            f"they are {where} and {s}"
        )
    for i, axis in enumerate(where):
        value = _resized(value, axis, None if s is None else s[i])
    transform = _forward if name == "dctn" else _backward
    for axis in where:
        value = _along(transform, value, axis, norm)
    return value


@own_promotion
@whole("type", "n", "axis", "norm")
def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Return the cosine transform `2 sum_j x_j cos(pi k (2j + 1) / 2n)` along an axis.

    Args:
      x: array_like; integers become floats, and 16-bit floats become 32-bit ones.
      type: must be 2.
      n: the length to which the array is cut, or filled up with zeros.
      axis: the axis; negative ones count from the end.
      norm: "ortho" makes the transform orthogonal; None and "backward" are as above.

    Raises:
      NotImplementedError: for other types.
      ValueError: for other norms, axes that aren't there and lengths below 1.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import fft
    >>> fft.dct(jnp.array([1.0, 1.0]))
    Array([4., 0.], dtype=float32)
    """
    return _one("dct", x, type, n, axis, norm)


@own_promotion
@whole("type", "n", "axis", "norm")
def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Return the inverse of `dct` along an axis.

    Args:
      x: array_like; integers become floats, and 16-bit floats become 32-bit ones.
      type: must be 2.
      n: the length to which the array is cut, or filled up with zeros; by default its own.
      axis: the axis; negative ones count from the end.
      norm: None, "backward" or "ortho", as it was for `dct`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import fft
    >>> fft.idct(jnp.array([4.0, 0.0]))
    Array([1., 1.], dtype=float32)
    """
    return _one("idct", x, type, n, axis, norm)


@own_promotion
@whole("type", "s", "axes", "norm")
def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Compute `dct` along each of some axes: all, or the last ones, as many as lengths are given.

    Args:
      x: array_like.
      type: must be 2.
      s: the lengths to which those axes are cut or filled up.
      axes: the axes.
      norm: as for `dct`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import fft
    >>> fft.dctn(jnp.ones((2, 2)))
    Array([[16.,  0.], [ 0.,  0.]], dtype=float32)
    """
    return _many("dctn", x, type, s, axes, norm)


@own_promotion
@whole("type", "s", "axes", "norm")
def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Return the inverse of `dctn` along some axes.

    Args:
      x: array_like.
      type: must be 2.
      s: the lengths to which those axes are cut, or filled up with zeros; by default their own.
      axes: the axes; by default all, or the last ones, as many as lengths are given.
      norm: None, "backward" or "ortho", as it was for `dctn`.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import fft
    >>> fft.idctn(fft.dctn(jnp.ones((2, 2))))
    Array([[1., 1.], [1., 1.]], dtype=float32)
    """
    return _many("idctn", x, type, s, axes, norm)
