"""Derivatives of Fourier transforms: they are linear."""

from __future__ import annotations

from effax.effects import fourier
from effax.interpreters.jvp.dual import linear

linear(fourier.fft)
