"""Kernels made of a sketch: blocks of two arrays, put where index maps say, over a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.effects.program import Program
from effax.effects.rows import elementwise
from effax.effects.rows.kernel import Block, kernel
from effax.effects.types import ShapedArray, int32
from effax.interpreters.stage import stage

WAYS: Final = ("blocks", "backwards", "windows", "sum", "carry", "alias")
"""The ways in which results may lie over the grid; see `kernelled`."""
_ID: Final = ShapedArray((), int32)


def block_of(array: ShapedArray, rows: int, way: str) -> Block:
    """Blocks of so many rows of an array; one that begins at every row, for windows."""
    rank = len(array.shape)
    sizes = (rows, *array.shape[1:])
    elements = (way == "windows", *(False,) * (rank - 1))
    return Block(array, sizes, (False,) * rank, elements, ((0, 0),) * rank)


def kernelled(body: Program, array: ShapedArray, rows: int, way: str, parallel: bool) -> Program:
    """A program that runs `body(x, y)` on blocks of two arrays of one type.

    The results' blocks lie as the operands' do ("blocks"), in the opposite order ("backwards"),
    or begin at every row, and overlap ("windows"); one block holds the sum of all ("sum"); each
    result is added to half of the last one ("carry"), or to what an operand holds ("alias").
    """
    block = block_of(array, rows, way)
    n = array.shape[0] - rows + 1 if way == "windows" else -(-array.shape[0] // rows)
    out = Block.whole(block.type) if way == "sum" else block
    zeros = [0] * (len(array.shape) - 1)

    def index(forward: bool, moves: bool = True) -> Program:
        def position(i: Any) -> Sequence[Any]:
            at = i if forward else elementwise.sub(n - 1, i)
            return [at if moves else 0, *zeros]

        return stage(position, [_ID], "index_map").program

    def run(i: Any, x: Any, y: Any, o: Any, *scratch: Any) -> Sequence[Any]:
        (new,) = body.run(x, y)
        if way in ("sum", "alias"):
            new = elementwise.add(o, new)
        if way == "carry":
            new = elementwise.add(elementwise.mul(scratch[0], 0.5), new)
        return [new, *(new for _ in scratch)]

    held = [block.type] if way == "carry" else []
    program = stage(run, [_ID, block.type, block.type, out.type, *held], "kernel").program
    maps = (index(True), index(True), index(way != "backwards", way != "sum"))

    def call(x: Any, y: Any) -> Sequence[Any]:
        found: Sequence[Any] = kernel(
            x,
            y,
            program=program,
            maps=maps,
            blocks=(block, block, out),
            grid=(n,),
            scalars=0,
            aliases=((1, 0),) if way == "alias" else (),
            unset="zero",
            parallel=(True,) if parallel and way in ("blocks", "backwards", "alias") else (),
            interpret=False,
            params=None,
            name="kernel",
        )
        return found

    return stage(call, [array, array], "kernelled").program
