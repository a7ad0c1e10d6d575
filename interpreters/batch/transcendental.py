"""Transcendental effects under batch: the batch axis is one more axis."""

from __future__ import annotations

from effax.effects.transcendental import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    logaddexp,
    logistic,
    sin,
    sinh,
    tan,
    tanh,
)
from effax.interpreters.batch.batched import elementwise

elementwise(exp, exp2, expm1, log, log1p, logistic, sin, cos, tan, asin, acos, atan, sinh)
elementwise(cosh, tanh, asinh, acosh, atanh, atan2, logaddexp)
