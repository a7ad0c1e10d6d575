"""Transposition of the indexing family: reading becomes adding, writing becomes reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import elementwise, indexing
from effax.effects.rows.indexing import gather_dims, scatter_dims, window_sizes
from effax.effects.types import typeof
from effax.interpreters.transpose.linear import Linear, instantiate, is_linear, rule, value_type


@rule(indexing.gather, fixed=(1,))
def gather_transpose(
    ct: Any,
    x: Linear,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: tuple[int, ...],
    fill_value: Any,
    **attributes: Any,
) -> Sequence[Any]:
    """Each place gets the sum of what was read from it."""
    blank = instantiate(None, x.type)
    dims = scatter_dims(dimension_numbers)
    return indexing.scatter_add(blank, indices, ct, dimension_numbers=dims, **attributes), None


def _read(ct: Any, indices: Any, updates: Any, *, dimension_numbers: Any, **attributes: Any) -> Any:
    """The cotangents at the places where the updates went."""
    return indexing.gather(
        ct,
        indices,
        dimension_numbers=gather_dims(dimension_numbers),
        slice_sizes=window_sizes(typeof(ct).ndim, value_type(updates).shape, dimension_numbers),
        fill_value=0,
        **attributes,
    )


@rule(indexing.scatter_add)
def scatter_add_transpose(
    ct: Any, x: Any, indices: Any, updates: Any, **attributes: Any
) -> Sequence[Any]:
    update_ct = _read(ct, indices, updates, **attributes) if is_linear(updates) else None
    return (ct if is_linear(x) else None), None, update_ct


@rule(indexing.scatter)
def scatter_transpose(
    ct: Any, x: Any, indices: Any, updates: Any, **attributes: Any
) -> Sequence[Any]:
    """Return the cotangents of a scatter; overwritten elements get zero."""
    if not attributes["unique_indices"] and value_type(updates).size > 1:
        raise NotImplementedError(
            "scatter is transposed only where no index repeats; in that case pass "
            "unique_indices=True"
        )
    x_ct = update_ct = None
    if is_linear(x):
        blank = instantiate(None, value_type(updates))
        x_ct = indexing.scatter(ct, indices, blank, **attributes)
    if is_linear(updates):
        update_ct = _read(ct, indices, updates, **attributes)
    return x_ct, None, update_ct


@rule(indexing.scatter_mul, one=True)
def scatter_mul_transpose(
    ct: Any, x: Any, indices: Any, updates: Any, **attributes: Any
) -> Sequence[Any]:
    """Linear in the operand: the cotangents are multiplied by the same updates."""
    if is_linear(updates):
        factor = elementwise.mul(ct, x)
        return None, None, _read(factor, indices, updates, **attributes)
    return indexing.scatter_mul(ct, indices, updates, **attributes), None, None


@rule(indexing.dynamic_slice)
def dynamic_slice_transpose(
    ct: Any, x: Linear, *starts: Any, sizes: tuple[int, ...]
) -> Sequence[Any]:
    blank = instantiate(None, x.type)
    return indexing.dynamic_update_slice(blank, ct, *starts), *(None for _ in starts)


@rule(indexing.dynamic_update_slice)
def dynamic_update_slice_transpose(ct: Any, x: Any, update: Any, *starts: Any) -> Sequence[Any]:
    x_ct = update_ct = None
    if is_linear(x):
        blank = instantiate(None, value_type(update))
        x_ct = indexing.dynamic_update_slice(ct, blank, *starts)
    if is_linear(update):
        update_ct = indexing.dynamic_slice(ct, *starts, sizes=value_type(update).shape)
    return x_ct, update_ct, *(None for _ in starts)
