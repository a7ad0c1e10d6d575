"""Sorting in StableHLO."""

from __future__ import annotations

import math
from collections.abc import Sequence

from effax.backends.xla.lowering.elementwise import converted, whole_bytes
from effax.backends.xla.lowering.shape import listed
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.rows import comparison, sorting
from effax.effects.types import ShapedArray
from effax.interpreters.stage import stage


@rule(sorting.sort)
def lower_sort(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    dimension: int,
    is_stable: bool,
    num_keys: int,
) -> list[Name]:
    """The comparator is the order that `effects/rows/sorting.py` defines, staged on scalars."""
    operands = tuple(whole_bytes(w, x) for x in operands)
    scalars = [ShapedArray((), x.dtype) for x in operands]

    def compared(*values: Name) -> list[Name]:
        keys = values[: 2 * num_keys]
        order = stage(
            lambda *v: [sorting.before(v[::2], v[1::2])], [k.type for k in keys], "before"
        ).program
        return w.body(order, keys)

    region = w.region([t for t in scalars for _ in range(2)], compared, "stablehlo.return")
    ins = ", ".join(x.text for x in operands)
    sorted_types = [x.type for x in operands]
    outs = ", ".join(map(tensor, sorted_types))
    text = (
        f'"stablehlo.sort"({", ".join(operands)}) ({region}) {{dimension = {dimension} : i64, '
        f"is_stable = {str(is_stable).lower()}}} : ({ins}) -> ({outs})"
    )
    found = w.ops(text, sorted_types)
    return [converted(w, x, type) for x, type in zip(found, types, strict=True)]


@rule(sorting.top_k)
def lower_top_k(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    k: int,
    axis: int,
    recall: float | None = None,
) -> list[Name]:
    """`chlo.top_k` works on the last axis."""
    if recall is not None and w.platform == "tpu":
        return _approximate_top_k(w, x, k, axis, recall, types)
    last = len(x.shape) - 1
    if axis == last:
        return _top_k(w, x, k, types)
    swapped = list(range(last + 1))
    swapped[axis], swapped[last] = last, axis
    turned = _transposed(w, x, swapped)
    shape = tuple(types[0].shape[i] for i in swapped)
    results = _top_k(w, turned, k, [t.update(shape=shape) for t in types])
    return [_transposed(w, y, swapped) for y in results]


def _top_k(w: Writer, x: Name, k: int, types: Sequence[ShapedArray]) -> list[Name]:
    x = whole_bytes(w, x)
    made = [types[0].update(dtype=x.dtype), types[1]]
    outs = ", ".join(map(tensor, made))
    values, places = w.ops(f"chlo.top_k({x}, k = {k}) : {x.text} -> ({outs})", made)
    return [converted(w, values, types[0]), places]


def _approximate_top_k(
    w: Writer, x: Name, k: int, axis: int, recall: float, types: Sequence[ShapedArray]
) -> list[Name]:
    """XLA's for TPUs: the best of each of many bins, then the best of these (Chern et al. 2022)."""
    number, index = x.type.update(shape=()), types[1].update(shape=())
    element, place = tensor(number), tensor(index)
    order = stage(lambda x, y, *_: [comparison.gt(x, y)], [number, number, index, index], "greater")
    greater = w.function(order.program)
    everywhere = index.update(shape=x.shape)
    where = w.op(f"stablehlo.iota dim = {axis} : {tensor(everywhere)}", everywhere)
    least, none = w.constant(-math.inf, number), w.constant(-1, index)
    outs = ", ".join(map(tensor, types))
    return w.ops(
        f'stablehlo.custom_call @ApproxTopK({x}, {where}, {least}, {none}) {{backend_config = "", '
        f"called_computations = [@{greater}], mhlo.backend_config = {{aggregate_to_topk = true, "
        f"recall_target = {recall:e} : f32, reduction_dim = {axis} : i64, "
        f"reduction_input_size_override = -1 : i64, top_k = {k} : i64}}}} "
        f": ({x.text}, {where.text}, {element}, {place}) -> ({outs})",
        types,
    )


def _transposed(w: Writer, x: Name, permutation: Sequence[int]) -> Name:
    type = x.type.update(shape=tuple(x.shape[i] for i in permutation))
    return w.op(
        f"stablehlo.transpose {x}, dims = {listed(permutation)} : ({x.text}) -> {tensor(type)}",
        type,
    )
