"""Fourier: discrete Fourier transforms of the last axes."""

from __future__ import annotations

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR
from effax.effects.types import (
    ShapedArray,
    complex_dtype,
    float32,
    float64,
    is_complex,
    real_dtype,
)

FAMILY = "fourier"
KINDS = ("FFT", "IFFT", "RFFT", "IRFFT")


def _fft_type(x: ShapedArray, *, fft_type: str, fft_lengths: tuple[int, ...]) -> ShapedArray:
    if fft_type not in KINDS:
        raise ValueError(f"fft: fft_type must be one of {', '.join(KINDS)}, not {fft_type!r}")
    n = len(fft_lengths)
    if not 1 <= n <= 3:
        raise ValueError(f"fft takes 1, 2 or 3 lengths, but was given {fft_lengths}")
    if x.ndim < n:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths "
            f"{tuple(fft_lengths)}"
        )
    wanted = fft_lengths
    if fft_type == "RFFT":
        if x.dtype not in (float32, float64):
            raise ValueError(f"RFFT input must be float32 or float64, got {x.dtype}")
        result = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
        dtype = complex_dtype(x.dtype)
    else:
        if not is_complex(x.dtype):
            raise ValueError(f"{fft_type} input must be complex64 or complex128, got {x.dtype}")
        result, dtype = fft_lengths, x.dtype
    if fft_type == "IRFFT":
        wanted = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
        dtype = real_dtype(x.dtype)
    if x.shape[x.ndim - n :] != wanted or 0 in fft_lengths:
        raise ValueError(
            f"{fft_type} of lengths {fft_lengths} takes last axes of the lengths {wanted}, none of "
            f"them 0, but was given {x.str_short()}"
        )
    return ShapedArray((*x.shape[: x.ndim - n], *result), dtype)


fft = Effect("fft", family=FAMILY, typing=_fft_type, facts=LINEAR)
"""`fft(x, fft_type, fft_lengths)`: the transform of the last `len(fft_lengths)` axes.

FFT: `y[k] = sum_j x[j] exp(-2πi jk/n)`. IFFT: its inverse. RFFT: the first half (n // 2 + 1
elements of the last axis) of the FFT of real numbers. IRFFT: the inverse of that.
"""
