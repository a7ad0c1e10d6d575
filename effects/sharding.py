"""Shardings: how a value is to be cut up among devices, and programs that see one piece of it.

Meshes and specs are `effects.mesh`'s; what devices there are is known to a backend only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from effax.effects.effect import Effect
from effax.effects.types import ShapedArray

if TYPE_CHECKING:
    pass

FAMILY = "sharding"


def _constrained_type(x: ShapedArray, *, sharding: Any) -> ShapedArray:
    sharding.check_compatible_aval(x.shape)
    return x


with_sharding_constraint = Effect(
    "with_sharding_constraint", family=FAMILY, typing=_constrained_type
)
"""`with_sharding_constraint(x, sharding)`: x itself, cut up among devices as a sharding says."""
