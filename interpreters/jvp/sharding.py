"""Forward mode through placements of values: tangents lie where primals do."""

from __future__ import annotations

from typing import Any

from effax.effects.handler import Carrier
from effax.effects.rows import sharding
from effax.effects.rows.sharding import put
from effax.interpreters.functor.masks import pick
from effax.interpreters.jvp.dual import rule


@rule(put)
def put_jvp(primals: list[Any], tangents: list[Any], *, sharding: Any, back: Any) -> Any:
    """The way back for cotangents is to where the primal lies, which only its array says."""
    (x,), (dx,) = primals, tangents
    if back is None:
        back = getattr(x.concrete() if isinstance(x, Carrier) else x, "sharding", None)
    moved = put(x, sharding=sharding, back=back)
    return moved, None if dx is None else put(dx, sharding=sharding, back=back)


@rule(sharding.grouped)
def grouped_jvp(primals: list[Any], tangents: list[Any], *, group: tuple[int, ...]) -> Any:
    moving = [t is not None for t in tangents]
    alike = iter(sharding.grouped(*pick(tangents, moving, True), group=group))
    return sharding.grouped(*primals, group=group), [next(alike) if m else None for m in moving]
