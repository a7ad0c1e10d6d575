"""Transposes of Fourier transforms, with respect to the bilinear form (x, y) -> Re(x y)."""

from __future__ import annotations

from math import prod
from typing import Any

from effax.effects.rows import comparison, fourier, shape
from effax.effects.rows.complex import complex, conj, real
from effax.effects.rows.elementwise import mul
from effax.effects.rows.logical import or_
from effax.effects.rows.selection import select_n
from effax.effects.types import int32, real_dtype, typeof
from effax.interpreters.transpose.linear import unary


@unary(fourier.fft)
def fft_transpose(ct: Any, x: Any, *, fft_type: str, fft_lengths: tuple[int, ...]) -> Any:
    """FFT and IFFT are symmetric matrices; of the real ones, half of the spectrum is implied."""
    if fft_type in ("FFT", "IFFT"):
        return fourier.fft(ct, fft_type=fft_type, fft_lengths=fft_lengths)
    last = typeof(ct).ndim - 1
    n = fft_lengths[-1]
    if fft_type == "RFFT":
        whole = shape.pad_axis(ct, last, 0, n - (n // 2 + 1))
        return real(fourier.fft(whole, fft_type="FFT", fft_lengths=fft_lengths))
    spectrum = fourier.fft(ct, fft_type="RFFT", fft_lengths=fft_lengths)
    type = typeof(spectrum)
    part = real_dtype(type.dtype)
    place = shape.iota(dtype=int32, shape=type.shape, dimension=last)
    # Each frequency stands for two, except the first and, of an even number, the last.
    alone = comparison.eq(place, 0)
    if n % 2 == 0:
        alone = or_(alone, comparison.eq(place, n // 2))
    twice = shape.full(type.shape, 2 / prod(fft_lengths), part)
    weight = select_n(alone, twice, 1 / prod(fft_lengths))
    return mul(conj(spectrum), complex(weight, 0.0))
