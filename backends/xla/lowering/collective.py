"""Collectives in StableHLO, between the partitions of a mesh; and programs at many places.

`writer.axes` says which axes the module's mesh binds. Partitions are numbered row-major over the
mesh, so an axis is a stride and a length.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final

import attrs

from effax.backends.xla.divergence import refuse_divergence
from effax.backends.xla.lowering.elementwise import converted
from effax.backends.xla.lowering.writer import Name, NotMapped, Writer, rule, tensor, written
from effax.effects.dtypes import bit_width, position_dtype
from effax.effects.errors import UnboundAxisError
from effax.effects.program import Program
from effax.effects.rows import collective
from effax.effects.rows.reduction import reduce_sum
from effax.effects.rows.shape import cut_axis
from effax.effects.types import ShapedArray, bool_, is_float, uint32
from effax.interpreters.batch.parallel import as_batch
from effax.interpreters.composites.ragged_exchange import ragged_by_gathering


@attrs.frozen
class MeshAxis:
    """An axis of the mesh: how far apart its places are in the numbering, and how many."""

    stride: int
    size: int


def _groups(
    w: Writer, effect: Any, axes: Sequence[Hashable], within: Sequence[Sequence[int]] | None = None
) -> list[list[int]]:
    """The partitions that talk to each other, in the order of their places along the axes.

    Args:
      within: places along the axes that talk to each other only; None is all of them.
    """
    for name in axes:
        if name not in w.axes:
            raise UnboundAxisError.of(effect, name)
    inside = [w.axes[name] for name in axes]
    outside = [axis for name, axis in w.axes.items() if name not in axes]
    every = [_numbers(inside, start) for start in _numbers(outside, 0)]
    if within is None:
        return every
    if w.platform == "tpu" and len({len(group) for group in within}) > 1:
        raise NotImplementedError(
            f"{effect}: XLA's collectives on TPUs are among groups of one length, and "
            f"axis_index_groups is {within}; fill the groups up with places whose values are zero"
        )
    return [[row[i] for i in group] for row in every for group in within]


def _numbers(axes: Sequence[MeshAxis], start: int) -> list[int]:
    places = product(*(range(axis.size) for axis in axes))
    return [
        start + sum(i * axis.stride for i, axis in zip(place, axes, strict=True))
        for place in places
    ]


# One number for all, as in JAX: XLA does not merge equal collectives on two channels.
_CHANNEL: Final = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def _between(groups: list[list[int]]) -> str:
    return f"{_replicas(groups)}, {_CHANNEL}"


def _replicas(groups: list[list[int]]) -> str:
    longest = max(map(len, groups))
    padded = [[*group, *[-1] * (longest - len(group))] for group in groups]
    rows = ", ".join(f"[{', '.join(map(str, group))}]" for group in padded)
    text = f"dense<[{rows}]> : tensor<{len(groups)}x{longest}xi64>"
    return f"replica_groups = {text}"


def _alone(groups: list[list[int]]) -> bool:
    """Tell whether no place speaks to another one.

    In a program of one device XLA refuses collectives of two shapes on one channel, too.
    """
    return max(map(len, groups)) == 1


def _fold(operation: str, type: ShapedArray) -> str:
    one = tensor(type.update(shape=()))
    return (
        f"{{\n^bb0(%l: {one}, %r: {one}):\n%s = stablehlo.{operation} %l, %r : {one}\n"
        f"stablehlo.return %s : {one}\n}}"
    )


def _all_reduce(w: Writer, x: Name, groups: list[list[int]], operation: str) -> Name:
    return w.op(
        f'"stablehlo.all_reduce"({x}) <{{{_between(groups)}, use_global_device_ids}}> '
        f"({_fold(operation, x.type)}) : ({x.text}) -> {x.text}",
        x.type,
    )


def _reduction(effect: Any, operation: str) -> None:
    @rule(effect)
    def lower_all_reduce(
        w: Writer,
        types: Sequence[ShapedArray],
        x: Name,
        *,
        axes: Sequence[Hashable],
        axis_index_groups: Any = None,
    ) -> Name:
        groups = _groups(w, effect, axes, axis_index_groups)
        if _alone(groups):
            return x
        found = _all_reduce(w, x, groups, operation)
        if w.platform != "cpu" or operation == "add" or not is_float(x.dtype):
            return found
        # XLA's collectives between CPUs compare as C++ does, and lose NaN.
        bits = x.type.update(dtype=bool_, weak_type=False)
        nan = w.op(f"stablehlo.compare NE, {x}, {x} : ({x.text}, {x.text}) -> {tensor(bits)}", bits)
        some = _all_reduce(w, nan, groups, "or")
        return w.op(
            f"stablehlo.select {some}, {w.constant(float('nan'), x.type)}, {found} : "
            f"{tensor(bits)}, {x.text}",
            types[0],
        )


_reduction(collective.psum, "add")
_reduction(collective.pmax, "maximum")
_reduction(collective.pmin, "minimum")


@rule(collective.all_gather)
def lower_all_gather(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    axes: Any,
    axis: int,
    size: int,
    axis_index_groups: Any = None,
    shared: bool = False,
) -> Name:
    groups = _groups(w, collective.all_gather, axes, axis_index_groups)
    if _alone(groups):
        return x
    between = _between(groups)
    return w.op(
        f'"stablehlo.all_gather"({x}) <{{all_gather_dim = {axis} : i64, {between}, '
        f"use_global_device_ids}}> : ({x.text}) -> {tensor(types[0])}",
        types[0],
    )


@rule(collective.reduce_scatter)
def lower_reduce_scatter(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    axes: Any,
    axis: int,
    size: int,
    axis_index_groups: Any = None,
) -> Name:
    groups = _groups(w, collective.reduce_scatter, axes, axis_index_groups)
    if _alone(groups):
        return x
    if w.platform == "tpu" and bit_width(x.dtype) == 64:  # which their compiler does not know
        among = {"axes": axes, "size": size, "axis_index_groups": axis_index_groups}
        return w.performed(partial(_sum_of_pieces, axis=axis, **among), x)
    between = _between(groups)
    return w.op(
        f'"stablehlo.reduce_scatter"({x}) <{{scatter_dimension = {axis} : i64, {between}, '
        f"use_global_device_ids}}> ({_fold('add', x.type)}) : ({x.text}) -> {tensor(types[0])}",
        types[0],
    )


def _sum_of_pieces(x: Any, *, axis: int, size: int, **among: Any) -> Any:
    """A `reduce_scatter` by an exchange of the pieces."""
    pieces = collective.all_to_all(x, split=axis, concat=axis, size=size, **among)
    return reduce_sum(cut_axis(pieces, axis, size), axes=(axis,))


@rule(collective.all_to_all)
def lower_all_to_all(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    axes: Any,
    split: int,
    concat: int,
    size: int,
    axis_index_groups: Any = None,
) -> Name:
    groups = _groups(w, collective.all_to_all, axes, axis_index_groups)
    if _alone(groups):
        return x
    between = _between(groups)
    return w.op(
        f'"stablehlo.all_to_all"({x}) <{{split_dimension = {split} : i64, '
        f"concat_dimension = {concat} : i64, split_count = {size} : i64, {between}}}> "
        f": ({x.text}) -> {tensor(types[0])}",
        types[0],
    )


@rule(collective.ragged_all_to_all)
def lower_ragged_all_to_all(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, **attributes: Any
) -> Name:
    """An operation of GPUs and TPUs, where the rows are of a dtype that these have themselves.

    For CPUs XLA has none, and it refuses slices of more than 16 chips of TPU v5e, which don't reach
    each other directly.
    """
    (type,) = types
    *vectors, rows, output = operands
    within = attributes.get("axis_index_groups")
    groups = _groups(w, collective.ragged_all_to_all, attributes["axes"], within)
    far = w.mesh is not None and w.mesh.kind == "TPU v5 lite" and w.mesh.size > 16
    widest = 32 if w.platform == "tpu" else 128
    known = 8 <= bit_width(type.dtype) <= widest and 0 not in (*rows.shape, *type.shape)
    if w.platform == "cpu" or far or not known or _alone(groups):
        return w.performed(partial(ragged_by_gathering, **attributes), *operands)
    counted = position_dtype(rows.shape[0], type.shape[0])
    vectors = [converted(w, v, v.type.update(dtype=counted)) for v in vectors]
    given = [rows, output, *vectors]
    return w.op(
        f"stablehlo.custom_call @ragged_all_to_all({', '.join(map(str, given))}) "
        f"{{api_version = 4 : i32, backend_config = {{{_replicas(groups)}, channel_id = 1 : i64}}}}"
        f" : ({', '.join(x.text for x in given)}) -> {tensor(type)}",
        type,
    )


@rule(collective.ppermute)
def lower_ppermute(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, axes: Any, perm: Any, size: int
) -> Name:
    groups = _groups(w, collective.ppermute, axes)
    if not perm:
        return w.constant(0, types[0])
    if _alone(groups):
        return x
    pairs = [(group[s], group[d]) for group in groups for s, d in perm]
    rows = ", ".join(f"[{s}, {d}]" for s, d in pairs)
    return w.op(
        f'"stablehlo.collective_permute"({x}) <{{source_target_pairs = dense<[{rows}]> : '
        f"tensor<{len(pairs)}x2xi64>, {_CHANNEL}}}> : ({x.text}) -> {tensor(types[0])}",
        types[0],
    )


@rule(collective.axis_index)
def lower_axis_index(w: Writer, types: Sequence[ShapedArray], *, axes: Any) -> Name:
    _groups(w, collective.axis_index, axes)
    axis: MeshAxis = w.axes[axes[0]]
    if axis.size == 1:
        return w.constant(0, types[0])
    unsigned = ShapedArray((), uint32)
    number = w.op(_partition(w), unsigned)
    along = w.simple("divide", [number, w.constant(axis.stride, unsigned)], unsigned)
    place = w.simple("remainder", [along, w.constant(axis.size, unsigned)], unsigned)
    return w.simple("convert", [place], types[0])


@rule(collective.pvary)
def lower_pvary(w: Writer, types: Sequence[ShapedArray], x: Name, *, axes: Any) -> Name:
    return x


def _partition(w: Writer) -> str:
    """The number of this place. XLA knows it only where a program is mapped over all axes."""
    number = "stablehlo.partition_id : tensor<ui32>"
    others = [
        label
        for name, axis in w.axes.items()
        if type(name) is NotMapped and w.mesh is not None and axis.size > 1
        for label in w.mesh.labels([(axis.stride, axis.size)])
    ]
    if not others:
        return number
    axes = ", ".join(f'"{label}"' for label in others)
    return (
        "sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] "
        f"manual_axes={{{axes}}} () {{\n%n = {number}\nsdy.return %n : tensor<ui32>\n}} "
        ": () -> tensor<ui32>"
    )


@rule(collective.parallel)
def lower_parallel(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    program: Program,
    mapped: tuple[bool, ...],
    size: int,
    binds: Any,
    **_: Any,
) -> list[Name]:
    """Inside a program for one device, or one place of a mesh, the places are a batch."""
    return w.body(as_batch(program, mapped, size, binds[0]), operands)


def mesh_text(
    program: Program,
    mapped: Sequence[bool],
    axes: dict[Any, int],
    platform: str,
    located: bool = False,
) -> tuple[str, list[Any]]:
    """The module that runs a program at each place of a mesh, and the host functions it calls.

    `axes` are the mesh's axes with their lengths, the last one varying fastest. Operands marked
    `mapped` have one row for each place along a new first axis; results too.
    """
    refuse_divergence(program, axes)
    return written(lambda w: _write_mesh(w, program, mapped, axes), platform, located)


def _write_mesh(w: Writer, program: Program, mapped: Sequence[bool], axes: dict[Any, int]) -> str:
    w.taken.add("main")
    stride = prod(axes.values())
    for name, length in axes.items():
        stride //= length
        w.axes[name] = MeshAxis(stride, length)
    labels = [f"a{i}" for i in range(len(axes))]
    count = prod(axes.values())
    all_axes = ", ".join(f'"{label}"' for label in labels)
    function = w.function(program, "place")
    ins = [
        t.update(shape=(count, *t.shape)) if m else t
        for t, m in zip(program.in_types, mapped, strict=True)
    ]
    outs = [t.update(shape=(count, *t.shape)) for t in program.out_types]
    in_shardings = [_sharding(t, all_axes if m else "") for t, m in zip(ins, mapped, strict=True)]
    out_shardings = [_sharding(t, all_axes) for t in outs]
    rows_in = [
        t.update(shape=(1, *t.shape[1:])) if m else t for t, m in zip(ins, mapped, strict=True)
    ]
    rows_out = [t.update(shape=(1, *t.shape)) for t in program.out_types]
    lines: list[str] = []
    values = []
    for i, (row, t, m) in enumerate(zip(rows_in, program.in_types, mapped, strict=True)):
        if m:
            lines.append(f"%v{i} = stablehlo.reshape %r{i} : ({tensor(row)}) -> {tensor(t)}")
        values.append(f"%v{i}" if m else f"%r{i}")
    signature = f"({_types(program.in_types)}) -> ({_types(program.out_types)})"
    n = len(outs)
    call = f"func.call @{function}({', '.join(values)}) : {signature}"
    if w.locations is not None:
        call += w.locations.named(f"pmap({program.name})")
    lines.append(f"%o:{n} = {call}" if n else call)
    for i, (t, row) in enumerate(zip(program.out_types, rows_out, strict=True)):
        lines.append(f"%s{i} = stablehlo.reshape %o#{i} : ({tensor(t)}) -> {tensor(row)}")
    returned = ", ".join(f"%s{i}" for i in range(n))
    lines.append(f"sdy.return {returned} : {_types(rows_out)}" if n else "sdy.return")
    heads = ", ".join(f"%r{i}: {tensor(t)}" for i, t in enumerate(rows_in))
    prefix = f"%out:{n} = " if n else ""
    names = ", ".join(f"%a{i}" for i in range(len(ins)))
    returns = ", ".join(f"%out#{i}" for i in range(n))
    body = "\n".join(
        [
            f"{prefix}sdy.manual_computation({names}) in_shardings=[{_bare(in_shardings)}] "
            f"out_shardings=[{_bare(out_shardings)}] manual_axes={{{all_axes}}} ({heads}) {{",
            *lines,
            f"}} : ({_types(ins)}) -> ({_types(outs)})",
            f"return {returns} : {_types(outs)}" if n else "return",
        ]
    )
    arguments = ", ".join(
        f"%a{i}: {tensor(t)} {{sdy.sharding = #sdy.sharding{s}}}"
        for i, (t, s) in enumerate(zip(ins, in_shardings, strict=True))
    )
    results = ", ".join(
        f"{tensor(t)} {{sdy.sharding = #sdy.sharding{s}}}"
        for t, s in zip(outs, out_shardings, strict=True)
    )
    shape = ", ".join(
        f'"{label}"={length}' for label, length in zip(labels, axes.values(), strict=True)
    )
    w.functions.insert(0, f"sdy.mesh @mesh = <[{shape}]>")
    w.module_attributes += [
        f"mhlo.num_partitions = {count} : i32",
        "mhlo.num_replicas = 1 : i32",
    ]
    main = f"func.func public @main({arguments}) -> ({results}) {{\n{body}\n}}"
    return w.module(main, w._name(f"pmap_{program.name}"))


def _types(types: Sequence[ShapedArray]) -> str:
    return ", ".join(map(tensor, types))


def _sharding(type: ShapedArray, leading: str) -> str:
    axes = ["{" + leading + "}" if leading and i == 0 else "{}" for i in range(len(type.shape))]
    return f"<@mesh, [{', '.join(axes)}]>"


def _bare(shardings: Sequence[str]) -> str:
    return ", ".join(shardings)
