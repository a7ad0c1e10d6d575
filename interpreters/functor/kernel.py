"""Kernels under any handler: a kernel again, of a lifted program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.effect import Effect
from effax.effects.handler import outside
from effax.effects.program import Literal, Program, Variable
from effax.effects.rows.kernel import Block, kernel, scratch_types
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.functor.cutting import ID, interpret
from effax.interpreters.functor.fixpoints import fixpoint
from effax.interpreters.functor.lifting import (
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
from effax.interpreters.functor.meanings import meaning, meanings


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
        grid, n, blocks = attributes["grid"], attributes["scalars"], attributes["blocks"]
        held = scratch_types(attributes["program"], grid, n, blocks)
        return cls(tuple(operands[:n]), tuple(operands[n:]), blocks, held, len(grid) + n)


def lift_kernel(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lift a kernel's program: a kernel again, with a block for each leaf of a block's value.

    Where leaves are not arrays of which blocks can be cut as of the value, or the handler has a
    state or logs, which a grid can't thread, or the program may see elements that nobody set, the
    loop that the kernel means is lifted instead.
    """
    found = lifted_kernel(handler, operands, attributes)
    parts = _Parts.of(operands, attributes)
    if found is None or not (handler.keeps_unset or _sees_no_unset(found[1], parts, attributes)):
        with outside(handler):
            return interpret(*operands, **attributes)
    lifted, modes = found
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


def _sees_no_unset(modes: Sequence[Mode], parts: _Parts, attributes: dict[str, Any]) -> bool:
    """Whether what nobody set reaches no value of the handler's own, by the program's text.

    A block of a result or a scratch array is written before it is read, if the program doesn't use
    what it was; each block is written, if positions are points of the grid.
    """
    program: Program = attributes["program"]
    n, count = len(parts.arrays), len(parts.blocks)
    read = {x for e in program.equations for x in e.inputs} | set(program.outputs)
    begun = {n + result for _, result in attributes.get("aliases", ())}
    held = program.inputs[parts.before :]

    def sees(i: int) -> bool:
        if i < n:
            return parts.blocks[i].padded != parts.blocks[i].array.shape
        if i >= count:  # a scratch array
            return held[i] in read
        index, grid = attributes["maps"][i], attributes["grid"]
        return i not in begun and (
            held[i] in read or not _reaches_all(parts.blocks[i], index, grid)
        )

    return not any(mode is not PLAIN and sees(i) for i, mode in enumerate(modes))


def _reaches_all(block: Block, index: Program, grid: tuple[int, ...]) -> bool:
    """Whether an index map gives every block: each axis has one, or an axis of the grid."""
    free = dict(zip(index.inputs, grid, strict=False))
    for length, size, elements, single, position in zip(
        block.padded, block.sizes, block.elements, block.single, index.outputs, strict=True
    ):
        if not single and (elements or free.pop(position, None) != length // size):
            return False
    return True


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
            own = [
                block.behind(t, t.shape[:k], squeezed=False)
                for t, k in zip(types, axes, strict=True)
            ]
        found.append(own)
        programs += [_under(index, k) for k in axes]
    return found, programs


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
