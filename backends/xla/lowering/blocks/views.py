"""Parts of memory: effects that move elements about, on views that are not loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.backends.xla.lowering.blocks.arithmetic import convert
from effax.backends.xla.lowering.blocks.writer import (
    INDEX,
    BlockWriter,
    Dim,
    Val,
    Value,
    View,
    lazy,
    rule,
)
from effax.effects.program import Program
from effax.effects.rows import control, custom, indexing, shape
from effax.effects.types import ShapedArray


@rule(shape.slice, table=lazy)
def view_slice(
    w: BlockWriter,
    types: Sequence[ShapedArray],
    x: Value,
    *,
    start: tuple[int, ...],
    limit: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Any:
    if not isinstance(x, View):
        return NotImplemented
    steps = strides or (1,) * len(start)
    parts = zip(x.kept, start, types[0].shape, steps, strict=True)
    return x.along(
        [
            attrs.evolve(d, start=d.start + s * d.stride, size=n, stride=d.stride * k)
            for d, s, n, k in parts
        ]
    )


def _moved(w: BlockWriter, d: Dim, start: Val, size: int, static: int | None) -> Dim:
    """A range of that size within a range, which begins at a value, clamped to what there is."""
    room = d.size - size
    if static is not None:
        at = max(0, min(static, room))
        return attrs.evolve(d, start=d.start + at * d.stride, size=size)
    if start.type is not INDEX:
        start = convert(w, start, INDEX)
    zero, top = w.constant(0, INDEX), w.constant(room, INDEX)
    at_least = w.simple("arith.maxsi", [start, zero], INDEX)
    inside = w.simple("arith.minsi", [at_least, top], INDEX)
    if d.stride != 1:
        inside = w.simple("arith.muli", [inside, w.constant(d.stride, INDEX)], INDEX)
    return attrs.evolve(d, terms=(*d.terms, inside), size=size)


def part_of(w: BlockWriter, x: View, starts: Sequence[Value], sizes: Sequence[int]) -> View:
    """The part of a view that begins at values."""
    moved = [
        _moved(w, d, w.val(s), n, 0 if d.size == n else None)
        for d, s, n in zip(x.kept, starts, sizes, strict=True)
    ]
    return x.along(moved)


@rule(indexing.dynamic_slice, table=lazy)
def view_dynamic_slice(
    w: BlockWriter,
    types: Sequence[ShapedArray],
    x: Value,
    *starts: Value,
    sizes: tuple[int, ...],
) -> Any:
    return part_of(w, x, starts, sizes) if isinstance(x, View) else NotImplemented


@rule(indexing.dynamic_update_slice, table=lazy)
def view_update(
    w: BlockWriter, types: Sequence[ShapedArray], x: Value, update: Value, *starts: Value
) -> Any:
    if not isinstance(x, View) or not x.memory.writable:
        return NotImplemented
    value = w.val(update)
    w.settle(x.memory)
    w.replace(part_of(w, x, starts, value.type.shape), value)
    return x


@rule(shape.reshape, table=lazy)
def view_reshape(
    w: BlockWriter, types: Sequence[ShapedArray], x: Value, *, shape: tuple[int, ...]
) -> Any:
    """Axes of length 1 may be dropped from a view."""
    if not isinstance(x, View) or len(shape) > len(x.kept):
        return NotImplemented
    wanted, dims = list(shape), list[Dim]()
    for d in x.dims:
        if d.kept and d.size == 1 and (not wanted or wanted[0] != 1 or _spare(x, dims, wanted)):
            d = attrs.evolve(d, kept=False)
        elif d.kept and (not wanted or wanted.pop(0) != d.size):
            return NotImplemented
        dims.append(d)
    return NotImplemented if wanted else attrs.evolve(x, dims=tuple(dims))


def _spare(x: View, dims: Sequence[Dim], wanted: Sequence[int]) -> bool:
    """Whether more axes of length 1 are left than wanted."""
    left = [d for d in x.dims[len(dims) :] if d.kept and d.size == 1]
    return len(left) > wanted.count(1)


@rule(shape.pad, table=lazy)
def view_pad(
    w: BlockWriter,
    types: Sequence[ShapedArray],
    x: Value,
    value: Value,
    *,
    config: tuple[tuple[int, int, int], ...],
) -> Any:
    """Room behind a whole axis of an array; loads beyond the end give 0, and nothing is stored."""
    if not isinstance(x, View) or not w.reaches:
        return NotImplemented
    block = x.memory.block
    lengths = [n for n, d in zip(block.array.shape, x.dims, strict=True) if d.kept]
    dims = []
    for d, n, (low, high, interior) in zip(x.kept, lengths, config, strict=True):
        if (low, high, interior) == (0, 0, 0):
            dims.append(d)
        elif low or interior or high < 0 or (d.start, d.terms, d.size, d.stride) != (0, (), n, 1):
            return NotImplemented
        else:
            dims.append(attrs.evolve(d, size=n + high, padded=True))
    return x.along(dims)


@rule(control.call, control.remat, custom.custom_jvp_call, custom.custom_vjp_call, table=lazy)
def inline(
    w: BlockWriter, types: Sequence[ShapedArray], *operands: Value, program: Program, **_: Any
) -> Any:
    given = [w.val(x) if isinstance(x, View) and x.memory.writable else x for x in operands]
    return w.run(program, given)
