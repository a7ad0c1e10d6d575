"""Forward mode of the shape family: each effect is linear, so the tangent goes the same way."""

from __future__ import annotations

from effax.effects import shape
from effax.interpreters.jvp.dual import fixed, linear

linear(
    shape.broadcast_in_dim,
    shape.transpose,
    shape.reshape,
    shape.concatenate,
    shape.pad,
    shape.rev,
    shape.slice,
)
fixed(shape.iota)
