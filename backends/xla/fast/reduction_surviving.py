"""Whether a NaN of an array reaches all that depends on its extremum without the extremum's help.

XLA's own kernel for maxima loses NaNs, and one that keeps them takes longer. In

    exp(x - max(x)) / sum(exp(x - max(x)))

the NaN of a row comes through the difference and the sum, whatever the maximum was: so softmax,
logsumexp and what is written like them may take XLA's kernel. This follows a program's equations
from the extremum on. What depends on it is of one of three kinds:

    FREE   anything may be there: the extremum itself, and functions of it
    HALF   NaN where x is, anything elsewhere in such a row: x - max(x)
    NAN    NaN everywhere in such a row, as if the extremum had been: the sum of the above

All is well if no FREE and no HALF value gets into an equation that is not understood, or out.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from effax.effects.dtypes import bit_width, is_float
from effax.effects.program import Equation, Program, Variable
from effax.effects.rows import elementwise, reduction, selection, shape, transcendental
from effax.effects.rows.conversion import convert_element_type


class _Kind(enum.IntEnum):
    FREE = 0
    HALF = 1
    NAN = 2


class _Value(NamedTuple):
    """A kind, and for each axis which axis of x it runs along, None if along none."""

    kind: _Kind
    axes: tuple[int | None, ...]


UNARY: Final = frozenset(
    (
        *(elementwise.neg, elementwise.abs, elementwise.stop_gradient, elementwise.sqrt),
        *(transcendental.exp, transcendental.exp2, transcendental.expm1),
        *(transcendental.log, transcendental.log1p, transcendental.tanh),
    )
)
"""Effects of one operand that are NaN where it is."""
BINARY: Final = frozenset((elementwise.add, elementwise.sub, elementwise.mul, elementwise.div))
"""The same of two."""
OF_FREE: Final = frozenset(
    (elementwise.is_finite, selection.select_n, elementwise.max, elementwise.min)
)
"""Other effects, element by element, that are followed while no operand is HALF."""


Uses = Mapping[Variable, Sequence[int]]


def uses_of(program: Program) -> Uses:
    """For each variable the positions of the equations that read it."""
    found: dict[Variable, list[int]] = defaultdict(list)
    for i, e in enumerate(program.equations):
        for x in e.inputs:
            if type(x) is Variable:
                found[x].append(i)
    return found


def nan_survives(program: Program, uses: Uses, equation: Equation) -> bool:
    """Whether results of the program are the same if this extremum loses NaNs of its operand.

    The same extremum of the same operand elsewhere in the program loses them as well.
    """
    (x,) = equation.inputs
    if type(x) is not Variable:
        return False
    axes = equation.attributes["axes"]
    reduced = {a for a in axes if x.type.shape[a] > 1}
    kept = tuple(a for a in range(x.type.ndim) if a not in axes)
    copies = (program.equations[i] for i in uses[x])
    same = {x, *(e.outputs[0] for e in copies if e.effect is convert_element_type and _floats(e))}
    known: dict[Any, _Value] = {}
    pending: list[int] = []

    def note(variable: Variable, value: _Value) -> None:
        known[variable] = value
        for i in uses.get(variable, ()):
            heappush(pending, i)

    for i in uses[x]:
        e = program.equations[i]
        if e.effect is equation.effect and e.attributes == equation.attributes:
            note(e.outputs[0], _Value(_Kind.FREE, kept))
    last = -1
    while pending:
        i = heappop(pending)
        if i == last:
            continue
        e, last = program.equations[i], i
        inputs = [known.get(v) if type(v) is Variable else None for v in e.inputs]
        found = _followed(e, inputs, same, reduced)
        if found is not None:
            note(e.outputs[0], found)
        elif any(v is not None and v.kind is not _Kind.NAN for v in inputs):
            return False
    out = (known.get(v) for v in program.outputs if type(v) is Variable)
    return all(v is None or v.kind is _Kind.NAN for v in out)


def _floats(e: Equation) -> bool:
    """Whether operands and results are floats of kinds that all have a NaN."""
    dtypes = (v.type.dtype for v in (*e.inputs, *e.outputs))
    return all(is_float(d) and bit_width(d) >= 16 for d in dtypes)


def _followed(
    e: Equation, inputs: Sequence[_Value | None], same: set[Any], reduced: set[int]
) -> _Value | None:
    """The result's kind, None if this is not understood."""
    value = inputs[0]
    if e.effect in _MOVES:
        return None if value is None else _moved(e, value)
    if e.effect is reduction.reduce_sum:
        return None if value is None else _summed(e, value, reduced)
    if e.effect in UNARY or (e.effect is convert_element_type and _floats(e)):
        return value
    whole = tuple(range(e.outputs[0].type.ndim))
    values = [
        _Value(_Kind.HALF, whole) if v in same else given
        for v, given in zip(e.inputs, inputs, strict=True)
    ]
    met = [v for v in values if v is not None]
    axes = _aligned(e, met)
    if axes is None:
        return None
    if e.effect in BINARY:
        return _Value(max(v.kind for v in met), axes)
    free = e.effect in OF_FREE and all(v.kind is _Kind.FREE for v in met)
    return _Value(_Kind.FREE, axes) if free else None


def _aligned(e: Equation, values: Sequence[_Value]) -> tuple[int | None, ...] | None:
    """The axes of x that a result runs along, if the operands agree; axes of length 1 do."""
    lengths = e.outputs[0].type.shape
    axes: list[int | None] = []
    for k, n in enumerate(lengths):
        along = {v.axes[k] for v in values if len(v.axes) == len(lengths)} - {None}
        if len(along) > 1 and n > 1:
            return None
        axes.append(next(iter(along)) if along else None)
    same_rank = all(len(v.axes) == len(lengths) for v in values)
    return tuple(axes) if same_rank else None


def _summed(e: Equation, value: _Value, reduced: set[int]) -> _Value | None:
    """A sum over all places in a row that may have been a NaN."""
    over = {value.axes[a] for a in e.attributes["axes"]}
    rest = tuple(a for k, a in enumerate(value.axes) if k not in e.attributes["axes"])
    if value.kind is _Kind.NAN:
        return _Value(_Kind.NAN, rest)
    covered = value.kind is _Kind.HALF and reduced <= over
    return _Value(_Kind.NAN, rest) if covered else None


_MOVES: Final = frozenset((shape.reshape, shape.broadcast_in_dim, shape.transpose))


def _moved(e: Equation, value: _Value) -> _Value | None:
    """The axes after a change of shape; lengths other than 1 have to stay, in order."""
    before, after = e.inputs[0].type.shape, e.outputs[0].type.shape
    axes: list[int | None] = [None] * len(after)
    if e.effect is shape.transpose:
        return _Value(value.kind, tuple(value.axes[k] for k in e.attributes["permutation"]))
    if e.effect is shape.broadcast_in_dim:
        for k, to in enumerate(e.attributes["dims"]):
            axes[to] = value.axes[k] if before[k] == after[to] else None
        # Along a new axis HALF values have a NaN at each place: nothing that is lost.
        return _Value(value.kind, tuple(axes))
    long = [[k for k, n in enumerate(lengths) if n != 1] for lengths in (before, after)]
    if [before[k] for k in long[0]] != [after[k] for k in long[1]]:
        return None
    for here, there in zip(*long, strict=True):
        axes[there] = value.axes[here]
    return _Value(value.kind, tuple(axes))
