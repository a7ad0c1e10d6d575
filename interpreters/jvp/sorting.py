"""Forward mode of sorting: tangents go where their elements go."""

from __future__ import annotations

from typing import Any

from effax.effects.dtypes import position_dtype
from effax.effects.rows import shape, sorting
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import rule


@rule(sorting.sort, pure=True)
def sort_jvp(
    primals: list[Any], tangents: list[Any], *, dimension: int, is_stable: bool, num_keys: int
) -> Any:
    """Positions are sorted along with the elements; tangents are taken from there."""
    attributes = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
    if all(t is None for t in tangents):
        return sorting.sort(*primals, **attributes), [None] * len(primals)
    lengths = typeof(primals[0]).shape
    dtype = position_dtype(lengths[dimension])
    positions = shape.iota(dtype=dtype, shape=lengths, dimension=dimension)
    *results, places = sorting.sort(*primals, positions, **attributes)
    return results, [
        None if t is None else sorting.take_along(t, places, dimension) for t in tangents
    ]


@rule(sorting.top_k, pure=True)
def top_k_jvp(primals: list[Any], tangents: list[Any], *, axis: int, **how: Any) -> Any:
    (x,), (dx,) = primals, tangents
    values, places = sorting.top_k(x, axis=axis, **how)
    tangent = None if dx is None else sorting.take_along(dx, places, axis)
    return [values, places], [tangent, None]
