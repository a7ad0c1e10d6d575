"""Batching of kernels: the batch is one more axis of the grid, the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.program import Program, Variable
from effax.effects.rows.kernel import Block, kernel
from effax.interpreters.batch.batched import Batch, Batched, repeat
from effax.interpreters.functor.cutting import ID
from effax.interpreters.functor.grid_order import reads_what_was
from effax.interpreters.functor.kernel import lift_kernel, lifted_kernel
from effax.interpreters.functor.lifting import PLAIN, Mode


def batch_kernel(
    handler: Batch, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Run the kernel for each lane in turn.

    There is one run, on blocks of all lanes, where some results are the same in all; where lanes
    differ in a scalar, which tells where blocks lie; where the kernel performs what each lane or a
    named axis answers, or may find in its scratch arrays what a lane before left there.
    """
    n = attributes["scalars"]
    program: Program = attributes["program"]
    before = len(attributes["grid"]) + n + len(attributes["blocks"])
    kept = range(before, len(program.inputs))
    apart = not program.row and not (
        kept and reads_what_was(program, range(len(attributes["grid"])), kept)
    )
    found = lifted_kernel(handler, operands, attributes) if apart else None
    if found is None or PLAIN in _of_results(found[1], len(operands) - n, attributes):
        return lift_kernel(handler, effect, operands, attributes)
    size, blocks = handler.size, attributes["blocks"]
    parallel = attributes.get("parallel", ())
    aliased = {i for i, _ in attributes.get("aliases", ())}
    lanes = [handler.owns(x) or i in aliased for i, x in enumerate(operands[n:])]
    arrays = [
        (x.many if handler.owns(x) else repeat(x, size)) if own else x
        for x, own in zip(operands[n:], lanes, strict=True)
    ]
    lanes += [True] * (len(blocks) - len(lanes))
    results = effect(
        *operands[:n],
        *arrays,
        **{
            **attributes,
            "program": _of_lane(program, positions=False),
            "maps": tuple(
                _of_lane(m, positions=own) for m, own in zip(attributes["maps"], lanes, strict=True)
            ),
            "blocks": tuple(
                _row(b, size) if own else b for b, own in zip(blocks, lanes, strict=True)
            ),
            "grid": (size, *attributes["grid"]),
            "parallel": (True, *parallel) if parallel else (),
        },
    )
    return [Batched(handler, x) for x in results]


def _of_results(modes: Sequence[Mode], inputs: int, attributes: dict[str, Any]) -> Sequence[Mode]:
    return modes[inputs : len(attributes["blocks"])]


def _of_lane(program: Program, *, positions: bool) -> Program:
    """The program that takes the number of the lane first, and of `positions` gives it first."""
    key = "of lane", positions
    found = program.memo.get(key)
    if found is None:
        lane = Variable(None, ID)
        outputs = (lane, *program.outputs) if positions else program.outputs
        made = Program((lane, *program.inputs), program.equations, outputs, program.name)
        found = program.memo[key] = made
    return found


def _row(block: Block, size: int) -> Block:
    """The block of one lane of many arrays."""
    many = block.array.update(shape=(size, *block.array.shape))
    return block.behind(many, (1,), squeezed=True)


Batch.overrides[kernel] = batch_kernel
