"""Kernels: a program run at every point of a grid, on blocks of arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.rows.control import match_types
from effax.effects.types import ShapedArray

if TYPE_CHECKING:
    from effax.effects.program import Program

FAMILY: Final = "kernel"


@attrs.frozen
class Block:
    """The blocks of an array: a kernel sees one of them at each point of the grid.

    `sizes` are the block's lengths along the axes of the array, and 1 along those marked
    `squeezed`, which the kernel does not see. An index map gives the position of a block, counted
    in blocks; along axes marked `elements` it is counted in elements of the array padded by
    `padding`. `space` names the memory that holds the block.
    """

    array: ShapedArray
    sizes: tuple[int, ...]
    squeezed: tuple[bool, ...]
    elements: tuple[bool, ...]
    padding: tuple[tuple[int, int], ...]
    space: str = ""

    @classmethod
    def whole(cls, array: ShapedArray, space: str = "") -> Block:
        """The block that is all of an array."""
        n = len(array.shape)
        no, none = (False,) * n, ((0, 0),) * n
        return cls(array, array.shape, no, no, none, space)

    def behind(self, array: ShapedArray, sizes: tuple[int, ...], *, squeezed: bool) -> Block:
        """The block of an array with more axes in front, which has these lengths along them."""
        n = len(sizes)
        return Block(
            array,
            (*sizes, *self.sizes),
            (*(squeezed,) * n, *self.squeezed),
            (*(False,) * n, *self.elements),
            (*((0, 0),) * n, *self.padding),
            self.space,
        )

    @property
    def type(self) -> ShapedArray:
        """The type of the block as the kernel sees it."""
        pairs = zip(self.sizes, self.squeezed, strict=True)
        return self.array.update(shape=tuple(n for n, gone in pairs if not gone))

    @property
    def padded(self) -> tuple[int, ...]:
        """The lengths of the array padded to whole blocks."""
        return tuple(
            -(-(low + n + high) // size) * size if size else n
            for n, size, (low, high) in zip(self.array.shape, self.sizes, self.padding, strict=True)
        )

    @property
    def single(self) -> tuple[bool, ...]:
        """Along which axes there is one block: its position is 0, whatever the index map says."""
        return tuple(n == size for n, size in zip(self.padded, self.sizes, strict=True))


def scratch_types(
    program: Program, grid: Sequence[int], scalars: int, blocks: Sequence[Block]
) -> tuple[ShapedArray, ...]:
    """The types of a kernel's scratch arrays: its inputs after coordinates, scalars and blocks."""
    return program.in_types[len(grid) + scalars + len(blocks) :]


def points(grid: Sequence[int]) -> int:
    """The number of points of a grid."""
    return prod(grid)


def _kernel_type(
    *operands: ShapedArray,
    program: Program,
    maps: tuple[Program, ...],
    blocks: tuple[Block, ...],
    grid: tuple[int, ...],
    scalars: int,
    aliases: tuple[tuple[int, int], ...] = (),
    unset: str = "nan",
    parallel: tuple[bool, ...] = (),
    interpret: bool = False,
    params: Hashable = None,
    name: str = "kernel",
) -> Sequence[ShapedArray]:
    arrays = operands[scalars:]
    inputs = [block.array for block in blocks[: len(arrays)]]
    match_types(f"the operands of the kernel {name}", inputs, arrays)
    return [block.array for block in blocks[len(arrays) :]]


kernel = Effect(FAMILY, family=FAMILY, typing=_kernel_type, multiple=True, higher_order=True)
"""`kernel(*scalars, *inputs, program, maps, blocks, grid, scalars, aliases, unset, ...)`.

`program` is run at the points of `grid`, in order, the last axis fastest. It takes the point (an
int32 for each axis), the scalars, a block of each input, a block of each result, and the scratch
arrays; it gives what the blocks of the results and the scratch arrays are from then on.

`blocks` and `maps` have an entry for each input, then for each result: the map takes the point and
the scalars, and gives the block's position. The pairs of `aliases` say which input a result begins
as. Other results, scratch arrays and what lies outside of arrays are `unset` until they are
written: "nan", or "zero" in a kernel derived from another, into whose tangents no NaN may come.
`parallel` says along which axes of the grid points may be visited in any order, or at once; `()` is
not to say. `interpret` asks for the loop that this describes, on any platform; `params` are hints
for a compiler of kernels.
"""
