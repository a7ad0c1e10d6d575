"""Programs written as modules that outlive the process, for one platform or for several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from effax.backends.xla import symbolic
from effax.backends.xla.dispatch import check_row
from effax.backends.xla.layout import ModuleMesh, ProgramLayout
from effax.backends.xla.lowering.arrays import array_constant
from effax.backends.xla.lowering.writer import Name, Writer, named, tensor, written
from effax.backends.xla.symbolic_rules import rule_for
from effax.effects.program import Program
from effax.effects.types import ShapedArray
from effax.interpreters.functor.ordering import in_order

_PLATFORM: Final = ShapedArray((), np.dtype(np.int32))


def module_text(
    program: Program,
    captured: Sequence[Any],
    platforms: Sequence[str],
    layout: ProgramLayout,
    unknowns: Any = None,
) -> tuple[str, list[Callable[..., Any]]]:
    """A program as a module, and the host functions it calls; what it captured are constants.

    For several platforms `main` takes, before its operands, which of them it runs on. For several
    devices it says how operands and results are cut among them, as the layout does. Where lengths
    are symbolic, `unknowns` says how they are computed (`effax.export.unknowns`).
    """
    check_row(program)
    ordered = in_order(program)
    mesh = None if layout.is_single else ModuleMesh.of(layout, ordered)

    def write(w: Writer) -> str:
        w.taken.add("main")
        if unknowns is not None:
            symbolic.declare(w, unknowns)
            w.rule_for = rule_for
        if mesh is not None:
            w.declare(mesh)
        entries = []
        for platform in platforms:
            w.platform, w.function_names = platform, {}
            entries.append(w.function(ordered))
        text = _main(w, ordered, captured, entries, layout, unknowns)
        return w.module(text, w._name(f"jit_{program.name}"))

    return written(write, platforms[0])


def _main(
    w: Writer,
    program: Program,
    captured: Sequence[Any],
    entries: Sequence[str],
    layout: ProgramLayout,
    unknowns: Any,
) -> str:
    types = program.in_types[len(captured) :]
    ins, outs_cut = [""] * len(types), [""] * len(program.out_types)
    if w.mesh is not None:
        given, told = w.mesh.attributes(layout, program)
        ins = [f" {{{text}}}" for text in given[len(captured) :]]
        outs_cut = [f" {{{text}}}" if text else "" for text in told]
    w.lines = []
    w.constants = {}
    own = [named(f"%a{i}", t) for i, t in enumerate(types)]
    if unknowns is not None:
        symbolic.solve(w, unknowns, own)
    kept = zip(captured, program.in_types, strict=False)  # captured values come first
    operands = [array_constant(w, np.asarray(x, t.dtype)) for x, t in kept]
    operands += own
    head = [f"{x}: {x.text}{cut}" for x, cut in zip(own, ins, strict=True)]
    if len(entries) == 1:
        results = w.call(entries[0], operands, program.out_types, own=True)
    else:
        head.insert(0, f'%p: {tensor(_PLATFORM)} {{jax.global_constant = "_platform_index"}}')
        results = _case(w, entries, operands, program.out_types)
    outs = ", ".join(map(tensor, program.out_types))
    w.lines.append(f"return {', '.join(results)} : {outs}" if results else "return")
    body = "\n".join(w.lines)
    pairs = zip(program.out_types, outs_cut, strict=True)
    outs = ", ".join(f"{tensor(t)}{cut}" for t, cut in pairs)
    return f"func.func public @main({', '.join(head)}) -> ({outs}) {{\n{body}\n}}"


def _case(
    w: Writer, entries: Sequence[str], operands: Sequence[Name], types: Sequence[ShapedArray]
) -> list[Name]:

    def called(entry: str) -> list[Name]:
        return w.call(entry, operands, types, own=True)

    regions = [w.region([], partial(called, entry), "stablehlo.return") for entry in entries]
    outs = ", ".join(map(tensor, types))
    return w.ops(
        f'"stablehlo.case"(%p) ({", ".join(regions)}) : ({tensor(_PLATFORM)}) -> ({outs})', types
    )
