"""Kernels under checkify: blocks that lie outside of their arrays, and races between points.

The loop that a kernel means is checked as any other. Which elements a point writes is found by
running the kernel there a second time, with other contents in the blocks that it writes: an element
that stays as it was, both times, was not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import prod
from typing import Any, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.failures import NaNError, OOBError
from effax.effects.handler import outside
from effax.effects.rows import shape
from effax.effects.rows.comparison import eq, ge, gt, lt, ne
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import add, div, mul, rem
from effax.effects.rows.indexing import dynamic_slice
from effax.effects.rows.kernel import Block, kernel, points
from effax.effects.rows.logical import and_, not_, or_
from effax.effects.rows.reduction import argmax
from effax.effects.rows.selection import select_n
from effax.effects.types import bool_, int32, typeof
from effax.interpreters.checkify.checking import Checkify, any_of, rule
from effax.interpreters.functor.cutting import (
    ID,
    Cutting,
    Starts,
    interpret,
    over_grid,
    part_of,
    with_part,
)

_NOBODY: Final = -1


@rule(kernel)
def kernel_check(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    if OOBError in handler.kinds and points(attributes["grid"]):
        _note_bounds(handler, operands, attributes)
        if not attributes["program"].row:  # looking for races runs the program again
            _note_races(handler, operands, attributes)
    if NaNError in handler.kinds:  # an element that nobody wrote is an error only where it is used
        attributes = {**attributes, "unset": "zero"}
    with outside(handler):
        return interpret(*operands, **attributes)


@attrs.frozen(slots=True)
class BlockOutside:
    """The message for a block that lies outside; the payload is a point, and a position."""

    name: str
    what: str
    block: Block
    grid: tuple[int, ...]

    def __call__(self, payload: Sequence[Any]) -> str:
        """The text."""
        point, *position = map(int, payload)
        pairs = zip(position, self.block.sizes, self.block.elements, strict=True)
        start = tuple(x if by_element else x * n for x, n, by_element in pairs)
        return (
            f"kernel {self.name}: at point {coordinates_of(point, self.grid)} of the grid, the "
            f"block {self.block.sizes} of {self.what} begins at {start}, outside of the array's "
            f"shape {self.block.array.shape}"
        )


@attrs.frozen(slots=True)
class Race:
    """The message for an element that two points write; the payload is both."""

    name: str
    what: str
    grid: tuple[int, ...]

    def __call__(self, payload: Sequence[Any]) -> str:
        """The text."""
        one, other = (coordinates_of(int(p), self.grid) for p in payload)
        return (
            f"kernel {self.name}: points {other} and {one} of the grid both write an element of "
            f"{self.what}; on an accelerator one of the two writes may be lost"
        )


def coordinates_of(point: int, grid: Sequence[int]) -> tuple[int, ...]:
    """The coordinates of a point, from its number."""
    found = []
    for n in reversed(grid):
        point, at = divmod(point, n)
        found.append(at)
    return tuple(reversed(found))


def _number(ids: Sequence[Any], grid: Sequence[int]) -> Any:
    """The number of a point, from its coordinates."""
    found = shape.scalar(0, int32)
    for x, n in zip(ids, grid, strict=True):
        found = add(mul(found, shape.scalar(n, int32)), x)
    return found


def _names(cutting: Cutting, inputs: int) -> list[str]:
    names = [f"argument {cutting.scalars + i}" for i in range(inputs)]
    return [*names, *(f"result {i}" for i in range(len(cutting.blocks) - inputs))]


def _first(before: Sequence[Any], failed: Any, payload: Sequence[Any]) -> list[Any]:
    """A flag and a payload: those before where the flag was set, else those of now."""
    flag, *old = before
    return [
        or_(flag, failed),
        *(select_n(flag, new, x) for new, x in zip(payload, old, strict=True)),
    ]


def _false() -> Any:
    return shape.full((), False, bool_)


def _note_bounds(handler: Checkify, operands: Sequence[Any], attributes: dict[str, Any]) -> None:
    """Note the first block of each array that has no element inside of it."""
    cutting = Cutting.of(attributes)
    told = operands[: cutting.scalars]
    sizes = [2 + len(b.sizes) for b in cutting.blocks]  # a flag, a point, a position in the block

    def step(fixed: Sequence[Any], carry: Sequence[Any], ids: Sequence[Any]) -> list[Any]:
        after = []
        for block, index, before in zip(
            cutting.blocks, cutting.maps, _cut(carry, sizes), strict=True
        ):
            position = index.run(*ids, *fixed)
            payload = [_number(ids, cutting.grid), *position]
            after += _first(before, _lies_outside(block, position), payload)
        return after

    begin = [x for n in sizes for x in (_false(), *[_integers(0, ())] * (n - 1))]
    done = over_grid(step, cutting.grid, told, begin, cutting.program.name)
    names = _names(cutting, len(operands) - len(told))
    for block, what, found in zip(cutting.blocks, names, _cut(done, sizes), strict=True):
        failed, *payload = found
        message = BlockOutside(attributes["name"], what, block, cutting.grid)
        handler.note(handler.site(OOBError, message, [ID] * len(payload)), failed, payload)


def _lies_outside(block: Block, position: Sequence[Any]) -> Any:
    failed = _false()
    for x, n, size, by_element in zip(
        position, block.padded, block.sizes, block.elements, strict=True
    ):
        last = n - size if by_element else n // max(size, 1) - 1
        failed = or_(failed, or_(lt(x, shape.scalar(0, int32)), gt(x, shape.scalar(last, int32))))
    return failed


def _note_races(handler: Checkify, operands: Sequence[Any], attributes: dict[str, Any]) -> None:
    """Note the first element of each result that two points write which must not.

    They must not where they differ along a parallel axis of the grid, or a point between them has
    another block of the result.
    """
    cutting = Cutting.of(attributes)
    fixed, real = cutting.begin(operands, attributes.get("aliases", ()))
    blocks, parallel = cutting.results(fixed), attributes.get("parallel", ())
    m = len(blocks)

    sizes = [5 + len(b.sizes) for b in blocks]

    def step(fixed: Sequence[Any], carry: Sequence[Any], ids: Sequence[Any]) -> list[Any]:
        real, *watched = _cut(carry, [len(carry) - sum(sizes), *sizes])
        at = cutting.starts(fixed, ids)
        before, after = cutting.run(fixed, real, ids, at)
        others = [*map(_another, before[:m]), *before[m:]]
        _, other = cutting.run(fixed, real, ids, at, others)
        told = []
        for i, block in enumerate(blocks):
            stays = and_(_same(before[i], after[i]), _same(others[i], other[i]))
            start = at[len(at) - m + i]
            told += _watched(watched[i], block, start, not_(stays), ids, cutting.grid, parallel)
        return [*cutting.put(fixed, real, after, at), *told]

    begin = [x for b in blocks for x in _unwatched(b)]
    done = over_grid(step, cutting.grid, fixed, [*real, *begin], cutting.program.name)
    names = _names(cutting, len(cutting.blocks) - m)
    for what, found in zip(names[-m:], _cut(done[len(real) :], sizes), strict=False):
        failed, *payload = found[-3:]
        message = Race(attributes["name"], what, cutting.grid)
        handler.note(handler.site(OOBError, message, [ID, ID]), failed, payload)


def _cut(values: Sequence[Any], sizes: Sequence[int]) -> list[list[Any]]:
    rest = iter(values)
    return [list(islice(rest, n)) for n in sizes]


def _unwatched(block: Block) -> list[Any]:
    """Initialise the race record of a result: the last writer of each element, the point at which
    the current block became current and its start, and a race with its two points.
    """
    owners = shape.full(block.padded, _NOBODY, int32)
    zero = _integers(0, ())
    return [owners, *[zero] * (1 + len(block.sizes)), _false(), zero, zero]


def _watched(
    known: Sequence[Any],
    block: Block,
    start: Starts,
    touched: Any,
    ids: Sequence[Any],
    grid: Sequence[int],
    parallel: Sequence[bool],
) -> list[Any]:
    """Update the race record after a point that touched some elements of a block."""
    owners, entered, *last = known[:-3]
    now = [_integers(0, ())] * len(last) if start is None else start
    point, lengths = _number(ids, grid), block.type.shape
    moved = _false()
    for x, y in zip(now, last, strict=True):
        moved = or_(moved, ne(x, y))
    entered = select_n(moved, entered, point)
    owner = part_of(owners, block, start)
    bad = or_(lt(owner, _spread(entered, lengths)), _apart(owner, ids, grid, parallel))
    bad = and_(and_(touched, bad), ge(owner, _integers(0, lengths)))
    n = max(1, prod(lengths))
    flat = shape.reshape(bad, shape=(n,))
    which = argmax(flat, axis=0, index_dtype=int32)
    rival = dynamic_slice(shape.reshape(owner, shape=(n,)), which, sizes=(1,))
    payload = [point, shape.reshape(rival, shape=())]
    mine = with_part(owners, select_n(touched, owner, _spread(point, lengths)), block, start)
    return [mine, entered, *now, *_first(known[-3:], any_of(flat), payload)]


def _apart(owner: Any, ids: Sequence[Any], grid: Sequence[int], parallel: Sequence[bool]) -> Any:
    """Whether owners differ from a point along a parallel axis."""
    lengths = typeof(owner).shape
    apart, stride = shape.full(lengths, False, bool_), points(grid)
    for x, n, is_parallel in zip(ids, grid, parallel, strict=False):
        stride //= n
        if is_parallel:
            theirs = rem(div(owner, _integers(stride, lengths)), _integers(n, lengths))
            apart = or_(apart, ne(theirs, _spread(x, lengths)))
    return apart


def _spread(x: Any, lengths: tuple[int, ...]) -> Any:
    """A scalar as an array."""
    return shape.broadcast_in_dim(x, shape=lengths, dims=())


def _integers(value: int, lengths: tuple[int, ...]) -> Any:
    return shape.full(lengths, value, int32)


def _another(x: Any) -> Any:
    """An array no element of which is the same."""
    zero = shape.full(typeof(x).shape, 0, typeof(x).dtype)
    return convert_element_type(eq(x, zero), dtype=typeof(x).dtype, weak_type=False)


def _same(x: Any, y: Any) -> Any:
    """Whether elements are equal, or both NaN."""
    return or_(eq(x, y), and_(ne(x, x), ne(y, y)))
