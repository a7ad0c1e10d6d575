"""Transcendental functions by NumPy."""

from __future__ import annotations

import numpy as np

from effax.backends.reference.elementwise import Array, wide
from effax.backends.reference.table import rule
from effax.effects.rows import transcendental

rule(transcendental.exp)(wide(np.exp))
rule(transcendental.exp2)(wide(np.exp2))
rule(transcendental.expm1)(wide(np.expm1))
rule(transcendental.log)(wide(np.log))
rule(transcendental.log1p)(wide(np.log1p))
rule(transcendental.sin)(wide(np.sin))
rule(transcendental.cos)(wide(np.cos))
rule(transcendental.tan)(wide(np.tan))
rule(transcendental.asin)(wide(np.arcsin))
rule(transcendental.acos)(wide(np.arccos))
rule(transcendental.atan)(wide(np.arctan))
rule(transcendental.sinh)(wide(np.sinh))
rule(transcendental.cosh)(wide(np.cosh))
rule(transcendental.tanh)(wide(np.tanh))
rule(transcendental.asinh)(wide(np.arcsinh))
rule(transcendental.acosh)(wide(np.arccosh))
rule(transcendental.atanh)(wide(np.arctanh))


@rule(transcendental.logistic)
@wide
def reference_logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@rule(transcendental.atan2)
@wide
def reference_atan2(x: Array, y: Array) -> Array:
    if x.dtype.kind != "c":
        return np.arctan2(x, y)
    # The complex function of which the real one is a part: -i log((y + ix) / sqrt(x^2 + y^2)).
    return -1j * np.log((y + 1j * x) / np.sqrt(x * x + y * y))


@rule(transcendental.logaddexp)
@wide
def reference_logaddexp(x: Array, y: Array) -> Array:
    if x.dtype.kind != "c":
        return np.logaddexp(x, y)
    larger, smaller = np.where(x.real > y.real, [x, y], [y, x])
    return np.log(np.exp(smaller - larger) + 1) + larger
