"""Shardings in Shardy's dialect, over the one mesh of a module; on one device they say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects import sharding as effects
from effax.effects.types import ShapedArray


@rule(effects.with_sharding_constraint)
def lower_constraint(w: Writer, types: Sequence[ShapedArray], x: Name, *, sharding: Any) -> Name:
    if w.mesh is None:
        return x
    cut = w.mesh.of_spec(sharding.mesh, sharding.spec, len(x.shape))
    return w.op(f"sdy.sharding_constraint {x} {cut} : {x.text}", types[0])
