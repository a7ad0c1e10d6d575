"""Indexing in StableHLO. Its gather clamps indices, its scatter drops those outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla.lowering.elementwise import (
    alone_in_bytes,
    as_bits,
    converted,
    is_gpu,
    is_narrow,
    known_bits,
    maximum,
    minimum,
    of_bits,
    whole_bytes,
    with_piece,
)
from effax.backends.xla.lowering.reduction import Combine, plain
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.rows import indexing
from effax.effects.rows.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    batch_dims,
    fill_default,
    window_sizes,
)
from effax.effects.types import ShapedArray, iinfo, position_dtype
from effax.effects.value import is_symbolic

_PRED: Final = np.dtype(np.bool_)
_WIDE: Final = {"int32": np.int32, "int64": np.int64, "uint32": np.int64, "uint64": np.int64}


@rule(indexing.gather)
def lower_gather(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    indices: Name,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    mode: GatherScatterMode,
    fill_value: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Name:
    (type,) = types
    if 0 in type.shape:
        return w.constant(0, type)
    (indices,) = _wide_enough(w, x, indices)
    dims = _fields(
        offset_dims=dimension_numbers.offset_dims,
        collapsed_slice_dims=dimension_numbers.collapsed_slice_dims,
        operand_batching_dims=dimension_numbers.operand_batching_dims,
        start_indices_batching_dims=dimension_numbers.start_indices_batching_dims,
        start_index_map=dimension_numbers.start_index_map,
    )
    if is_symbolic(slice_sizes):
        found = _dynamic_gather(w, type, x, indices, dims, slice_sizes, indices_are_sorted)
    else:
        found = _gather(w, type, x, indices, dims, slice_sizes, indices_are_sorted)
    if mode is not GatherScatterMode.FILL_OR_DROP or not dimension_numbers.start_index_map:
        return found
    bounds = [x.shape[i] - slice_sizes[i] for i in dimension_numbers.start_index_map]
    inside = _inside(w, indices, bounds)
    dims_of_mask = batch_dims(len(type.shape), dimension_numbers.offset_dims)
    mask = _broadcast(w, inside, type.shape, dims_of_mask)
    fill = w.constant(fill_default(type.dtype) if fill_value is None else fill_value, type)
    return w.op(f"stablehlo.select {mask}, {found}, {fill} : {mask.text}, {tensor(type)}", type)


def _gather(
    w: Writer,
    type: ShapedArray,
    x: Name,
    indices: Name,
    dims: str,
    slice_sizes: Sequence[int],
    indices_are_sorted: bool,
) -> Name:
    last = len(indices.shape) - 1
    sizes = ", ".join(map(str, slice_sizes))
    slices = f"array<i64: {sizes}>" if sizes else "array<i64>"
    x = known_bits(x)
    found = w.op(
        f'"stablehlo.gather"({x}, {indices}) <{{dimension_numbers = #stablehlo.gather<{dims}'
        f"index_vector_dim = {last}>, slice_sizes = {slices}, "
        f"indices_are_sorted = {_bool(indices_are_sorted)}}}> : "
        f"({x.text}, {indices.text}) -> {tensor(type.update(dtype=x.dtype))}",
        type.update(dtype=x.dtype),
    )
    return of_bits(w, found, type)


def _dynamic_gather(
    w: Writer,
    type: ShapedArray,
    x: Name,
    indices: Name,
    dims: str,
    slice_sizes: Sequence[int],
    indices_are_sorted: bool,
) -> Name:
    last = len(indices.shape) - 1
    sizes = w.symbolic.vector(w, slice_sizes)
    return w.op(
        f'"stablehlo.dynamic_gather"({x}, {indices}, {sizes}) <{{dimension_numbers = '
        f"#stablehlo.gather<{dims}index_vector_dim = {last}>, "
        f"indices_are_sorted = {_bool(indices_are_sorted)}}}> : "
        f"({x.text}, {indices.text}, {sizes.text}) -> {tensor(type)}",
        type,
    )


def _wide_enough(w: Writer, x: Name, *indices: Name) -> tuple[Name, ...]:
    """Indices in a dtype that holds the lengths of the array's axes.

    XLA compares an index with the last place of its axis in the dtype of the index: one that
    doesn't fit is another number there, and what is written lies outside the buffer.
    """
    dtype = position_dtype(*x.shape)
    if is_symbolic(x.shape):
        if indices[0].dtype.itemsize >= dtype.itemsize:
            return indices
    elif max(x.shape) <= iinfo(indices[0].dtype).max:
        return indices
    return tuple(w.simple("convert", [i], i.type.update(dtype=dtype)) for i in indices)


def _inside(w: Writer, indices: Name, bounds: Sequence[int]) -> Name:
    """Return whether each index lies between zero and the bounds in every component."""
    wide = np.dtype(_WIDE.get(indices.dtype.name, np.int32))
    if indices.dtype != wide:
        indices = w.simple("convert", [indices], indices.type.update(dtype=wide))
    lower = w.constant(0, indices.type)
    upper = _bounds(w, indices, bounds)
    pred = indices.type.update(dtype=_PRED)
    above = _compare(w, "GE", indices, lower, pred)
    below = _compare(w, "LE", indices, upper, pred)
    both = w.op(f"stablehlo.and {above}, {below} : {tensor(pred)}", pred)
    result = ShapedArray(pred.shape[:-1], _PRED)
    true = w.constant(True, ShapedArray((), _PRED))
    return w.op(
        f"stablehlo.reduce({both} init: {true}) applies stablehlo.and across dimensions = "
        f"[{len(pred.shape) - 1}] : ({tensor(pred)}, {true.text}) -> {tensor(result)}",
        result,
    )


def _bounds(w: Writer, indices: Name, bounds: Sequence[int]) -> Name:
    """The bounds as an array beside the indices, as large as their dtype allows."""
    largest = np.iinfo(indices.dtype).max
    if is_symbolic(bounds):
        row = w.symbolic.vector(w, bounds, indices.dtype)
    else:
        row = w.array(np.array([min(b, largest) for b in bounds], indices.dtype))
    return _broadcast(w, row, indices.shape, (len(indices.shape) - 1,))


def _compare(w: Writer, direction: str, x: Name, y: Name, pred: ShapedArray) -> Name:
    return w.op(
        f"stablehlo.compare {direction}, {x}, {y}, SIGNED : ({x.text}, {y.text}) -> {tensor(pred)}",
        pred,
    )


def _broadcast(w: Writer, x: Name, shape: tuple[int, ...], dims: Sequence[int]) -> Name:
    type = x.type.update(shape=shape)
    if type is x.type:
        return x
    if is_symbolic(shape):
        return w.symbolic.broadcast(w, x, type, dims)
    return w.op(
        f"stablehlo.broadcast_in_dim {x}, dims = [{', '.join(map(str, dims))}] : "
        f"({x.text}) -> {tensor(type)}",
        type,
    )


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _fields(**fields: Sequence[int]) -> str:
    """The non-empty fields of a dimension-numbers attribute, each with a comma after it."""
    return "".join(f"{k} = [{', '.join(map(str, v))}], " for k, v in fields.items() if v)


_COMBINE: Final = {
    indexing.scatter: None,
    indexing.scatter_add: plain("add"),
    indexing.scatter_mul: plain("multiply"),
    indexing.scatter_min: minimum,
    indexing.scatter_max: maximum,
}


def _lower_scatter(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    indices: Name,
    updates: Name,
    combine: Combine | None,
    dimension_numbers: ScatterDimensionNumbers,
    mode: GatherScatterMode,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Name:
    (type,) = types
    if 0 in updates.shape or 0 in type.shape:
        return x
    (indices,) = _wide_enough(w, x, indices)
    if mode is GatherScatterMode.CLIP and dimension_numbers.scatter_dims_to_operand_dims:
        sizes = window_sizes(len(x.shape), updates.shape, dimension_numbers)
        places = dimension_numbers.scatter_dims_to_operand_dims
        upper = _bounds(w, indices, [x.shape[i] - sizes[i] for i in places])
        lower = w.constant(0, indices.type)
        indices = w.simple("clamp", [lower, indices, upper], indices.type)
    dims = _fields(
        update_window_dims=dimension_numbers.update_window_dims,
        inserted_window_dims=dimension_numbers.inserted_window_dims,
        input_batching_dims=dimension_numbers.operand_batching_dims,
        scatter_indices_batching_dims=dimension_numbers.scatter_indices_batching_dims,
        scatter_dims_to_operand_dims=dimension_numbers.scatter_dims_to_operand_dims,
    )
    scalar = ShapedArray((), type.dtype)
    x = as_bits(w, x)
    updates = of_bits(w, updates, updates.type.update(dtype=x.dtype))
    bits = ShapedArray((), x.dtype)

    def write(there: Name, update: Name) -> list[Name]:
        if combine is None:
            return [update]
        found = combine(w, of_bits(w, there, scalar), of_bits(w, update, scalar))
        return [of_bits(w, found, bits)]

    region = w.region((bits, bits), write, "stablehlo.return")
    written = w.op(
        f'"stablehlo.scatter"({x}, {indices}, {updates}) <{{scatter_dimension_numbers = '
        f"#stablehlo.scatter<{dims}index_vector_dim = {len(indices.shape) - 1}>, "
        f"indices_are_sorted = {_bool(indices_are_sorted)}, "
        f"unique_indices = {_bool(unique_indices)}}}> ({region}) : "
        f"({x.text}, {indices.text}, {updates.text}) -> {x.text}",
        x.type,
    )
    return of_bits(w, written, type)


def _scatter_rule(combine: Combine | None) -> Any:
    def lower_scatter(
        w: Writer,
        types: Sequence[ShapedArray],
        x: Name,
        indices: Name,
        updates: Name,
        **attributes: Any,
    ) -> Name:
        return _lower_scatter(w, types, x, indices, updates, combine, **attributes)

    return lower_scatter


for _effect, _operation in _COMBINE.items():
    rule(_effect)(_scatter_rule(_operation))


@rule(indexing.dynamic_slice)
def lower_dynamic_slice(
    w: Writer, types: Sequence[ShapedArray], x: Name, *starts: Name, sizes: tuple[int, ...]
) -> Name:
    (type,) = types
    if not sizes:
        return x
    starts = _wide_enough(w, x, *starts)
    if is_symbolic(sizes):
        return w.symbolic.part(w, x, starts, type)
    x = alone_in_bytes(w, known_bits(x), sizes)
    piece = type.update(dtype=x.dtype)
    operands = ", ".join([x, *starts])
    ins = ", ".join(n.text for n in (x, *starts))
    found = w.op(
        f"stablehlo.dynamic_slice {operands}, sizes = [{', '.join(map(str, sizes))}] : "
        f"({ins}) -> {tensor(piece)}",
        piece,
    )
    return of_bits(w, found, type) if is_narrow(w, type) else converted(w, found, type)


@rule(indexing.dynamic_update_slice)
def lower_dynamic_update_slice(
    w: Writer, types: Sequence[ShapedArray], x: Name, update: Name, *starts: Name
) -> Name:
    if not starts:
        return update
    starts = _wide_enough(w, x, *starts)
    if is_gpu(w):
        x, update = whole_bytes(w, x), whole_bytes(w, update)
    updated = with_piece(w, x, update, starts)
    return converted(w, updated, types[0])
