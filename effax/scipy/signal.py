"""Convolutions, trends and spectra, as `scipy.signal` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import whole
from effax.effects.types import is_complex, typeof
from effax.effects.value import Array, ArrayLike, PrecisionLike
from effax.numpy.decompositions import floats
from effax.operands.arguments import canonical_axes
from effax.operands.promoting import arraylike
from effax.scipy.spectra import csd as csd
from effax.scipy.spectra import istft as istft
from effax.scipy.spectra import stft as stft
from effax.scipy.spectra import welch as welch
from effax.scipy.trends import detrend as detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
__dir__ = __all__.copy

_MODES = ("full", "same", "valid")


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {[*_MODES]}, got {mode!r}")


def _ordered(in1: Array, in2: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """The larger first, for 'valid'; raises `ValueError` where neither is in every dimension."""
    if all(in1.shape[i] >= in2.shape[i] for i in axes):
        return in1, in2
    if all(in1.shape[i] <= in2.shape[i] for i in axes):
        return in2, in1
    raise ValueError(
        "For 'valid' mode, one input must be at least as large as the other in every dimension; "
        f"their shapes are {in1.shape} and {in2.shape}"
    )


def _direct(in1: Array, in2: Array, mode: str, precision: Any, later: bool = False) -> Array:
    """Products of one array with every place of the other, which is turned round.

    The middle of an odd number of places more is the first of two, or the later.
    """
    if 0 in (in1.size, in2.size):
        raise ValueError(
            "zero-size arrays not supported in convolutions, got shapes "
            f"{in1.shape} and {in2.shape}."
        )
    if mode == "valid":
        in1, in2 = _ordered(in1, in2, range(in1.ndim))
    less = [n - 1 for n in in2.shape]
    pads = {
        "full": [(n, n) for n in less],
        "same": [(n - (n + later) // 2, (n + later) // 2) for n in less],
        "valid": [(0, 0)] * len(less),
    }
    out = lax.conv_general_dilated(
        in1[None, None], jnp.flip(in2)[None, None], (1,) * in1.ndim, pads[mode], precision=precision
    )
    return out[0, 0]


def _convolved(
    name: str, in1: ArrayLike, in2: ArrayLike, mode: str, method: str, precision: Any
) -> Array:
    _check_mode(mode)
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    x, y = floats(name, in1, in2)
    if x.ndim != y.ndim:
        raise ValueError(
            f"in1 and in2 must have the same number of dimensions, got {x.ndim} and {y.ndim}"
        )
    if name.startswith("correlate"):
        y = jnp.conj(jnp.flip(y))
    if x.ndim == 0:
        return x * y
    if method == "fft":
        return _by_fft(x, y, mode, range(x.ndim))
    return _direct(x, y, mode, precision, later=name == "correlate2d")


@whole("mode", "method", "precision")
def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Return the convolution of two arrays of one rank; integers are computed as floats.

    Args:
      in1, in2: the arrays.
      mode: 'full', 'same' (the middle, of in1's shape), or 'valid' (where they overlap wholly).
      method: 'direct' or 'fft'; 'auto' is 'direct', which accelerators do fast.
      precision: of the products.

    Raises:
      ValueError: for other modes and methods, arrays of two ranks, empty ones, and 'valid' where
        neither array is the larger in every dimension.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]), mode="same")
    Array([1., 3., 5.], dtype=float32)
    """
    return _convolved("convolve", in1, in2, mode, method, precision)


@whole("mode", "method", "precision")
def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Return the cross-correlation of two arrays of one rank, the second conjugated.

    Args:
      in1, in2: array_like, the arrays; integers are computed as floats.
      mode: 'full', 'same' (the middle, of in1's shape), or 'valid' (where they overlap wholly).
      method: 'direct' or 'fft'; 'auto' is 'direct', which accelerators do fast.
      precision: as for `lax.dot_general`, of the products.

    Raises:
      ValueError: as `convolve` does.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> signal.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]), mode="valid")
    Array([2., 3.], dtype=float32)
    """
    return _convolved("correlate", in1, in2, mode, method, precision)


def _plane(name: str, boundary: str, fillvalue: Any, *arrays: ArrayLike) -> None:
    """Refuses borders other than zeros, and arrays that are no planes."""
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{name}() only supports boundary='fill', fillvalue=0; pad the array with jnp.pad, and "
            "use mode='valid'"
        )
    arraylike(name, *arrays)
    if any(typeof(x).ndim != 2 for x in arrays):
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


@whole("mode", "boundary", "fillvalue", "precision")
def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Return the convolution of two matrices, as by `convolve`; zeros are outside.

    Args:
      in1, in2: array_like, the matrices.
      mode: 'full', 'same' (the middle, of in1's shape), or 'valid' (where they overlap wholly).
      boundary: must be 'fill'.
      fillvalue: must be 0.
      precision: as for `lax.dot_general`, of the products.

    Raises:
      NotImplementedError: for another boundary or fill value.
      ValueError: for arrays of another rank, and as `convolve` does.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> signal.convolve2d(jnp.eye(2), jnp.ones((1, 2)))
    Array([[1., 1., 0.], [0., 1., 1.]], dtype=float32)
    """
    _plane("convolve2d", boundary, fillvalue, in1, in2)
    return _convolved("convolve2d", in1, in2, mode, "direct", precision)


@whole("mode", "boundary", "fillvalue", "precision")
def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Return the correlation of two matrices, the second conjugated; zeros are outside.

    Args:
      in1, in2: array_like, the matrices.
      mode: 'full', 'same' (the middle, of in1's shape), or 'valid' (where they overlap wholly).
      boundary: must be 'fill'.
      fillvalue: must be 0.
      precision: as for `lax.dot_general`, of the products.

    Raises:
      NotImplementedError: for another boundary or fill value.
      ValueError: for arrays of another rank, and as `convolve` does.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> signal.correlate2d(jnp.eye(2), jnp.array([[1.0, 2.0]]), mode="valid")
    Array([[1.], [2.]], dtype=float32)
    """
    _plane("correlate2d", boundary, fillvalue, in1, in2)
    return _convolved("correlate2d", in1, in2, mode, "direct", precision)


def _by_fft(x: Array, y: Array, mode: str, axes: Sequence[int]) -> Array:
    """The product of the transforms of both, filled up with zeros."""
    if mode == "valid":
        x, y = _ordered(x, y, axes)
    dtype = x.dtype
    lengths = [x.shape[i] + y.shape[i] - 1 for i in axes]
    if not lengths:
        return x * y
    if min(lengths) < 1 or 0 in (x.size, y.size):
        shape = list(x.shape)
        for i, n in zip(axes, lengths, strict=True):
            shape[i] = max(n, 0)
        return jnp.zeros(shape, dtype)
    # Along an axis of length 1 use the product, which is exact and keeps infinities in place.
    long = [
        (i, n) for i, n in zip(axes, lengths, strict=True) if x.shape[i] != 1 and y.shape[i] != 1
    ]
    along, sizes = [i for i, _ in long], [n for _, n in long]
    if not long:
        full = x * y
    elif is_complex(dtype):
        product = jnp.fft.fftn(x, sizes, along) * jnp.fft.fftn(y, sizes, along)
        full = jnp.fft.ifftn(product, sizes, along).astype(dtype)
    else:
        product = jnp.fft.rfftn(x, sizes, along) * jnp.fft.rfftn(y, sizes, along)
        full = jnp.fft.irfftn(product, sizes, along).astype(dtype)
    wanted = {"full": lengths, "same": [x.shape[i] for i in axes]}
    wanted["valid"] = [x.shape[i] - y.shape[i] + 1 for i in axes]
    for i, have, length in zip(axes, lengths, wanted[mode], strict=True):
        start = (have - length) // 2
        full = lax.slice_in_dim(full, start, start + length, axis=i)
    return full


@whole("mode", "axes")
def _fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str, axes: tuple[int, ...] | None) -> Array:
    x, y = floats("fftconvolve", in1, in2)
    if x.ndim != y.ndim:
        raise ValueError(
            f"in1 and in2 should have the same dimensionality, got {x.ndim} and {y.ndim}"
        )
    where = canonical_axes(axes, x.ndim)
    others = [i for i in range(x.ndim) if i not in where and x.shape[i] != y.shape[i]]
    if others:
        raise ValueError(
            f"mapped axes must have same shape; got in1.shape={x.shape} in2.shape={y.shape} "
            f"axes={where}"
        )
    return _by_fft(x, y, mode, where)


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None
) -> Array:
    """Return the convolution of two arrays, by Fourier transforms: fast for two large ones.

    Args:
      in1, in2: arrays of one rank.
      mode: 'full', 'same' (the middle, of in1's shape), or 'valid' (where they overlap wholly).
      axes: the axes along which to convolve, all by default; the arrays agree in the others.

    Raises:
      ValueError: for other modes, and shapes that don't fit.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> out = signal.fftconvolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
    >>> jnp.round(out, 4)
    Array([1., 3., 5., 3.], dtype=float32)
    """
    _check_mode(mode)
    if axes is not None:
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
    arraylike("fftconvolve", in1, in2)
    return _fftconvolve(in1, in2, mode, axes)
