"""Fourier transforms as `numpy.fft` has them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import effax.numpy as jnp
from effax.eager.whole import opening, whole
from effax.effects.rows import fourier, shape
from effax.effects.rows.complex import conj
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import mul
from effax.effects.types import (
    complex_dtype,
    default_float,
    float32,
    inexact_dtype,
    is_complex,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DeviceLike, DTypeLike
from effax.operands.arguments import canonical_axes, canonical_axis, on_device, strong
from effax.operands.promoting import arraylike

if TYPE_CHECKING:
    from effax.api.compiling.function_types import FourierAlongAxes, FourierAlongOneAxis

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
__dir__ = __all__.copy

_NORMS = (None, "backward", "ortho", "forward")
_MOST = 3  # axes that one effect transforms


def _scale(name: str, norm: str | None, inverse: bool, count: int) -> float:
    """Return the factor of the unnormalised forward transform, or of the normalised inverse."""
    if norm not in _NORMS:
        raise ValueError(
            f'jnp.fft.{name}: Invalid norm value {norm!r}; should be "backward", "ortho" or '
            '"forward".'
        )
    if norm == "ortho":
        return sqrt(count) if inverse else 1 / sqrt(count)
    if norm == "forward":
        return float(count) if inverse else 1 / count
    return 1.0


def _transform(
    name: str,
    kind: str,
    a: ArrayLike,
    lengths: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> Array:
    """The transform of some axes, brought to these lengths first."""
    (x,) = arraylike(f"fft.{name}", a)
    type = typeof(x)
    if lengths is not None and any(n < 1 for n in lengths):
        raise ValueError(f"Invalid number of FFT data points ({min(lengths)}) specified.")
    if axes is None:
        axes = range(type.ndim) if lengths is None else range(-len(lengths), 0)
    if lengths is not None and len(lengths) != len(axes):
        raise ValueError(
            f"jnp.fft.{name}: s has {len(lengths)} lengths, and axes has {len(axes)} axes; give "
            "a length for each axis"
        )
    if len({axis % max(type.ndim, 1) for axis in axes}) < len(axes):
        raise ValueError(f"jnp.fft.{name} does not support repeated axes. Got axes {list(axes)}.")
    where = canonical_axes(tuple(axes), type.ndim)
    dtype = inexact_dtype(type.dtype)
    if dtype.itemsize < 4:
        dtype = float32
    if kind == "RFFT":
        if is_complex(dtype):
            raise ValueError(f"jnp.fft.{name} only accepts real-valued input, got {type.dtype}")
    elif not is_complex(dtype):
        dtype = complex_dtype(dtype)
    x = convert_element_type(x, dtype=dtype)
    if not where:
        return x
    order = (*(i for i in range(type.ndim) if i not in where), *where)
    moved = order != tuple(range(type.ndim))
    if moved:
        x = shape.transpose(x, permutation=order)
    first = type.ndim - len(where)
    own = [typeof(x).shape[first + i] for i in range(len(where))]
    if lengths is None:
        lengths = [*own[:-1], 2 * (own[-1] - 1)] if kind == "IRFFT" else own
    lengths = [operator.index(n) for n in lengths]
    if any(n < 1 for n in lengths):
        raise ValueError(f"Invalid number of FFT data points ({min(lengths)}) specified.")
    for i, n in enumerate(lengths):
        last_of_half = kind == "IRFFT" and i == len(lengths) - 1
        x = shape.resize_axis(x, first + i, n // 2 + 1 if last_of_half else n)
    x = _by_threes(x, kind, lengths)
    scale = _scale(name, norm, kind in ("IFFT", "IRFFT"), prod(lengths))
    if scale != 1:
        x = mul(x, scale)
    if not moved:
        return x
    return shape.transpose(x, permutation=tuple(order.index(i) for i in range(type.ndim)))


def _by_threes(x: Array, kind: str, lengths: list[int]) -> Array:
    """The transform of the last axes, however many: the real kinds act on the very last ones."""
    if len(lengths) <= _MOST:
        return fourier.fft(x, fft_type=kind, fft_lengths=tuple(lengths))
    rest, last = lengths[:-_MOST], lengths[-_MOST:]
    full = {"RFFT": "FFT", "IRFFT": "IFFT"}.get(kind, kind)
    if kind != "IRFFT":
        x = fourier.fft(x, fft_type=kind, fft_lengths=tuple(last))
    ndim = typeof(x).ndim
    turn = (*range(ndim - len(lengths)), *range(ndim - _MOST, ndim))
    turn = (*turn, *range(ndim - len(lengths), ndim - _MOST))
    x = _by_threes(shape.transpose(x, permutation=turn), full, rest)
    x = shape.transpose(x, permutation=tuple(turn.index(i) for i in range(ndim)))
    if kind == "IRFFT":
        x = fourier.fft(x, fft_type=kind, fft_lengths=tuple(last))
    return x


def _one(n: int | None) -> tuple[int, ...] | None:
    return None if n is None else (operator.index(n),)


def _named(function: Callable[..., Any], name: str, kind: str, meaning: str, example: str) -> None:
    """Name a transform, and write its docstring."""
    function.__name__ = function.__qualname__ = name
    call, _, answer = example.partition(" -> ")
    several = name.endswith(("2", "n"))
    size, axis = ("s", "axes") if several else ("n", "axis")
    lengths, each = ("lengths", "the axes are") if several else ("length", "the axis is")
    if kind != "IRFFT":
        own = "they are" if several else "it is"
        resized = f"the {lengths} that {each} cut, or padded with zeros, to; by default as {own}."
    elif several:
        resized = (
            "the lengths of the result along the axes; by default as they are, but\n        "
            "`2 * (m - 1)` along the last for m coefficients."
        )
    else:
        resized = "the length of the result along the axis; by default `2 * (m - 1)`."
    axes = {
        "2": "the two axes to transform; negative ones count from the end.",
        "n": "the axes to transform; by default all, or with `s` the last `len(s)`.",
    }.get(name[-1], "the axis to transform; negative ones count from the end.")
    function.__doc__ = (
        f"{meaning}\n\n    Args:\n      a: array_like{', real' if kind == 'RFFT' else ''}.\n"
        f"      {size}: {resized}\n      {axis}: {axes}\n"
        '      norm: the place of the factor 1/n: "backward" (the default) in the inverse,'
        '\n        "forward" in the forward transform, "ortho" its square root in both.\n\n'
        f"    >>> import effax.numpy as jnp\n    >>> {call}\n    {answer}\n    "
    )


def _along_one_axis(name: str, kind: str, meaning: str, example: str) -> FourierAlongOneAxis:
    @whole("n", "axis", "norm")
    def transform(
        a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None
    ) -> Array:
        if isinstance(axis, list | tuple):
            raise ValueError(
                f"jnp.fft.{name} does not support multiple axes. Please use jnp.fft.{name}n. Got "
                f"axis = {axis!r}."
            )
        return _transform(name, kind, a, _one(n), (axis,), norm)

    _named(transform, name, kind, meaning, example)
    return transform


def _along_axes(
    name: str, kind: str, axes: tuple[int, int] | None, meaning: str, example: str
) -> FourierAlongAxes:
    default = axes

    def transform(
        a: ArrayLike,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = default,
        norm: str | None = None,
    ) -> Array:
        if default is not None and (axes is None or len(axes) != 2):
            raise ValueError(f"jnp.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
        return several(
            a, None if s is None else tuple(s), None if axes is None else tuple(axes), norm
        )

    @whole("s", "axes", "norm")
    def several(a: ArrayLike, s: Any, axes: Any, norm: str | None) -> Array:
        return _transform(name, kind, a, s, axes, norm)

    _named(transform, name, kind, meaning, example)
    return transform


_ONES, _SQUARE = "jnp.ones(2)", "jnp.ones((2, 2))"
fft = _along_one_axis(
    "fft",
    "FFT",
    "Return the discrete Fourier transform along an axis.",
    f"jnp.fft.fft({_ONES}) -> Array([2.+0.j, 0.+0.j], dtype=complex64)",
)
ifft = _along_one_axis(
    "ifft",
    "IFFT",
    "Return the inverse of `fft`.",
    f"jnp.fft.ifft({_ONES}) -> Array([1.+0.j, 0.+0.j], dtype=complex64)",
)
rfft = _along_one_axis(
    "rfft",
    "RFFT",
    "Return the first half of the `fft` of real numbers, `n // 2 + 1` elements.",
    f"jnp.fft.rfft({_ONES}) -> Array([2.+0.j, 0.+0.j], dtype=complex64)",
)
irfft = _along_one_axis(
    "irfft",
    "IRFFT",
    "Return the inverse of `rfft`: n real numbers, from m coefficients.",
    f"jnp.fft.irfft({_ONES}) -> Array([1., 0.], dtype=float32)",
)
fft2 = _along_axes(
    "fft2",
    "FFT",
    (-2, -1),
    "Return the discrete Fourier transform along two axes.",
    f"jnp.fft.fft2({_SQUARE})[0, 0].real -> Array(4., dtype=float32)",
)
ifft2 = _along_axes(
    "ifft2",
    "IFFT",
    (-2, -1),
    "Return the inverse of `fft2`.",
    f"jnp.fft.ifft2({_SQUARE})[0, 0].real -> Array(1., dtype=float32)",
)
rfft2 = _along_axes(
    "rfft2",
    "RFFT",
    (-2, -1),
    "Return the `fft2` of real numbers, the first half of it along the last axis.",
    f"jnp.fft.rfft2({_SQUARE}).shape -> (2, 2)",
)
irfft2 = _along_axes(
    "irfft2",
    "IRFFT",
    (-2, -1),
    "Return the inverse of `rfft2`, which is real.",
    f"jnp.fft.irfft2({_SQUARE}).shape -> (2, 2)",
)
fftn = _along_axes(
    "fftn",
    "FFT",
    None,
    "Return the discrete Fourier transform along several axes, by default all.",
    f"jnp.fft.fftn({_SQUARE})[0, 0].real -> Array(4., dtype=float32)",
)
ifftn = _along_axes(
    "ifftn",
    "IFFT",
    None,
    "Return the inverse of `fftn`.",
    f"jnp.fft.ifftn({_SQUARE})[0, 0].real -> Array(1., dtype=float32)",
)
rfftn = _along_axes(
    "rfftn",
    "RFFT",
    None,
    "Return the `fftn` of real numbers, the first half of it along the last axis.",
    f"jnp.fft.rfftn({_SQUARE}).shape -> (2, 2)",
)
irfftn = _along_axes(
    "irfftn",
    "IRFFT",
    None,
    "Return the inverse of `rfftn`, which is real.",
    f"jnp.fft.irfftn({_SQUARE}).shape -> (2, 2)",
)


def _opposite(norm: str | None) -> str | None:
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


@whole("n", "axis", "norm")
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the transform, which is real, of numbers with Hermitian symmetry, given by half.

    Args:
      a: array_like, the first half of the numbers along `axis`.
      n: the length of the result along `axis`; by default `2 * (m - 1)` for m numbers.
      axis: the axis to transform; negative ones count from the end.
      norm: the place of the factor 1/n: "backward" (the default) in `ihfft`, "forward" in `hfft`,
        "ortho" its square root in both.

    >>> import effax.numpy as jnp
    >>> jnp.fft.hfft(jnp.ones(2))
    Array([2., 0.], dtype=float32)
    """
    (x,) = arraylike("fft.hfft", a)
    type = typeof(x)
    if not is_complex(type.dtype):
        x = convert_element_type(x, dtype=complex_dtype(inexact_dtype(type.dtype)))
    return _transform("hfft", "IRFFT", conj(x), _one(n), (axis,), _opposite(norm))


@whole("n", "axis", "norm")
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `hfft`, its first half.

    Args:
      a: array_like, real.
      n: the length that the axis is cut, or padded with zeros, to; by default as it is.
      axis: the axis to transform; negative ones count from the end.
      norm: the place of the factor 1/n: "backward" (the default) in `ihfft`, "forward" in `hfft`,
        "ortho" its square root in both.

    >>> import effax.numpy as jnp
    >>> jnp.fft.ihfft(jnp.ones(2)).real
    Array([1., 0.], dtype=float32)
    """
    return conj(_transform("ihfft", "RFFT", a, _one(n), (axis,), _opposite(norm)))


def _frequency_dtype(name: str, n: Any, d: Any, dtype: Any) -> Any:
    if isinstance(n, list | tuple):
        raise ValueError(f"The n argument of jnp.fft.{name} only takes an int. Got n = {list(n)}.")
    if isinstance(n, float) and not n.is_integer():
        raise ValueError(f"fft.{name}: n must be a whole number of samples, got {n}")
    if isinstance(d, list | tuple):
        raise ValueError(
            f"The d argument of jnp.fft.{name} only takes a single value. Got d = {list(d)}."
        )
    return default_float() if dtype is None else user_dtype(dtype, name)


def fftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None
) -> Array:
    """Return the frequencies of the elements of an `fft` of n samples that are d apart.

    Args:
      n: the number of samples.
      d: the distance of two samples.
      dtype: the dtype of the result; by default the default float.
      device: where to put the result; by default the default device.

    >>> import effax.numpy as jnp
    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    wanted = _frequency_dtype("fftfreq", n, d, dtype)
    return _placed(_frequencies(d, n=n, half=False, dtype=wanted), device)


def rfftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None
) -> Array:
    """Return the frequencies of the elements of an `rfft` of n samples that are d apart.

    Args:
      n: the number of samples.
      d: the distance of two samples.
      dtype: the dtype of the result; by default the default float.
      device: where to put the result; by default the default device.

    >>> import effax.numpy as jnp
    >>> jnp.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    wanted = _frequency_dtype("rfftfreq", n, d, dtype)
    return _placed(_frequencies(d, n=n, half=True, dtype=wanted), device)


def _placed(x: Array, device: Any) -> Array:
    return on_device(x, device)


@whole("n", "half", "dtype")
def _frequencies(d: ArrayLike, n: int, half: bool, dtype: Any) -> Array:
    """The frequencies of a half or a full transform, whose second half is of negative ones."""
    if half and dtype.kind == "b":
        raise TypeError("rfftfreq: dtype must be a dtype of numbers, got bool")
    places = jnp.arange(n // 2 + 1 if half else n)
    if not half:
        places = jnp.where(places < (n + 1) // 2, places, places - n)
    if dtype.kind not in "iu":
        return strong(
            jnp.true_divide(places.astype(dtype), jnp.asarray(d, dtype) * n).astype(dtype)
        )
    if half:
        return jnp.true_divide(places.astype(dtype), jnp.asarray(d, dtype) * n)
    # A full transform truncates the quotients, as JAX does, and not what they are quotients of: a
    # distance of 0.1 is no integer, and negative places are no numbers without a sign.
    return strong(jnp.true_divide(places, jnp.asarray(d) * n).astype(dtype))


def _shifted(x: ArrayLike, axes: Any, forwards: bool) -> Array:
    lengths = typeof(x).shape
    if axes is None:
        where: tuple[int, ...] = tuple(range(len(lengths)))
    elif isinstance(axes, Sequence):
        where = tuple(canonical_axis(a, len(lengths)) for a in axes)
    else:
        where = (canonical_axis(axes, len(lengths)),)
    steps = tuple(lengths[a] // 2 if forwards else -(lengths[a] // 2) for a in where)
    return jnp.roll(x, steps, where)


@opening
def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Return the array with the frequency zero moved to the middle.

    Args:
      x: array_like, frequencies or coefficients in the order of `fft`.
      axes: the axis or axes to move along; None for all.

    >>> import effax.numpy as jnp
    >>> jnp.fft.fftshift(jnp.arange(4))
    Array([2, 3, 0, 1], dtype=int32)
    """
    return _shifted(x, axes, True)


@opening
def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Return the inverse of `fftshift`: the frequency zero moved to the front.

    Args:
      x: array_like, frequencies or coefficients in the order of `fftshift`.
      axes: the axis or axes to move along; None for all.

    >>> import effax.numpy as jnp
    >>> jnp.fft.ifftshift(jnp.arange(3))
    Array([1, 2, 0], dtype=int32)
    """
    return _shifted(x, axes, False)
