"""Blocks cut out of arrays and put back, and the loop over a grid: what a kernel means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects.program import Program
from effax.effects.rows import control, shape
from effax.effects.rows.elementwise import mul
from effax.effects.rows.indexing import dynamic_slice, dynamic_update_slice, fill_default
from effax.effects.rows.kernel import Block, points, scratch_types
from effax.effects.rows.shape import expand_dims, squeeze
from effax.effects.types import ShapedArray, int32, typeof
from effax.interpreters.stage import stage

ID: Final = ShapedArray((), int32)
"""The type of a coordinate of a point."""

Starts = list[Any] | None
"""The first element of a block along each axis; None for a block that is the whole array."""


@attrs.frozen
class Cutting:
    """A kernel: its program, and how its arrays are cut into blocks."""

    program: Program
    maps: tuple[Program, ...]
    blocks: tuple[Block, ...]
    grid: tuple[int, ...]
    scalars: int
    unset: str

    @classmethod
    def of(cls, attributes: dict[str, Any]) -> Cutting:
        """The kernel with these attributes."""
        names = ("program", "maps", "blocks", "grid", "scalars")
        given = {name: attributes[name] for name in names}
        return cls(**given, unset=attributes.get("unset", "nan"))

    @property
    def scratch(self) -> tuple[ShapedArray, ...]:
        """The types of the scratch arrays."""
        return scratch_types(self.program, self.grid, self.scalars, self.blocks)

    def begin(
        self, operands: Sequence[Any], aliases: Sequence[tuple[int, int]]
    ) -> tuple[list[Any], list[Any]]:
        """Split the inputs into loop constants (scalars, padded inputs) and the initial carry:
        padded results, then scratch arrays.
        """
        told, arrays = operands[: self.scalars], operands[self.scalars :]
        n, unset = len(arrays), self.unset
        begins = {result: arrays[i] for i, result in aliases}
        inputs = [_padded(x, b, unset) for x, b in zip(arrays, self.blocks, strict=False)]
        results = [
            _padded(begins[i], b, unset) if i in begins else _blank(b.padded, b.array.dtype, unset)
            for i, b in enumerate(self.blocks[n:])
        ]
        scratch = [_blank(t.shape, t.dtype, unset) for t in self.scratch]
        return [*told, *inputs], [*results, *scratch]

    def results(self, fixed: Sequence[Any]) -> tuple[Block, ...]:
        """The blocks of the results."""
        return self.blocks[len(fixed) - self.scalars :]

    def starts(self, fixed: Sequence[Any], ids: Sequence[Any]) -> list[Starts]:
        """Return the start of each block at a point."""
        told = fixed[: self.scalars]
        return [_starts(b, m.run(*ids, *told)) for b, m in zip(self.blocks, self.maps, strict=True)]

    def run(
        self,
        fixed: Sequence[Any],
        carry: Sequence[Any],
        ids: Sequence[Any],
        at: Sequence[Starts],
        instead: Sequence[Any] | None = None,
    ) -> tuple[list[Any], list[Any]]:
        """Run the program at a point: the blocks of the results, before and after it, the scratch
        arrays following in both. It may be given others `instead` of those before."""
        outs = len(self.results(fixed))
        told, given = fixed[: self.scalars], fixed[self.scalars :]
        arrays = (*given, *carry[:outs])
        cut = [part_of(*one) for one in zip(arrays, self.blocks, at, strict=True)]
        before = [*cut[len(given) :], *carry[outs:]] if instead is None else list(instead)
        return before, self.program.run(*ids, *told, *cut[: len(given)], *before)

    def put(
        self, fixed: Sequence[Any], carry: Sequence[Any], after: Sequence[Any], at: Sequence[Starts]
    ) -> list[Any]:
        """Put the result blocks back, and return the next carry."""
        blocks = self.results(fixed)
        n = len(blocks)
        stored = zip(carry, after, blocks, at[-n:] if n else (), strict=False)
        return [*(with_part(*one) for one in stored), *after[n:]]


def interpret(
    *operands: Any, aliases: tuple[tuple[int, int], ...] = (), **attributes: Any
) -> list[Any]:
    """Run a kernel as a loop over its grid, in order, on blocks cut out of padded arrays."""
    cutting = Cutting.of(attributes)
    fixed, carry = cutting.begin(operands, aliases)

    def step(fixed: Sequence[Any], carry: Sequence[Any], ids: Sequence[Any]) -> list[Any]:
        at = cutting.starts(fixed, ids)
        _, after = cutting.run(fixed, carry, ids, at)
        return cutting.put(fixed, carry, after, at)

    carry = over_grid(step, cutting.grid, fixed, carry, cutting.program.name)
    return [_inside(x, b) for x, b in zip(carry, cutting.results(fixed), strict=False)]


Step = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]


def over_grid(
    step: Step, grid: Sequence[int], fixed: Sequence[Any], carry: Sequence[Any], name: str
) -> list[Any]:
    """Carry values over the points of a grid, by `step(fixed, carry, ids)`."""
    length, n = points(grid), len(fixed)
    if not length:
        return list(carry)
    if length == 1:
        return step(fixed, carry, [shape.scalar(0, int32)] * len(grid))
    values = [*fixed, *carry]
    m = len(values)
    types = [*map(typeof, values), *[ID] * len(grid)]
    body = stage(lambda *xs: step(xs[:n], xs[n:m], xs[m:]), types, name)
    results: list[Any] = control.scan(
        *body.captured,
        *values,
        *coordinates(grid),
        body=body.program,
        consts=len(body.captured) + n,
        carry=len(carry),
        length=length,
        reverse=False,
        unroll=1,
    )
    return results


def coordinates(grid: Sequence[int]) -> list[Any]:
    """For each axis of a grid, the coordinates of all points, in order."""
    n = points(grid)
    axes = [shape.iota(dtype=int32, shape=tuple(grid), dimension=k) for k in range(len(grid))]
    return [shape.reshape(x, shape=(n,)) for x in axes]


def _blank(lengths: tuple[int, ...], dtype: Any, unset: str) -> Any:
    value = fill_default(dtype) if unset == "nan" else 0
    return shape.full(lengths, value, dtype)


def _padded(x: Any, block: Block, unset: str) -> Any:
    """An array padded to whole blocks."""
    lengths, total = block.array.shape, block.padded
    if lengths == total:
        return x
    config = tuple(
        (low, after - n - low, 0)
        for n, after, (low, _) in zip(lengths, total, block.padding, strict=True)
    )
    return shape.pad(x, _blank((), block.array.dtype, unset), config=config)


def _inside(x: Any, block: Block) -> Any:
    """The array without its padding."""
    lengths = block.array.shape
    if lengths == block.padded:
        return x
    low = tuple(low for low, _ in block.padding)
    limit = tuple(a + n for a, n in zip(low, lengths, strict=True))
    return shape.slice(x, start=low, limit=limit, strides=None)


def _starts(block: Block, positions: Sequence[Any]) -> Starts:
    if all(block.single):
        return None
    starts = []
    for x, n, by_element, single in zip(
        positions, block.sizes, block.elements, block.single, strict=True
    ):
        start = shape.scalar(0, int32) if single else x
        starts.append(start if by_element or single or n == 1 else mul(start, n))
    return starts


def part_of(x: Any, block: Block, starts: Starts) -> Any:
    """The block of an array that begins there, as the kernel sees it."""
    if starts is not None:
        x = dynamic_slice(x, *starts, sizes=block.sizes)
    gone = [i for i, is_gone in enumerate(block.squeezed) if is_gone]
    return squeeze(x, gone) if gone else x


def with_part(x: Any, value: Any, block: Block, starts: Starts) -> Any:
    """The array with the block that begins there replaced."""
    gone = [i for i, is_gone in enumerate(block.squeezed) if is_gone]
    value = expand_dims(value, gone) if gone else value
    return value if starts is None else dynamic_update_slice(x, value, *starts)
