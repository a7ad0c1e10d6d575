"""Shardings say where values lie, not which they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.evaluate import run
from effax.backends.reference.table import rule
from effax.effects.rows.sharding import (
    grouped,
    opened,
    put,
    reshard,
    shard_map,
    with_sharding_constraint,
)
from effax.interpreters.places.sharding import in_blocks

Array = np.ndarray[Any, Any]


@rule(with_sharding_constraint, reshard, opened, put)
def reference_constraint(x: Array, **_: Any) -> Array:
    return x


@rule(grouped)
def reference_grouped(*xs: Array, group: tuple[int, ...]) -> list[Array]:
    return list(xs)


@rule(shard_map)
def reference_shard_map(*operands: Array, name: str, **attributes: Any) -> list[Array]:
    """One place after the other: a batch of blocks."""
    return run(in_blocks(**attributes), operands)
