"""Complex parts under batch: the batch axis is one more axis."""

from __future__ import annotations

from effax.effects.complex import (
    complex,
    conj,
    imag,
    real,
)
from effax.interpreters.batch.batched import elementwise

elementwise(real, imag, complex, conj)
