"""Transposes of Fourier transforms, with respect to the bilinear form (x, y) -> Re(x y)."""

from __future__ import annotations

from math import prod
from typing import Any

from effax.effects.rows import comparison, fourier, shape
from effax.effects.rows.complex import complex, conj
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
    n = fft_lengths[-1]
    # Each frequency stands for two, except the first and, of an even number, the last.
    spectrum = (
        ct if fft_type == "RFFT" else fourier.fft(ct, fft_type="RFFT", fft_lengths=fft_lengths)
    )
    type = typeof(spectrum)
    place = shape.iota(dtype=int32, shape=type.shape, dimension=type.ndim - 1)
    alone = comparison.eq(place, 0)
    if n % 2 == 0:
        alone = or_(alone, comparison.eq(place, n // 2))
    count = prod(fft_lengths)
    one, two = (count, count / 2) if fft_type == "RFFT" else (1 / count, 2 / count)
    every = shape.full(type.shape, two, real_dtype(type.dtype))
    weighted = mul(conj(spectrum), complex(select_n(alone, every, one), 0.0))
    if fft_type == "RFFT":
        return fourier.fft(weighted, fft_type="IRFFT", fft_lengths=fft_lengths)
    return weighted
