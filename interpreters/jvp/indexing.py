"""Derivatives of the indexing family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import comparison, elementwise, indexing, selection, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    batch_dims,
    gather_dims,
    window_sizes,
)
from effax.effects.types import is_complex, real_dtype, typeof, uint32
from effax.interpreters.jvp.dual import rule, tangent_type, total, zeros, zeros_like


def _tangent(value: Any, tangent: Any) -> Any:
    return zeros_like(value) if tangent is None else tangent


@rule(indexing.gather, pure=True)
def gather_jvp(
    primals: list[Any], tangents: list[Any], *, fill_value: Any, **attributes: Any
) -> Any:
    """Linear in the operand; what is filled in does not move."""
    (x, indices), (dx, _) = primals, tangents
    primal = indexing.gather(x, indices, fill_value=fill_value, **attributes)
    if dx is None:
        return primal, None
    return primal, indexing.gather(dx, indices, fill_value=0, **attributes)


@rule(indexing.scatter_add, pure=True)
def scatter_add_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """Linear in operand and updates together."""
    (x, indices, updates), (dx, _, du) = primals, tangents
    primal = indexing.scatter_add(x, indices, updates, **attributes)
    if du is None:
        return primal, dx
    return primal, indexing.scatter_add(_tangent(x, dx), indices, du, **attributes)


@rule(indexing.scatter, pure=True)
def scatter_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """Linear in operand and updates, once it is known which of the updates came last."""
    (x, indices, updates), (dx, _, du) = primals, tangents
    primal = indexing.scatter(x, indices, updates, **attributes)
    if dx is None and du is None:
        return primal, None
    dx, du = _tangent(x, dx), _tangent(updates, du)
    if attributes["unique_indices"] or typeof(updates).size <= 1:
        return primal, indexing.scatter(dx, indices, du, **attributes)
    untouched, last = _survivors(x, indices, updates, **attributes)
    dx = selection.select_n(untouched, zeros(typeof(dx)), dx)
    du = selection.select_n(last, zeros(typeof(du)), du)
    return primal, indexing.scatter_add(dx, indices, du, **attributes)


def _survivors(x: Any, indices: Any, updates: Any, **attributes: Any) -> tuple[Any, Any]:
    """Return the masks of x's elements that a scatter keeps, and of the updates that remain.

    Found by scattering the updates' serial numbers, and reading them back.
    """
    type = typeof(updates)
    dims: ScatterDimensionNumbers = attributes["dimension_numbers"]
    batch = batch_dims(type.ndim, dims.update_window_dims)
    count = 1
    for i in batch:
        count *= type.shape[i]
    serial = elementwise.add(shape.iota(dtype=uint32, shape=(count,), dimension=0), 1)
    serial = shape.reshape(serial, shape=tuple(type.shape[i] for i in batch))
    serial = shape.broadcast_in_dim(serial, shape=type.shape, dims=batch)
    blank = shape.full(typeof(x).shape, 0, uint32)
    written = indexing.scatter(blank, indices, serial, **attributes)
    read = _read_back(written, indices, type.shape, **attributes)
    return comparison.eq(written, 0), comparison.eq(read, serial)


def _read_back(
    x: Any,
    indices: Any,
    update_shape: Sequence[int],
    *,
    dimension_numbers: ScatterDimensionNumbers,
    mode: GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    """Gather the elements at the places that a scatter of such updates writes; zero outside."""
    dims: GatherDimensionNumbers = gather_dims(dimension_numbers)
    return indexing.gather(
        x,
        indices,
        dimension_numbers=dims,
        slice_sizes=window_sizes(typeof(x).ndim, update_shape, dimension_numbers),
        mode=mode,
        fill_value=0,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )


@rule(indexing.scatter_mul, pure=True)
def scatter_mul_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """The product rule, which needs each element to be multiplied once."""
    (x, indices, updates), (dx, _, du) = primals, tangents
    primal = indexing.scatter_mul(x, indices, updates, **attributes)
    terms = []
    if dx is not None:
        terms.append(indexing.scatter_mul(dx, indices, updates, **attributes))
    if du is not None:
        if not attributes["unique_indices"] and typeof(updates).size > 1:
            raise NotImplementedError(
                "scatter_mul has a derivative with respect to its updates only where no index "
                "repeats; in that case pass unique_indices=True"
            )
        factor = indexing.scatter_add(zeros_like(x), indices, du, **attributes)
        terms.append(elementwise.mul(x, factor))
    return primal, total(terms)


@rule(indexing.scatter_min, pure=True)
def scatter_min_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    return _extremum_jvp(indexing.scatter_min, primals, tangents, **attributes)


@rule(indexing.scatter_max, pure=True)
def scatter_max_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    return _extremum_jvp(indexing.scatter_max, primals, tangents, **attributes)


def _extremum_jvp(effect: Any, primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """The mean of the tangents of all that reach the extremum, the old value among them."""
    (x, indices, updates), (dx, _, du) = primals, tangents
    primal = effect(x, indices, updates, **attributes)
    if dx is None and du is None:
        return primal, None
    dx, du = _tangent(x, dx), _tangent(updates, du)
    type, update_type = tangent_type(typeof(x)), tangent_type(typeof(updates))
    reached = _read_back(primal, indices, update_type.shape, **attributes)
    one, one_update = (shape.full(t.shape, 1, real_dtype(t.dtype)) for t in (type, update_type))
    nothing, no_update = zeros(typeof(one)), zeros(typeof(one_update))
    kept = selection.select_n(comparison.eq(x, primal), nothing, one)
    won = selection.select_n(comparison.eq(updates, reached), no_update, one_update)
    many = indexing.scatter_add(kept, indices, won, **attributes)
    # Where nothing is written, the old value is the only contender.
    many = elementwise.max(many, 1)
    if is_complex(type.dtype):
        kept, won, many = (convert_element_type(n, dtype=type.dtype) for n in (kept, won, many))
    dx = elementwise.mul(dx, kept)
    du = elementwise.mul(du, won)
    return primal, elementwise.div(indexing.scatter_add(dx, indices, du, **attributes), many)


@rule(indexing.dynamic_slice, pure=True)
def dynamic_slice_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """Linear in the operand."""
    x, *starts = primals
    primal = indexing.dynamic_slice(x, *starts, **attributes)
    if tangents[0] is None:
        return primal, None
    return primal, indexing.dynamic_slice(tangents[0], *starts, **attributes)


@rule(indexing.dynamic_update_slice, pure=True)
def dynamic_update_slice_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """Linear in operand and update together."""
    x, update, *starts = primals
    dx, du = tangents[:2]
    primal = indexing.dynamic_update_slice(x, update, *starts)
    if dx is None and du is None:
        return primal, None
    return primal, indexing.dynamic_update_slice(_tangent(x, dx), _tangent(update, du), *starts)
