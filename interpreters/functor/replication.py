"""Sums over places that all have the same: what they give is known without asking the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from effax.effects.program import Equation, Program, Variable, written_out
from effax.effects.rows import collective, random
from effax.effects.rows.elementwise import mul
from effax.interpreters.stage import stage

_SHARED: Final = frozenset(
    {collective.psum, collective.pmax, collective.pmin, collective.all_gather}
)
"""Collectives that give all places along their axes the same."""
_OWN: Final = frozenset({random.rng_uniform, random.rng_bit_generator})
"""Effects of which each place may make something of its own."""


def without_known_sums(
    program: Program, shared: Sequence[frozenset[Any]], sizes: dict[Any, int]
) -> Program:
    """The program with a product in place of each sum over places that all have the same.

    Args:
      program: a program that each place along some axes runs.
      shared: for each input, the axes along which all places get the same.
      sizes: the number of places along each axis.
    """
    known: dict[Any, frozenset[Any]] = dict(zip(program.inputs, shared, strict=True))
    every = frozenset(sizes)
    sums: dict[Equation, frozenset[Any]] = {}
    for e in program.equations:
        found = every.intersection(*(known[x] for x in e.inputs if type(x) is Variable))
        if (
            e.effect is collective.psum
            and "axis_index_groups" not in e.attributes
            and found.intersection(e.attributes["axes"])
        ):
            sums[e] = found.intersection(e.attributes["axes"])
        along = _shared_along(e, found)
        known.update(dict.fromkeys(e.outputs, along))
    return _rewritten(program, sums, sizes) if sums else program


def _shared_along(e: Equation, operands: frozenset[Any]) -> frozenset[Any]:
    """The axes along which all places have the same results, where they have the same operands."""
    if e.effect in _SHARED and "axis_index_groups" not in e.attributes:
        return operands.union(e.attributes["axes"])
    if e.effect in _OWN or any(not entry.startswith("axis ") for entry in e.row):
        return frozenset()
    row = () if e.effect is collective.pvary else e.row
    own = {entry.removeprefix("axis ") for entry in row}
    return frozenset(name for name in operands if str(name) not in own)


def _rewritten(
    program: Program, sums: dict[Equation, frozenset[Any]], sizes: dict[Any, int]
) -> Program:
    def body(*values: Any) -> list[Any]:
        environment: dict[Any, Any] = dict(zip(program.inputs, values, strict=True))
        for e in program.equations:
            given = [environment[x] if type(x) is Variable else x.value for x in e.inputs]
            if e in sums:
                rest = tuple(name for name in e.attributes["axes"] if name not in sums[e])
                x = mul(given[0], prod(sizes[name] for name in sums[e]))
                environment[e.outputs[0]] = collective.psum(x, axes=rest) if rest else x
                continue
            result = e.effect(*given, **e.attributes)
            pairs = zip(e.outputs, result if e.effect.multiple else [result], strict=True)
            environment.update(pairs)
        return [environment[x] if type(x) is Variable else written_out(x) for x in program.outputs]

    return stage(body, program.in_types, program.name).program
