"""A kernel as one operation that XLA's compiler for TPUs gets as a module of Mosaic's, in bytecode.

The compiler brings the blocks of a point near the core while the point before it is computed, in
the order of the grid, and takes results away when their blocks change.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from typing import Any

from effax.backends.xla.compile import mlir_context
from effax.backends.xla.lowering.blocks.calls import (
    Kernel,
    custom_call,
    first_of_steps,
    identifier,
)
from effax.backends.xla.lowering.blocks.control import nested
from effax.backends.xla.lowering.blocks.homes import homes
from effax.backends.xla.lowering.blocks.mosaic import MosaicWriter
from effax.backends.xla.lowering.blocks.writer import BOOL, INDEX, Memory, Val, View
from effax.backends.xla.lowering.foreign import quoted
from effax.backends.xla.lowering.writer import Name, Writer
from effax.effects.program import Program
from effax.effects.rows.kernel import Block
from effax.effects.types import ShapedArray, bit_width

_TARGET = "tpu_custom_call"
_SERIALIZED = "builtin.module(mosaic-serde{serialize=true target-version=11})"


def lower_mosaic(
    w: Writer, types: Sequence[ShapedArray], operands: Sequence[Name], attributes: dict[str, Any]
) -> list[Name]:
    """Write the call of a kernel for a TPU."""
    kernel = Kernel.of([x.type for x in operands], attributes)
    body = base64.b64encode(bytecode(module(kernel))).decode()
    told: dict[str, Any] = {
        "body": body,
        "serialization_format": 1,
        "needs_layout_passes": True,
    }
    config: dict[str, Any] = {"custom_call_config": told}
    limit = getattr(kernel.params, "vmem_limit_bytes", None)
    if limit is not None:
        config["scoped_memory_configs"] = [{"memory_space": 1, "offset": 0, "size": limit}]
    given = f"backend_config = {quoted(json.dumps(config))}"
    if getattr(kernel.params, "has_side_effects", False):
        given += ", has_side_effect = true"
    return custom_call(w, _TARGET, given, kernel, types, operands)


def bytecode(text: str) -> bytes:
    """A module in the form that the compiler reads, of a version of its own."""
    from effax.effects.runtime import ir, passmanager, tpu

    context = mlir_context()
    tpu.register_dialect(context)
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(_SERIALIZED).run(module.operation)
        written = io.BytesIO()
        module.operation.write_bytecode(written, desired_version=0)
    return written.getvalue()


def module(kernel: Kernel) -> str:
    """The text of a kernel: a function on blocks, and one for each index map."""
    w = MosaicWriter(kernel.name)
    for block in kernel.blocks:
        _check_tiles(w, block)
    first = first_of_steps(w, kernel)
    ids = [Val(f"%i{k}", INDEX) for k in range(len(kernel.grid))]
    told = [_scalar(f"%s{k}", t) for k, t in enumerate(kernel.scalars)]
    blocks = [
        View.of(Memory(f"%m{k}", b, (), k >= kernel.inputs, f"%m{k}"))
        for k, b in enumerate(kernel.blocks)
    ]
    scratch = [
        View.of(Memory(f"%t{k}", Block.whole(t), (), True, f"%t{k}"))
        for k, t in enumerate(kernel.scratch)
    ]
    outs = [*blocks[kernel.inputs :], *scratch]
    _begin_aliases(w, kernel, first, ids, blocks)
    places = homes(kernel.program, outs)
    after = w.run(kernel.program, [*ids, *told, *blocks, *scratch], places)
    loaded = [
        None if isinstance(x, View) and x.is_all_of(out.memory) else w.val(x)
        for out, x in zip(outs, after, strict=True)
    ]
    for out, x in zip(outs, loaded, strict=True):
        if x is not None:
            w.store(out, x)
    return _module(w, kernel, told, [*blocks, *scratch])


def _scalar(name: str, type: ShapedArray) -> View:
    return View.of(Memory(name, Block.whole(type, "smem"), (), False, name))


def _check_tiles(w: MosaicWriter, block: Block) -> None:
    """Blocks in VMEM are whole tiles, or as long as the array."""
    if block.space not in ("", "vmem") or not block.sizes:
        return
    lane = 128 if len(block.sizes) > 1 else 128 * 32 // bit_width(block.array.dtype)
    tiles = (8, lane)[-len(block.sizes) :]
    last = list(zip(block.array.shape, block.sizes, strict=True))[-len(tiles) :]
    if any(size != n and size % tile for (n, size), tile in zip(last, tiles, strict=True)):
        raise w.refuse(
            f"the block {block.sizes} of an array of shape {block.array.shape} is cut through "
            f"tiles of {tiles}: the last lengths must be multiples of these, or the array's,"
        )


def _begin_aliases(
    w: MosaicWriter, kernel: Kernel, first: int, ids: Sequence[Val], blocks: Sequence[View]
) -> None:
    """Results that begin as arguments: their blocks are copied, before the first step on each."""
    before = len(kernel.grid) + len(kernel.scalars)
    used = {x for e in kernel.program.equations for x in e.inputs}
    for i, result in kernel.aliases:
        k = kernel.inputs + result
        if kernel.program.inputs[before + k] not in used:
            continue
        one, other = kernel.blocks[i], kernel.blocks[k]
        if one.sizes != other.sizes or str(kernel.maps[i]) != str(kernel.maps[k]):
            raise w.refuse(
                f"result {result} begins as argument {i}, is read, and has other blocks, which "
                "has no rule"
            )

        def copy(i: int = i, k: int = k) -> None:
            w.store(blocks[k], w.load(blocks[i]))

        steps = [x for x, n in zip(ids[first:], kernel.grid[first:], strict=True) if n > 1]
        if not steps:
            copy()
            continue
        begins = w.constant(True, BOOL)
        for x in steps:
            zero = w.constant(0, INDEX)
            at_first = w.op(f"arith.cmpi eq, {x}, {zero} : i32", BOOL)
            begins = w.simple("arith.andi", [begins, at_first], BOOL)
        w.lines += [f"scf.if {begins} {{", *nested(w, copy), "}"]


def _module(w: MosaicWriter, kernel: Kernel, told: Sequence[View], views: Sequence[View]) -> str:
    points = [f"%i{k}: i32" for k in range(len(kernel.grid))]
    scalars = [f"{x.memory.name}: {w.memory_text(x.memory)}" for x in told]
    memory = [f"{x.memory.name}: {w.memory_text(x.memory)}" for x in views]
    parallel = dict(enumerate(kernel.parallel))
    semantics = ", ".join(
        f"#tpu.dimension_semantics<{'parallel' if parallel.get(k) else 'arbitrary'}>"
        for k in range(len(kernel.grid))
    )
    windows = [
        f"{{transform_indices = @transform_{k}, window_bounds = {_integers(b.sizes)}"
        f"{_elements(w, b)}}}"
        for k, b in enumerate(kernel.blocks)
    ]
    attributes = ", ".join(
        [
            f"dimension_semantics = [{semantics}]",
            f"iteration_bounds = {_integers(kernel.grid)}",
            f"scalar_prefetch = {len(told)} : i64",
            f"scratch_operands = {len(kernel.scratch)} : i64",
            "tpu.core_type = #tpu.core_type<tc>",
            f"window_params = [{', '.join(windows)}]",
        ]
    )
    body = "\n  ".join(w.lines)
    head = f"func.func @{identifier(kernel.name)}({', '.join([*points, *scalars, *memory])})"
    transforms = "\n".join(
        _transform(kernel, k, m, points, scalars) for k, m in enumerate(kernel.maps)
    )
    function = f"{head} attributes {{{attributes}}} {{\n  {body}\n  return\n}}"
    return f"module {{\n{function}\n{transforms}\n}}"


def _integers(values: Sequence[int]) -> str:
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def _elements(w: MosaicWriter, block: Block) -> str:
    """Count positions along axes by elements, for operands that are not in blocks."""
    if not any(block.elements):
        return ""
    if not all(block.elements):
        raise w.refuse("blocks counted by elements along some axes only have no rule")
    low, high = ([pair[side] for pair in block.padding] for side in (0, 1))
    return f", window_kind = #tpu.element_window<{low}, {high}>"


def _transform(
    kernel: Kernel, k: int, index: Program, points: Sequence[str], scalars: Sequence[str]
) -> str:
    w = MosaicWriter(kernel.name)
    ids = [Val(f"%i{n}", INDEX) for n in range(len(kernel.grid))]
    told = [_scalar(f"%s{n}", t) for n, t in enumerate(kernel.scalars)]
    found = [w.val(x) for x in w.run(index, [*ids, *told])]
    types = ", ".join("i32" for _ in found)
    arrow = f" -> ({types})" if found else ""
    given = f"return {', '.join(map(str, found))} : {types}" if found else "return"
    body = "\n  ".join([*w.lines, given])
    return f"func.func @transform_{k}({', '.join([*points, *scalars])}){arrow} {{\n  {body}\n}}"
