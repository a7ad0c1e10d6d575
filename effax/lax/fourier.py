"""The Fourier transform in `lax`: of the last axes, by kind and lengths."""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import Any

from effax.eager.whole import whole
from effax.effects.dtypes import as_dtype
from effax.effects.rows import fourier
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import is_complex, is_inexact, typeof
from effax.operands.promoting import asarray


class FftType(enum.IntEnum):
    """The kinds of transform: forward, inverse, of real numbers, and back to real numbers."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """Compute the discrete Fourier transform of the last `len(fft_lengths)` axes, three at most.

    Over no axes it is the array itself, in the dtype that the transform would have.

    "RFFT" takes integers as floats, the others take real numbers as complex ones. Raises
    `ValueError` for other kinds of numbers than a transform is of.

    Args:
      x: array_like.
      fft_type: an `FftType` or its name.
      fft_lengths: the lengths of these axes; for "RFFT" and "IRFFT" those of the real array.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.fft(jnp.array([1.0 + 0j, 0.0]), "FFT", (2,))
    Array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    if isinstance(fft_type, str):
        if fft_type.upper() not in FftType.__members__:
            raise ValueError(f"unknown FFT type '{fft_type}'")
        fft_type = FftType[fft_type.upper()]
    return _fft(x, FftType(fft_type).name, tuple(operator.index(n) for n in fft_lengths))


@whole("kind", "lengths")
def _fft(x: Any, kind: str, lengths: tuple[int, ...]) -> Any:
    dtype = typeof(x).dtype
    if kind != "RFFT" and not is_complex(dtype):
        name = "complex128" if dtype.name == "float64" else "complex64"
        x = convert_element_type(x, dtype=as_dtype(name))
    elif not is_inexact(dtype):
        x = convert_element_type(x, dtype=as_dtype("float32"))
    if not lengths:
        if kind == "RFFT" and is_complex(dtype):
            raise ValueError(f"fft: RFFT takes real numbers, but was given {dtype.name}")
        return asarray(x)
    return fourier.fft(x, fft_type=kind, fft_lengths=lengths)
