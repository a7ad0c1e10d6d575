"""Equations in an order that shows repetition: what is different in each layer stands apart.

The rows of a stacked parameter are cut out by slices whose attributes differ from layer to layer;
their cotangents are padded, each in its own way, and added. Slices of arguments can stand before
everything else, and sums that nothing but results needs after.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

from effax.backends.xla.pieces.letters import Alphabet, kind
from effax.effects.program import Equation, Program
from effax.effects.rows.elementwise import add

_RARE: Final = 3
"""A letter is rare where effect and types stand so many times as often with other attributes."""


def in_layers(program: Program, alphabet: Alphabet) -> tuple[list[Equation], int, int]:
    """The equations in another order, and how many stand apart at the start and at the end."""
    equations = program.equations
    letters, kinds = [alphabet.letter(e) for e in equations], [kind(e) for e in equations]
    times, alike = Counter(letters), Counter(kinds)
    rare = [
        alike[k] >= _RARE * times[n] and not e.row
        for e, n, k in zip(equations, letters, kinds, strict=True)
    ]
    early = _early(program, rare)
    late = _late(program, rare) - early
    first = [e for i, e in enumerate(equations) if i in early]
    middle = [e for i, e in enumerate(equations) if i not in early and i not in late]
    last = [e for i, e in enumerate(equations) if i in late]
    return [*first, *middle, *last], len(first), len(last)


def _early(program: Program, rare: list[bool]) -> set[int]:
    """The rare equations that need nothing but arguments."""
    known: set[Any] = set(program.inputs)
    found: set[int] = set()
    for i, e in enumerate(program.equations):
        if rare[i] and known.issuperset(e.inputs):
            found.add(i)
            known.update(e.outputs)
    return found


def _late(program: Program, rare: list[bool]) -> set[int]:
    """The rare equations that nothing but sums and results needs, and these sums."""
    users: dict[Any, list[int]] = defaultdict(list)
    for i, e in enumerate(program.equations):
        for x in e.inputs:
            users[x].append(i)
    idle: set[int] = set()
    for i in range(len(program.equations) - 1, -1, -1):
        e = program.equations[i]
        if (rare[i] or e.effect is add) and all(u in idle for x in e.outputs for u in users[x]):
            idle.add(i)
    found: set[int] = set()
    moved: set[Any] = set()
    for i, e in enumerate(program.equations):
        if i in idle and (rare[i] or not moved.isdisjoint(e.inputs)):
            found.add(i)
            moved.update(e.outputs)
    return found
