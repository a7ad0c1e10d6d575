"""Shardings in Shardy's dialect, over the one mesh of a module; on one device they say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.divergence import refuse_divergence
from effax.backends.xla.layout import ModuleMesh
from effax.backends.xla.lowering.collective import MeshAxis
from effax.backends.xla.lowering.writer import Name, NotMapped, Writer, rule, tensor
from effax.effects.mesh import PartitionSpec
from effax.effects.program import Program, Variable
from effax.effects.rows import sharding as effects
from effax.effects.types import ShapedArray
from effax.interpreters.functor.masks import pick


@rule(effects.with_sharding_constraint)
def lower_constraint(w: Writer, types: Sequence[ShapedArray], x: Name, *, sharding: Any) -> Name:
    if w.mesh is None or (w.axes and not w.is_partly_mapped):
        return x
    cut = w.mesh.of_sharding(sharding, len(x.shape))
    return w.op(f"sdy.sharding_constraint {x} {cut} : {x.text}", types[0])


@rule(effects.reshard)
def lower_reshard(w: Writer, types: Sequence[ShapedArray], x: Name, *, sharding: Any) -> Name:
    """As the type of the result says, where other axes are the compiler's to cut along."""
    if w.mesh is None or (w.axes and not w.is_partly_mapped):
        return x
    cut = w.mesh.of_entries(sharding.mesh, sharding.ranked(len(x.shape)).spec)
    return w.op(f"sdy.sharding_constraint {x} {cut} : {x.text}", types[0])


@rule(effects.grouped)
def lower_grouped(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, group: Any
) -> list[Name]:
    """Groups are numbered in the order in which they come, so that equal programs are one text."""
    if w.mesh is not None and not w.axes:
        number = w.sharding_groups.setdefault(group, len(w.sharding_groups))
        for x in operands:
            w.lines.append(f"sdy.sharding_group {x} group_id={number} : {x.text}")
    return list(operands)


@rule(effects.put)
def lower_put(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, sharding: Any, back: Any
) -> Name:
    """A program stays on its devices: a constraint, or nothing where one device is named."""
    if sharding.placement().is_single:
        return x
    mesh = getattr(sharding, "mesh", None)
    lower = lower_constraint if mesh is None or not mesh.explicit_axes else lower_reshard
    name: Name = lower(w, types, x, sharding=sharding)
    return name


@rule(effects.opened)
def lower_opened(w: Writer, types: Sequence[ShapedArray], x: Name, **_: Any) -> Name:
    return x


@rule(effects.shard_map)
def lower_shard_map(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    program: Program,
    mesh: Any,
    in_specs: tuple[PartitionSpec, ...],
    out_specs: tuple[PartitionSpec, ...],
    binds: tuple[Any, ...],
    name: str,
) -> list[Name]:
    """A region that each place runs on its own pieces."""
    if w.mesh is None and mesh.size > 1:
        raise NotImplementedError(
            f"shard_map of {name} over {mesh}, in a program that is lowered for one device, or "
            "under pmap: call it, or jit it, where the mesh's devices are"
        )
    keep = _wanted(w)
    if not all(keep):
        program = _for_results(program, keep)
        out_specs, types = tuple(pick(out_specs, keep, True)), pick(types, keep, True)
    sizes = {name: size for name, (_, size) in mesh.strides().items() if name in binds}
    refuse_divergence(program, sizes)
    around, cached = w.axes, w.function_names
    unknowns, region = w.unknowns, w.region_of
    w.axes, w.function_names = _axes(w, mesh, binds), {}
    try:
        manual = [] if w.mesh is None else w.mesh.labels(_digits(mesh, binds))
        if w.mesh is None or not manual:
            return _at_their_places(
                keep, w.body(program, operands, name)
            )  # each piece is the whole array
        with w.scope() as inner:
            w.constants = {}  # the region can't use constants from outside
            names = [w.fresh(t) for t in program.in_types]
            # Nor the unknown lengths, which are operands after the others.
            w.unknowns = {k: w.fresh(x.type) for k, x in unknowns.items()}
            w.region_of = name
            results = w.body(program, names, name)
            lines = list(inner.lines())
            names += w.unknowns.values()
    finally:
        w.axes, w.function_names = around, cached
        w.unknowns, w.region_of = unknowns, region
    operands += tuple(unknowns.values())
    in_specs += (PartitionSpec(),) * len(unknowns)
    ins = [
        _cut(w.mesh, mesh, binds, s, len(x.shape)) for s, x in zip(in_specs, operands, strict=True)
    ]
    outs = [
        _cut(w.mesh, mesh, binds, s, len(t.shape)) for s, t in zip(out_specs, types, strict=True)
    ]
    head = ", ".join(f"{x}: {x.text}" for x in names)
    end = f" {', '.join(results)} : {', '.join(x.text for x in results)}" if results else ""
    labels = ", ".join(f'"{label}"' for label in manual)
    body = "\n".join([*lines, f"sdy.return{end}"])
    written = w.ops(
        f"sdy.manual_computation({', '.join(operands)}) in_shardings=[{', '.join(ins)}] "
        f"out_shardings=[{', '.join(outs)}] manual_axes={{{labels}}} ({head}) {{\n{body}\n}} : "
        f"({', '.join(x.text for x in operands)}) -> "
        + (tensor(types[0]) if len(types) == 1 else f"({', '.join(map(tensor, types))})"),
        types,
    )
    return _at_their_places(keep, written)


def _wanted(w: Writer) -> list[bool]:
    """The results of the equation now written that something in its program mentions."""
    used = w.program.memo.get("used")
    if used is None:
        atoms = [*w.program.outputs, *(x for e in w.program.equations for x in e.inputs)]
        used = w.program.memo["used"] = frozenset(x for x in atoms if type(x) is Variable)
    return [x in used for x in w.equation.outputs]


def _for_results(program: Program, keep: Sequence[bool]) -> Program:
    """The program for some of its results, without the collectives that these don't need.

    The compiler keeps a collective whose result nobody uses; all places leave it out alike here.
    """
    key = "for results", tuple(keep)
    found: Program | None = program.memo.get(key)
    if found is None:
        outputs = pick(program.outputs, keep, True)
        live: set[Any] = set(outputs)
        equations = []
        for e in reversed(program.equations):
            acts = any(not entry.startswith("axis ") for entry in e.row)
            if acts or any(x in live for x in e.outputs):
                equations.append(e)
                live.update(e.inputs)
        found = Program(program.inputs, equations[::-1], outputs, program.name)
        program.memo[key] = found
    return found


def _at_their_places(keep: Sequence[bool], found: Sequence[Name]) -> list[Any]:
    """The names of results, None in place of those that are not written."""
    rest = iter(found)
    return [next(rest) if k else None for k in keep]


def _axes(w: Writer, mesh: Any, binds: Sequence[Any]) -> dict[Any, MeshAxis]:
    """The axes by which collectives inside name places; others are there to be counted."""
    found = dict(w.axes)
    for name, (stride, size) in mesh.strides().items():
        if name in binds:
            found.pop(NotMapped(name), None)
            found[name] = MeshAxis(stride, size)
        elif name not in found:
            found[NotMapped(name)] = MeshAxis(stride, size)
    return found


def _digits(mesh: Any, names: Sequence[Any]) -> list[tuple[int, int]]:
    strides = mesh.strides()
    return [strides[name] for name in names if strides[name][1] > 1]


def _cut(
    module: ModuleMesh, mesh: Any, binds: Sequence[Any], spec: PartitionSpec, ndim: int
) -> str:
    """Return the way an operand is cut along the mapped axes; XLA decides about other axes."""
    whole = len(binds) == len(mesh.axis_names)
    dimensions = []
    for i in range(ndim):
        labels = [f'"{x}"' for x in module.labels(_digits(mesh, spec.names(i)))]
        dimensions.append("{" + ", ".join(labels if whole else [*labels, "?"]) + "}")
    return f"<@mesh, [{', '.join(dimensions)}]>"
