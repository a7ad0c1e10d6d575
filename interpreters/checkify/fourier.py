"""Fourier transforms under checkify: sums may give NaN."""

from __future__ import annotations

from effax.effects.fourier import fft
from effax.interpreters.checkify.checking import computes

computes(fft)
