"""Fourier transforms by `numpy.fft`, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows import fourier

Array = np.ndarray[Any, Any]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "RFFT": np.fft.rfftn,
    "IRFFT": np.fft.irfftn,
}


@rule(fourier.fft)
def reference_fft(x: Array, *, fft_type: str, fft_lengths: tuple[int, ...]) -> Array:
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    return np.asarray(_FUNCTIONS[fft_type](x, s=fft_lengths, axes=axes))
