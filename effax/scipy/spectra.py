"""Spectra of overlapping segments, as `scipy.signal` has them."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax.eager.whole import own_promotion, whole
from effax.effects.types import is_complex
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.operands.arguments import canonical_axis
from effax.scipy.spectral_windows import window_of
from effax.scipy.trends import detrend as _detrended

_BORDERS = ("even", "odd", "constant", "zeros", None)
_NO_WEIGHT = 1e-10


class _Plan(NamedTuple):
    """The segmentation of the last axis: lengths of segments, overlaps and transforms."""

    segment: int
    overlap: int
    transform: int
    window: Array

    @property
    def step(self) -> int:
        return self.segment - self.overlap


def _whole_number(x: Any, name: str) -> int:
    number = operator.index(x) if not isinstance(x, float) else int(x)
    if number < 1:
        raise ValueError(f"{name} must be a positive integer, got {x!r}")
    return number


def _plan(
    window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None, length: int
) -> _Plan:
    """Checks the lengths of segments against one another and the data's."""
    segment = None if nperseg is None else _whole_number(nperseg, "nperseg")
    if isinstance(window, str | tuple | int | float):
        segment = 256 if segment is None else segment
        if segment > length:
            warnings.warn(
                f"nperseg = {segment} is greater than input length {length}, using nperseg = "
                f"{length}",
                stacklevel=5,
            )
            segment = length
        values = window_of(window, segment)
    else:
        values = _window_given(window)
        if values.shape[0] > length:
            raise ValueError("window is longer than input signal")
        if segment is not None and segment != values.shape[0]:
            raise ValueError("value specified for nperseg is different from length of window")
        segment = values.shape[0]
    transform = segment if nfft is None else operator.index(nfft)
    if transform < segment:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    return _Plan(segment, _overlap(noverlap, segment), transform, values)


def _window_given(window: Any) -> Array:
    values = jnp.asarray(window)
    if values.ndim != 1:
        raise ValueError(f"window must be 1-D, got an array of shape {values.shape}")
    return values


def _overlap(noverlap: int | None, segment: int) -> int:
    overlap = segment // 2 if noverlap is None else operator.index(noverlap)
    if overlap >= segment:
        raise ValueError(f"noverlap must be less than nperseg. ({overlap} against {segment})")
    return overlap


def _extended(x: Array, n: int, border: str | None) -> Array:
    """The last axis with n more samples on both sides."""
    if border is None or n == 0:
        return x
    if border in ("even", "odd") and n > x.shape[-1] - 1:
        raise ValueError(f"the extension, {n}, is too long for {x.shape[-1]} samples")
    kinds: dict[str, dict[str, Any]] = {
        "zeros": {"mode": "constant"},
        "constant": {"mode": "edge"},
        "even": {"mode": "reflect"},
        "odd": {"mode": "reflect", "reflect_type": "odd"},
    }
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], **kinds[border])


def _frequencies(n: int, onesided: bool, fs: Any) -> Array:
    return (jnp.fft.rfftfreq(n) if onesided else jnp.fft.fftfreq(n)) * fs


def _places(count: int, plan: _Plan) -> Array:
    """The samples of each segment, by number: a row for each."""
    return jnp.arange(count)[:, None] * plan.step + jnp.arange(plan.segment)


def _segments(x: Array, count: int, plan: _Plan) -> Array:
    """The samples of each segment: (..., segments, samples).

    Where the step divides the segment, segments are neighbouring blocks of as many samples as a
    step, put together; a TPU gathers element by element.
    """
    blocks, rest = divmod(plan.segment, plan.step)
    if rest or blocks > _BLOCKS:
        return x[..., _places(count, plan)]
    whole = count - 1 + blocks
    cut = jnp.reshape(x[..., : whole * plan.step], (*x.shape[:-1], whole, plan.step))
    return jnp.concatenate([cut[..., i : i + count, :] for i in range(blocks)], axis=-1)


_BLOCKS = 16
"""The largest number of steps in a segment of which segments are put together."""


def _transformed(x: Array, plan: _Plan, detrend: Any, onesided: bool) -> Array:
    """The spectra of the segments: (..., segments, frequencies)."""
    count = (x.shape[-1] - plan.overlap) // plan.step
    cut = _segments(x, count, plan)
    if callable(detrend):
        cut = detrend(cut)
    elif detrend:
        cut = _detrended(cut, type=detrend)
    cut = cut * plan.window.astype(jnp.promote_types(cut.real.dtype, "float32"))
    fft: Callable[..., Array] = jnp.fft.rfft if onesided else jnp.fft.fft
    return fft(cut, n=plan.transform)


class _Spectra(NamedTuple):
    frequencies: Array
    times: Array
    values: Array  # (..., frequencies, segments)


def _spectra(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: Any,
    window: Any,
    lengths: tuple[int | None, int | None, int | None],
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    border: str | None = None,
    padded: bool = False,
    power: bool = True,
) -> _Spectra | Array:
    """Spectra of segments, or their products; an empty array for empty data."""
    if border not in _BORDERS:
        raise ValueError(f"Unknown boundary option {border!r}, must be one of: {[*_BORDERS]}")
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling}")
    both = [floats("signal", x)[0]] if y is None else floats("signal", x, y)
    if both[0].ndim != both[-1].ndim:
        raise ValueError(
            f"two arguments must have the same rank ({both[0].ndim} vs {both[-1].ndim})."
        )
    where = canonical_axis(axis, both[0].ndim)
    both = [jnp.moveaxis(each, where, -1) for each in both]
    try:
        outer = jnp.broadcast_shapes(*(each.shape[:-1] for each in both))
    except ValueError:
        raise ValueError("x and y cannot be broadcast together.") from None
    if 0 in (both[0].size, both[-1].size):
        shortest = min(each.shape[-1] for each in both)
        nothing = jnp.zeros((*outer, shortest), jnp.finfo(both[0].dtype).dtype)
        return jnp.moveaxis(nothing, -1, where)
    length = max(each.shape[-1] for each in both)
    both = [jnp.pad(e, [(0, 0)] * len(outer) + [(0, length - e.shape[-1])]) for e in both]
    real = jnp.promote_types(both[0].real.dtype, "float32")
    plan = _in_dtype(_plan(window, *lengths, length), real)
    both = [_extended(each, plan.segment // 2, border) for each in both]
    if padded:
        more = -(both[0].shape[-1] - plan.segment) % plan.step % plan.segment
        both = [jnp.pad(each, [(0, 0)] * len(outer) + [(0, more)]) for each in both]
    onesided = return_onesided and not any(is_complex(e.dtype) for e in (*both, plan.window))
    found = [_transformed(each, plan, detrend, onesided) for each in both]
    values = _powers(found, plan, scaling, onesided, fs) if power else found[0]
    if not power:
        values = values / jnp.abs(jnp.sum(plan.window))
    half = plan.segment / 2
    begin = 0.0 if border is not None else half
    count = values.shape[-2]
    times = (jnp.arange(count, dtype=real) * plan.step + begin) / fs
    values = jnp.moveaxis(jnp.swapaxes(values, -1, -2), -2, where)
    return _Spectra(_frequencies(plan.transform, onesided, fs).astype(real), times, values)


def _in_dtype(plan: _Plan, dtype: Any) -> _Plan:
    """A plan whose window is as precise as the data."""
    if is_complex(plan.window.dtype):
        return plan
    return plan._replace(window=plan.window.astype(dtype))


def _powers(found: list[Array], plan: _Plan, scaling: str, onesided: bool, fs: Any) -> Array:
    """Products of spectra, those that stand for two frequencies doubled."""
    products = jnp.conj(found[0]) * found[-1]
    if len(found) == 1:
        products = products.real
    w = plan.window
    if scaling == "density":
        products = products / (fs * jnp.sum((w * jnp.conj(w)).real))
    else:
        products = products / jnp.abs(jnp.sum(w)) ** 2
    if not onesided:
        return products
    single = jnp.arange(products.shape[-1]) == 0
    if plan.transform % 2 == 0:
        single = single | (jnp.arange(products.shape[-1]) == plan.transform // 2)
    return jnp.where(single, products, 2 * products)


def _median(values: Array) -> Array:
    """The median of powers of noise, whose mean it is after a division by its bias."""
    n = values.shape[-1]
    bias = 1 + sum(1 / (i + 1) - 1 / i for i in range(2, n, 2))
    if is_complex(values.dtype):
        return (jnp.median(values.real, axis=-1) + 1j * jnp.median(values.imag, axis=-1)) / bias
    return jnp.median(values, axis=-1) / bias


_STATIC = ("window", "nperseg", "noverlap", "nfft", "detrend", "return_onesided", "axis")


@whole(*_STATIC, "scaling", "average")
def _averaged(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Array, Array]:
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')
    found = _spectra(
        x, y, fs, window, (nperseg, noverlap, nfft), detrend, return_onesided, scaling, axis
    )
    if not isinstance(found, _Spectra):
        return found, found
    values = found.values
    return (
        found.frequencies,
        jnp.mean(values, axis=-1) if average == "mean" else _median(values),
    )


@own_promotion
def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: str = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Return the cross spectral density of two signals, by Welch's method: means over segments.

    Args:
      x, y: signals of one rank, the shorter filled up with zeros; with None for y, the power of x.
      fs: how many samples there are in a unit of time.
      window: a name of SciPy's, a name with parameters, or a vector of weights.
      nperseg: the length of segments: 256, or as long as the signal or the window.
      noverlap: by how much segments overlap: by half of their length.
      nfft: the length to which they are filled up.
      detrend: "constant", "linear", False, or a function of segments along the last axis.
      return_onesided: only frequencies from 0 on, where the signals are real.
      scaling: "density" by frequency, or "spectrum".
      axis: the axis of time.
      average: "mean" or "median" of the segments.

    Returns:
      Frequencies and, for each, the density, complex unless y is None.

    Raises:
      ValueError: for unknown windows, trends, scalings and averages, and lengths that don't fit.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> x = jnp.sin(jnp.arange(64) * jnp.pi / 4)
    >>> frequencies, density = signal.csd(x, -x, nperseg=16)
    >>> float(frequencies[jnp.argmin(density.real)])
    0.125
    """
    return _averaged(
        *(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling),
        *(axis, average),
    )


@own_promotion
def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Return the power spectral density of a signal, by Welch's method: means over segments.

    Args:
      x: array_like, the signal.
      fs: the number of samples in a unit of time.
      window, nperseg, noverlap, nfft, detrend: the segments, as for `csd`.
      return_onesided: whether to return only frequencies from 0 on, where the signal is real.
      scaling: "density" by frequency, or "spectrum".
      axis: the axis of time.
      average: "mean" or "median" of the segments.

    Returns:
      Frequencies and, for each, the density.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> x = jnp.sin(jnp.arange(64) * jnp.pi / 4)
    >>> frequencies, density = signal.welch(x, nperseg=16)
    >>> float(frequencies[jnp.argmax(density)])
    0.125
    """
    return _averaged(
        *(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling),
        *(axis, average),
    )


@whole(*_STATIC, "boundary", "padded")
def _stft(
    x: ArrayLike,
    fs: ArrayLike,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    boundary: str | None,
    padded: bool,
    axis: int,
) -> tuple[Array, Array, Array]:
    found = _spectra(
        *(x, None, fs, window, (nperseg, noverlap, nfft), detrend, return_onesided, "spectrum"),
        *(axis, boundary, padded, False),
    )
    if not isinstance(found, _Spectra):
        return found, found, found.astype(jnp.promote_types(found.dtype, "complex64"))
    return found.frequencies, found.times, found.values


@own_promotion
def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: bool = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Return the short-time Fourier transform: the spectra of overlapping segments.

    Args:
      x: a signal.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis: as for `csd`.
      boundary: how the signal goes on by half a segment: "zeros", "even", "odd", "constant"; or
        None: it does not.
      padded: whether zeros are added at the end for a last whole segment.

    Returns:
      Frequencies, times, and values: frequencies along `axis`, times along the last.

    Raises:
      ValueError: for unknown windows, trends and borders, and lengths that don't fit.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> frequencies, times, values = signal.stft(jnp.ones(32), nperseg=8)
    >>> frequencies.shape, times.shape, values.shape
    ((5,), (9,), (5, 9))
    """
    return _stft(
        *(x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, boundary, padded),
        axis,
    )


@own_promotion
@whole(
    *("window", "nperseg", "noverlap", "nfft", "input_onesided", "boundary"),
    *("time_axis", "freq_axis"),
)
def istft(
    Zxx: ArrayLike,  # noqa: N803
    fs: ArrayLike = 1.0,
    window: str = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """Return the signal with this short-time Fourier transform: that of least squares.

    Args:
      Zxx: spectra, as `stft` returns them.
      fs, window, nperseg, noverlap, nfft: as they were given to `stft`.
      input_onesided: whether there are only frequencies from 0 on; the signal is real then.
      boundary: whether the signal was continued, by half a segment on both sides.
      time_axis, freq_axis: which axes are times and frequencies.

    Returns:
      Times, as many as the result's first axis is long (as SciPy has them), and the signal.

    Raises:
      ValueError: for other ranks, windows and lengths that don't fit.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import signal
    >>> _, _, values = signal.stft(jnp.arange(16.0), nperseg=8)
    >>> jnp.allclose(signal.istft(values)[1], jnp.arange(16.0), atol=1e-4)
    Array(True, dtype=bool)
    """
    (z,) = floats("istft", Zxx)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    times, places = canonical_axis(time_axis, z.ndim), canonical_axis(freq_axis, z.ndim)
    if times == places:
        raise ValueError("Must specify differing time and frequency axes!")
    z = jnp.moveaxis(z, (places, times), (-2, -1))
    real = jnp.promote_types(z.real.dtype, "float32")
    plan = _in_dtype(_inverse_plan(z, window, nperseg, noverlap, nfft, input_onesided), real)
    inverse: Callable[..., Array] = jnp.fft.irfft if input_onesided else jnp.fft.ifft
    cut = inverse(z, n=plan.transform, axis=-2)[..., : plan.segment, :]
    cut = jnp.swapaxes(cut, -1, -2) * (plan.window * jnp.sum(plan.window))
    count = z.shape[-1]
    length = plan.segment + (count - 1) * plan.step
    index = _places(count, plan)
    x = jnp.zeros((*z.shape[:-2], length), cut.dtype).at[..., index].add(cut)
    squares = jnp.broadcast_to(plan.window**2, index.shape)
    weight = jnp.zeros(length, squares.dtype).at[index].add(squares)
    half = plan.segment // 2
    if boundary:
        x, weight = x[..., half : length - half], weight[half : length - half]
    x = x / jnp.where(weight > _NO_WEIGHT, weight, 1)
    if x.ndim > 1 and times != z.ndim - 1:
        x = jnp.moveaxis(x, -1, times - 1 if places < times else times)
    return jnp.arange(x.shape[0], dtype=real) / fs, x


def _inverse_plan(
    z: Array,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    onesided: bool,
) -> _Plan:
    """The plan with which the spectra were made, checked against their shape."""
    usual = 2 * (z.shape[-2] - 1) if onesided else z.shape[-2]
    segment = usual if nperseg is None else _whole_number(nperseg, "nperseg")
    if nfft is None:
        transform = segment if onesided and segment == usual + 1 else usual
    else:
        transform = operator.index(nfft)
    if transform < segment:
        raise ValueError(f"FFT length ({transform}) must be longer than nperseg ({segment}).")
    overlap = _overlap(noverlap, segment)
    if isinstance(window, str | tuple | int | float):
        return _Plan(segment, overlap, transform, window_of(window, segment))
    values = _window_given(window)
    if values.shape[0] != segment:
        raise ValueError(f"window must have length of {segment}")
    return _Plan(segment, overlap, transform, values)
