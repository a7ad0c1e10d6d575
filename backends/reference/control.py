"""Control flow as Python's own: calls are calls, loops are loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.backends.reference.evaluate import run
from effax.backends.reference.table import rule
from effax.effects.program import Program
from effax.effects.rows import control, custom
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.custom_linear import forward

Array = np.ndarray[Any, Any]


@rule(
    control.call,
    control.remat,
    custom.custom_jvp_call,
    custom.custom_vjp_call,
    custom.custom_vmap_call,
    custom.each_lane,
)
def reference_call(*operands: Array, program: Program, **_: Any) -> list[Array]:
    return run(program, operands)


@rule(custom.custom_vjp_forward)
def reference_custom_forward(*operands: Array, forward: Program, **_: Any) -> list[Array]:
    return run(forward, operands)


@rule(custom.custom_linear)
def reference_custom_linear(
    *operands: Array, residuals: int, out_types: tuple[ShapedArray, ...], backward: Any
) -> list[Array]:
    found = forward(residuals, out_types, backward, list(map(typeof, operands)))
    return run(found.program, [*map(np.asarray, found.captured), *operands])


@rule(control.cond)
def reference_cond(index: Array, *operands: Array, branches: tuple[Program, ...]) -> list[Array]:
    return run(branches[int(np.clip(index, 0, len(branches) - 1))], operands)


@rule(control.while_loop)
def reference_while(
    *operands: Array,
    cond: Program,
    body: Program,
    cond_consts: int,
    body_consts: int,
    checkpoints: int = 0,
    trail: tuple[int, tuple[bool, ...]] | None = None,
) -> list[Array]:
    n, m = cond_consts, cond_consts + body_consts
    before, within, carry = operands[:n], operands[n:m], list(operands[m:])
    while run(cond, [*before, *carry])[0]:
        carry = run(body, [*within, *carry])
    return carry


@rule(control.scan)
def reference_scan(
    *operands: Array,
    body: Program,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
    unroll: int,
    split_transpose: bool = False,
) -> Sequence[Array]:
    fixed, carried = operands[:consts], list(operands[consts : consts + carry])
    xs = operands[consts + carry :]
    stacks = [np.empty((length, *t.shape), t.dtype) for t in body.out_types[carry:]]
    for i in reversed(range(length)) if reverse else range(length):
        results = run(body, [*fixed, *carried, *(x[i] for x in xs)])
        carried = results[:carry]
        for stack, y in zip(stacks, results[carry:], strict=True):
            stack[i] = y
    return [*carried, *stacks]
