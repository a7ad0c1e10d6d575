"""A kernel as one operation that XLA's compiler for NVIDIA's GPUs gets as Triton's text.

Points of the grid run at once, one to a block of threads. Those that write the same blocks of the
results, along the last axes of the grid, are steps of a loop of one of them, which carries results
and scratch arrays in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.lowering.blocks.calls import (
    Kernel,
    custom_call,
    first_of_steps,
    identifier,
)
from effax.backends.xla.lowering.blocks.control import counted, stays
from effax.backends.xla.lowering.blocks.homes import homes
from effax.backends.xla.lowering.blocks.triton import TritonWriter
from effax.backends.xla.lowering.blocks.writer import INDEX, Memory, Val, Value, View, zeros
from effax.backends.xla.lowering.foreign import quoted
from effax.backends.xla.lowering.writer import Name, Writer
from effax.effects.program import Program
from effax.effects.rows.kernel import Block, points
from effax.effects.types import ShapedArray
from effax.interpreters.functor.grid_order import reads_what_was

Homes = dict[Any, View]
_TARGET = "__gpu$xla.gpu.triton"


def lower_triton(
    w: Writer, types: Sequence[ShapedArray], operands: Sequence[Name], attributes: dict[str, Any]
) -> list[Name]:
    """Write the call of a kernel for a GPU."""
    kernel = Kernel.of([x.type for x in operands], attributes)
    first, text = module(kernel)
    told = {
        "name": quoted(identifier(kernel.name)),
        "ir": quoted(text),
        "num_stages": f"{getattr(kernel.params, 'num_stages', None) or 3} : i32",
        "num_warps": f"{getattr(kernel.params, 'num_warps', None) or 4} : i32",
        "grid_x": f"{points(kernel.grid[:first])} : i32",
        "grid_y": "1 : i32",
        "grid_z": "1 : i32",
        "debug": "false",
    }
    config = ", ".join(f"{key} = {value}" for key, value in told.items())
    return custom_call(
        w, _TARGET, f"api_version = 4 : i32, backend_config = {{{config}}}", kernel, types, operands
    )


def module(kernel: Kernel) -> tuple[int, str]:
    """The text of the kernel, and the first axis of the grid that is a loop in it."""
    w = TritonWriter(kernel.name)
    first = first_of_steps(w, kernel)
    _check_order(w, kernel, first)
    ids = _coordinates(w, w.op("tt.get_program_id x : i32", INDEX), kernel.grid[:first])
    told = [
        View.of(_memory(w, kernel, f"%a{i}", Block.whole(t), None, (), False))
        for i, t in enumerate(kernel.scalars)
    ]
    zero = [w.constant(0, INDEX)] * (len(kernel.grid) - first)
    outs = [
        View.of(
            _memory(w, kernel, "", kernel.blocks[k], kernel.maps[k], [*ids, *zero, *told], True, k)
        )
        for k in kernel.results
    ]
    scratch = [zeros(w, t) for t in kernel.scratch]
    steps = points(kernel.grid[first:])

    def run(at: Sequence[Val], before: Sequence[Value], places: Homes) -> list[Value]:
        inputs = [
            View.of(
                _memory(w, kernel, "", kernel.blocks[k], kernel.maps[k], [*at, *told], False, k)
            )
            for k in range(kernel.inputs)
        ]
        return w.run(kernel.program, [*at, *told, *inputs, *before], places)

    if steps == 1:
        places = homes(kernel.program, outs)
        after = run([*ids, *zero], [*outs, *scratch], places)
    else:
        after = _loop(w, kernel, first, ids, outs, scratch, run)
    for out, x in zip(outs, after, strict=False):
        if not (isinstance(x, View) and x.is_all_of(out.memory)):
            w.store(out, w.val(x))
    return first, _function(w, kernel)


def _loop(
    w: TritonWriter,
    kernel: Kernel,
    first: int,
    ids: Sequence[Val],
    outs: Sequence[View],
    scratch: Sequence[Val],
    run: Callable[[Sequence[Val], Sequence[Value], Homes], list[Value]],
) -> list[Value]:
    """The points that write the same blocks: results of which they write parts stay in memory."""
    begin: list[Value] = [*outs, *scratch]
    at = len(kernel.program.inputs) - len(begin)
    held = [isinstance(x, View) and stays(kernel.program, at + k, k) for k, x in enumerate(begin)]
    aliased = {result for _, result in kernel.aliases}
    loose = [
        w.val(x) if k in aliased else zeros(w, x.type)
        for k, (x, own) in enumerate(zip(begin, held, strict=True))
        if not own
    ]

    def whole(carry: Sequence[Val]) -> list[Value]:
        rest = iter(carry)
        return [x if own else next(rest) for x, own in zip(begin, held, strict=True)]

    def step(i: Val, carry: list[Val]) -> list[Val]:
        after = run([*ids, *_coordinates(w, i, kernel.grid[first:])], whole(carry), {})
        return [w.val(x) for x, own in zip(after, held, strict=True) if not own]

    return whole(counted(w, points(kernel.grid[first:]), loose, step))


def _check_order(w: TritonWriter, kernel: Kernel, first: int) -> None:
    before = len(kernel.grid) + len(kernel.scalars)
    n = len(kernel.program.inputs)
    kept = range(before + len(kernel.blocks), n)
    if kept and reads_what_was(kernel.program, range(first, len(kernel.grid)), kept):
        raise w.refuse(
            "scratch arrays that keep something from points with other blocks of the results have "
            "no meaning: points run at once. Set them up at the first step of each block"
        )


def _coordinates(w: TritonWriter, i: Val, grid: Sequence[int]) -> list[Val]:
    found = []
    for n in reversed(grid):
        size = w.constant(n, INDEX)
        found.append(w.simple("arith.remsi", [i, size], INDEX))
        i = w.simple("arith.divsi", [i, size], INDEX)
    return list(reversed(found))


def _memory(
    w: TritonWriter,
    kernel: Kernel,
    name: str,
    block: Block,
    index: Program | None,
    given: Sequence[Value],
    writable: bool,
    k: int = 0,
) -> Memory:
    """Return the memory of the block of an operand, or of result k, at a point of the grid."""
    if any(pair != (0, 0) for pair in block.padding):
        raise w.refuse("blocks of padded arrays have no rule")
    name = name or f"%a{len(kernel.scalars) + k}"
    starts: list[Val | None] = [None] * len(block.sizes)
    if index is not None:
        for i, x in enumerate(w.run(index, given)):
            if block.single[i]:
                continue
            at = w.val(x)
            size = w.constant(1 if block.elements[i] else block.sizes[i], INDEX)
            starts[i] = w.simple("arith.muli", [at, size], INDEX)
    buffer = name
    for i, result in kernel.aliases:
        if name == f"%a{len(kernel.scalars) + i}":
            buffer = f"%a{len(kernel.scalars) + kernel.inputs + result}"
    return Memory(name, block, tuple(starts), writable, buffer)


def _function(w: TritonWriter, kernel: Kernel) -> str:
    types = [*kernel.scalars, *(b.array for b in kernel.blocks)]
    arguments = ", ".join(
        f"%a{i}: !tt.ptr<{w.memory_element(t.dtype)}> {{tt.divisibility = 16 : i32}}"
        for i, t in enumerate(types)
    )
    body = "\n  ".join(w.lines)
    name = identifier(kernel.name)
    return f"module {{ tt.func public @{name}({arguments}) {{\n  {body}\n  tt.return\n}} }}"
