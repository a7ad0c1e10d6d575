"""Slices at steady distances along an array, as calls of one function.

An unrolled loop over the rows of an array takes a slice for each step, and XLA compiles a kernel
for each, in which its beginning is a constant. Here each call gives the next beginning besides its
slice: a constant would be put into each copy of the function.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any, Final

import numpy as np

from effax.backends.xla.fast.path import taken
from effax.backends.xla.pieces.keeping import size_of
from effax.backends.xla.pieces.renaming import renamed
from effax.effects.program import Atom, Equation, Literal, Program, Variable
from effax.effects.rows import indexing, shape
from effax.effects.rows.contraction import dot_general
from effax.effects.rows.control import call
from effax.effects.rows.elementwise import add
from effax.effects.types import ShapedArray, int32

LEAST: Final = 16
"""Fewer slices of an array stay as they are."""
WORK: Final = 4096
"""Products of numbers in a matrix product, for each slice, beside which a call costs little.

Where XLA could fuse steps with each other, a call in each would be the slower.
"""
SMALL: Final = 2048
"""Bytes of a slice that are copied in no time, where XLA would fuse it with what reads it."""
MOST: Final = np.iinfo(np.int32).max
"""Elements of an axis up to which starts are counted."""
_SCALAR: Final = ShapedArray((), int32)


def stepped(program: Program) -> Program:
    """The program with its steady slices as calls of functions."""
    if not taken("pieces"):
        return program
    groups: dict[Any, dict[tuple[int, ...], list[Equation]]] = defaultdict(dict)
    for e in program.equations:
        if e.effect is shape.slice and not e.attributes["strides"]:
            starts = groups[e.inputs[0], e.outputs[0].type]
            starts.setdefault(e.attributes["start"], []).append(e)
    many = {key: starts for key, starts in groups.items() if len(starts) >= LEAST}
    if not many:
        return program
    calls: dict[Equation, Equation] = {}
    values: dict[Any, Atom] = {}
    again: set[Equation] = set()
    most, fused = _products(program, {}), _fused(program)
    for (x, _), starts in many.items():
        step = _step(list(starts)) if len(starts) <= most else None
        outputs = [e.outputs[0] for same in starts.values() for e in same]
        copied = size_of(outputs[0]) <= SMALL or fused.isdisjoint(outputs)
        if step is not None and copied and max(x.type.shape) <= MOST:
            first = [same[0] for same in starts.values()]
            calls |= zip(first, _calls(first, *step), strict=True)
            for e, *others in starts.values():
                again |= {*others}
                values.update((x.outputs[0], e.outputs[0]) for x in others)
    if not calls:
        return program
    kept = [calls.get(e, e) for e in program.equations if e not in again]
    return renamed(program, kept, values)


def _fused(program: Program) -> set[Any]:
    """Values that are read, as they are or in another shape, by what XLA could fuse them with."""
    fused: set[Any] = set()
    for e in reversed(program.equations):
        if e.effect is shape.reshape:
            if e.outputs[0] in fused:
                fused.add(e.inputs[0])
        elif e.effect is not dot_general:
            fused |= {x for x in e.inputs if type(x) is Variable}
    return fused


def _products(program: Program, known: dict[Program, int]) -> int:
    """Return the number of products of matrices that are work, in functions too."""
    if program not in known:
        called = [e.attributes["program"] for e in program.equations if e.effect is call]
        own = sum(_work(e) >= WORK for e in program.equations)
        known[program] = own + sum(_products(p, known) for p in called)
    return known[program]


def _work(e: Equation) -> int:
    """The number of multiplications of a product of matrices."""
    if e.effect is not dot_general:
        return 0
    (left, _), _ = e.attributes["dimension_numbers"]
    return prod(e.outputs[0].type.shape) * prod(e.inputs[0].type.shape[i] for i in left)


def _step(starts: Sequence[tuple[int, ...]]) -> tuple[int, int] | None:
    """The axis along which beginnings are at one distance, and the distance, if there is one."""
    moves = {tuple(np.subtract(b, a).tolist()) for a, b in pairwise(starts)}
    (move,) = moves if len(moves) == 1 else ((),)
    axes = [axis for axis, by in enumerate(move) if by]
    return (axes[0], move[axes[0]]) if len(axes) == 1 else None


def _calls(group: Sequence[Equation], axis: int, step: int) -> Iterator[Equation]:
    """A call for each slice, which is given where it begins, and gives where the next does."""
    first = group[0]
    x, out = (Variable(None, y.type) for y in (first.inputs[0], first.outputs[0]))
    here, there = Variable(None, _SCALAR), Variable(None, _SCALAR)
    starts: list[Atom] = [_literal(i) for i in first.attributes["start"]]
    at, starts[axis] = starts[axis], here
    sizes = {"sizes": out.type.shape}
    body = [
        Equation(indexing.dynamic_slice, [x, *starts], sizes, [out], first.frame),
        Equation(add, [here, _literal(step)], {}, [there], first.frame),
    ]
    function = Program([x, here], body, [out, there], "slice")
    attributes = {"program": function, "name": "slice", "apart": True}
    for e in group:
        after = Variable(None, _SCALAR)
        outputs = [*e.outputs, after]
        yield Equation(call, [e.inputs[0], at], attributes, outputs, e.frame, e.scope)
        at = after


def _literal(value: int) -> Literal:
    return Literal(np.int32(value), _SCALAR)
