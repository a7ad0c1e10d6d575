"""Results of which parts are replaced after all of them was: they are put where they belong before.

A block in registers has no parts that are known only when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from effax.backends.xla.lowering.blocks.control import stays
from effax.backends.xla.lowering.blocks.writer import View
from effax.effects.program import Equation, Program
from effax.effects.rows import control, indexing, shape


def homes(program: Program, outs: Sequence[View]) -> dict[Any, View]:
    """The variables of which parts are replaced, and the memory of the result that each becomes."""
    becomes: dict[Any, View] = {}
    for x, out in zip(program.outputs, outs, strict=False):
        becomes[x] = out
    found: dict[Any, View] = {}
    for e in reversed(program.equations):
        for k, x in enumerate(e.outputs):
            if x not in becomes:
                continue
            for i, in_place in _origins(e, k):
                becomes.setdefault(e.inputs[i], becomes[x])
                if in_place:
                    found[e.inputs[i]] = becomes[x]
    return found


def _origins(e: Equation, k: int) -> Iterator[tuple[int, bool]]:
    """The operand that result k is a changed form of, and whether it is changed in its place."""
    told = e.attributes
    if e.effect is indexing.dynamic_update_slice:
        yield 0, True
    elif e.effect in (shape.pad, shape.slice):
        yield 0, False
    elif e.effect is control.scan and k < told["carry"]:
        i = told["consts"] + k
        if stays(told["body"], i, k):
            yield i, True
    elif e.effect is control.while_loop and stays(told["body"], told["body_consts"] + k, k):
        yield told["cond_consts"] + told["body_consts"] + k, True
    elif e.effect is control.cond:
        branches: tuple[Program, ...] = told["branches"]
        for i in range(len(e.inputs) - 1):
            if all(stays(b, i, k) for b in branches):
                yield i + 1, True
                return
