"""Kernels under any handler, and what they mean: a loop over the grid that cuts blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects import control, shape
from effax.effects.effect import Effect
from effax.effects.elementwise import mul
from effax.effects.handler import outside
from effax.effects.indexing import dynamic_slice, dynamic_update_slice, fill_default
from effax.effects.kernel import Block, kernel, points
from effax.effects.program import Literal, Program, Variable
from effax.effects.shape import expand_dims, squeeze
from effax.effects.types import ShapedArray, int32, typeof
from effax.interpreters.fixpoints import fixpoint
from effax.interpreters.lifting import (
    PLAIN,
    Lifted,
    Lifting,
    Mode,
    functor,
    leaf_count,
    leaves_of,
    lift,
    raised,
)
from effax.interpreters.meanings import meaning, meanings
from effax.interpreters.stage import stage

ID: Final = ShapedArray((), int32)
"""The type of a coordinate of a point."""


def interpret(
    *operands: Any,
    program: Program,
    maps: tuple[Program, ...],
    blocks: tuple[Block, ...],
    grid: tuple[int, ...],
    scalars: int,
    aliases: tuple[tuple[int, int], ...] = (),
    unset: str = "nan",
    **_: Any,
) -> list[Any]:
    """Run a kernel as a loop over its grid, in order, on blocks cut out of padded arrays."""
    told, arrays = operands[:scalars], operands[scalars:]
    n = len(arrays)
    begins = {result: arrays[i] for i, result in aliases}
    inputs = [_padded(x, b, unset) for x, b in zip(arrays, blocks, strict=False)]
    results = [
        _padded(begins[i], b, unset) if i in begins else _blank(b.padded, b.array.dtype, unset)
        for i, b in enumerate(blocks[n:])
    ]
    held = program.in_types[len(grid) + scalars + len(blocks) :]
    carry = [*results, *(_blank(t.shape, t.dtype, unset) for t in held)]
    first, second = len(told), len(told) + n

    def step(values: Sequence[Any], ids: Sequence[Any]) -> list[Any]:
        told, given, carry = values[:first], values[first:second], values[second:]
        written, scratch = carry[: len(results)], carry[len(results) :]
        at = [_starts(b, m.run(*ids, *told)) for b, m in zip(blocks, maps, strict=True)]
        cut = [_read(*one) for one in zip((*given, *written), blocks, at, strict=True)]
        after = program.run(*ids, *told, *cut, *scratch)
        stored = zip(written, after, blocks[n:], at[n:], strict=False)
        return [*(_stored(*one) for one in stored), *after[len(results) :]]

    values = [*told, *inputs, *carry]
    length = points(grid)
    if length == 1:
        carry = step(values, [shape.scalar(0, int32)] * len(grid))
    elif length:
        ids = _coordinates(grid)
        types = [*map(typeof, values), *[ID] * len(grid)]
        body = stage(lambda *xs: step(xs[: len(values)], xs[len(values) :]), types, program.name)
        carry = control.scan(
            *body.captured,
            *values,
            *ids,
            body=body.program,
            consts=len(body.captured) + second,
            carry=len(carry),
            length=length,
            reverse=False,
            unroll=1,
        )
    return [_inside(x, b) for x, b in zip(carry, blocks[n:], strict=False)]


def _coordinates(grid: Sequence[int]) -> list[Any]:
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


def _starts(block: Block, positions: Sequence[Any]) -> list[Any] | None:
    """The first element of a block along each axis; None for a block that is the whole array."""
    if all(block.single):
        return None
    starts = []
    for x, n, by_element, single in zip(
        positions, block.sizes, block.elements, block.single, strict=True
    ):
        start = shape.scalar(0, int32) if single else x
        starts.append(start if by_element or single or n == 1 else mul(start, n))
    return starts


def _read(x: Any, block: Block, starts: list[Any] | None) -> Any:
    if starts is not None:
        x = dynamic_slice(x, *starts, sizes=block.sizes)
    gone = [i for i, is_gone in enumerate(block.squeezed) if is_gone]
    return squeeze(x, gone) if gone else x


def _stored(x: Any, value: Any, block: Block, starts: list[Any] | None) -> Any:
    gone = [i for i, is_gone in enumerate(block.squeezed) if is_gone]
    value = expand_dims(value, gone) if gone else value
    return value if starts is None else dynamic_update_slice(x, value, *starts)


@attrs.frozen
class _Parts:
    """The inputs of a kernel's program, by what they are."""

    scalars: tuple[Any, ...]
    arrays: tuple[Any, ...]
    blocks: tuple[Block, ...]
    scratch: tuple[ShapedArray, ...]
    before: int
    """The number of coordinates and scalars."""

    @classmethod
    def of(cls, operands: Sequence[Any], attributes: dict[str, Any]) -> _Parts:
        """Take the operands and attributes of a kernel apart."""
        n, blocks = attributes["scalars"], attributes["blocks"]
        before = len(attributes["grid"]) + n
        held = attributes["program"].in_types[before + len(blocks) :]
        return cls(tuple(operands[:n]), tuple(operands[n:]), blocks, held, before)


def lift_kernel(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lift a kernel's program: a kernel again, with a block for each leaf of a block's value.

    Where leaves are not arrays of which blocks can be cut as of the value, or the handler has a
    state or logs, which a grid can't thread, the loop that the kernel means is lifted instead.
    """
    found = lifted_kernel(handler, operands, attributes)
    if found is None:
        with outside(handler):
            return interpret(*operands, **attributes)
    lifted, modes = found
    parts = _Parts.of(operands, attributes)
    n = len(parts.arrays)
    blocks, maps = _leaf_blocks(handler, modes, parts.blocks, attributes["maps"])
    none = [Block.whole(typeof(x)) for x in lifted.captured]
    types = attributes["program"].in_types[: parts.before]
    results = effect(
        *parts.scalars,
        *lifted.captured,
        *(y for x, m in zip(parts.arrays, modes, strict=False) for y in leaves_of(handler, x, m)),
        **{
            **attributes,
            "program": _reordered(lifted, parts.before),
            "maps": (*(origin(types, len(b.sizes)) for b in none), *maps),
            "blocks": (*none, *(b for own in blocks for b in own)),
            "aliases": _leaf_aliases(attributes.get("aliases", ()), blocks, n, len(none)),
            **({} if all(len(own) == 1 for own in blocks) else {"unset": "zero"}),
        },
    )
    rest, values = list(results), []
    for mode, block in zip(modes[n:], parts.blocks[n:], strict=False):
        count = leaf_count(handler, mode, block.array)
        leaves, rest = rest[:count], rest[count:]
        values.append(leaves[0] if mode is PLAIN else handler.value(mode, leaves))
    return values


def lifted_kernel(
    handler: Lifting, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> tuple[Lifted, tuple[Mode, ...]] | None:
    """The program lifted at the modes that results and scratch arrays keep; None if it can't be."""
    parts = _Parts.of(operands, attributes)
    state = handler.state_mode()
    if handler.state_types(state) or any(map(handler.owns, parts.scalars)):
        return None
    program: Program = attributes["program"]
    n = len(parts.arrays)
    aliases = attributes.get("aliases", ())
    ins = list(map(handler.mode, parts.arrays))
    kept: tuple[Mode, ...] = (PLAIN,) * (len(parts.blocks) - n + len(parts.scratch))
    plain = (PLAIN,) * parts.before

    def step_at(given: tuple[Mode, ...]) -> Callable[..., Lifted]:
        return lambda c, s: lift(program, handler, (*plain, *given, *c), s)

    while True:
        carry = list(kept)
        for i, result in aliases:
            carry[result] = ins[i] = handler.join(carry[result], ins[i])
        step, kept, state = fixpoint(handler, step_at(tuple(ins)), tuple(carry), state)
        if all(kept[result] == ins[i] for i, result in aliases):
            break
    step = raised(step, kept, state, program, handler, (*plain, *ins, *kept), state)
    modes = (*ins, *kept)
    if step.log or handler.state_types(state):
        return None
    cut = zip(modes, parts.blocks, strict=False)
    if not all(mode is PLAIN or _cuts(handler, mode, block) for mode, block in cut):
        return None
    return step, modes


def _cuts(handler: Lifting, mode: Mode, block: Block) -> bool:
    """Whether blocks of the leaves are leaves of the blocks."""
    wholes = handler.leaf_types(mode, block.array)
    cuts = handler.leaf_types(mode, block.type)
    axes = handler.leaf_axes(mode) or (0,) * len(wholes)
    return len(wholes) == len(cuts) == len(axes) and all(
        a.shape[:k] == b.shape[:k]
        and a.shape[k:] == block.array.shape
        and b.shape[k:] == block.type.shape
        and a.dtype == b.dtype
        for a, b, k in zip(wholes, cuts, axes, strict=True)
    )


def _leaf_blocks(
    handler: Lifting, modes: Sequence[Mode], blocks: Sequence[Block], maps: Sequence[Program]
) -> tuple[list[list[Block]], list[Program]]:
    """The blocks of each value's leaves, and the index maps of all."""
    found: list[list[Block]] = []
    programs: list[Program] = []
    for mode, block, index in zip(modes, blocks, maps, strict=False):
        own, axes = [block], [0]
        if mode is not PLAIN:
            types = handler.leaf_types(mode, block.array)
            axes = list(handler.leaf_axes(mode)) or [0] * len(types)
            own = [_deeper(block, t, k) for t, k in zip(types, axes, strict=True)]
        found.append(own)
        programs += [_under(index, k) for k in axes]
    return found, programs


def _deeper(block: Block, array: ShapedArray, axes: int) -> Block:
    """The block of a leaf that has so many axes in front, of which each block has all."""
    no = (False,) * axes
    return Block(
        array,
        (*array.shape[:axes], *block.sizes),
        (*no, *block.squeezed),
        (*no, *block.elements),
        (*((0, 0),) * axes, *block.padding),
        block.space,
    )


def _under(index: Program, axes: int) -> Program:
    """The index map of a leaf with so many axes in front."""
    if not axes:
        return index
    zeros = [Literal(0, ID)] * axes
    return Program(index.inputs, index.equations, [*zeros, *index.outputs], index.name)


def origin(types: Sequence[ShapedArray], axes: int) -> Program:
    """The index map of a block that is a whole array, of coordinates and scalars of these types."""
    return Program([Variable(None, t) for t in types], [], [Literal(0, ID)] * axes, "index_map")


def _reordered(lifted: Lifted, before: int) -> Program:
    """The lifted program, with what it captured after coordinates and scalars."""
    n, p = len(lifted.captured), lifted.program
    if not n:
        return p
    inputs = [*p.inputs[n : n + before], *p.inputs[:n], *p.inputs[n + before :]]
    return Program(inputs, p.equations, p.outputs, p.name)


def _leaf_aliases(
    aliases: Sequence[tuple[int, int]], blocks: Sequence[Sequence[Block]], n: int, captured: int
) -> tuple[tuple[int, int], ...]:
    starts = [captured]
    for own in blocks:
        starts.append(starts[-1] + len(own))
    return tuple(
        (starts[i] + k, starts[n + result] - starts[n] + k)
        for i, result in aliases
        for k in range(len(blocks[i]))
    )


def loop(types: Sequence[ShapedArray], attributes: dict[str, Any]) -> Program:
    """The loop that a kernel means, as a program of its operands."""
    found = meaning(kernel, types, attributes)
    assert found is not None and not found.captured  # `interpret` closes over nothing
    return found.program


functor[kernel] = lift_kernel
meanings[kernel] = interpret
