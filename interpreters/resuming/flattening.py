"""Chains of calls written out, without a level of Python's stack for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from effax.effects.program import Equation, Program
from effax.effects.rows.control import call

REST = "rest"
"""The name of calls that hand over to the rest of a computation: they alone are written out."""


def flattened(program: Program) -> Program:
    """The program with each rest that is called from one place written out in that place.

    A program is called from one place, so its variables need no other names. Rests that several
    places call stay programs of their own.
    """
    uses = _uses(program)
    standing: dict[Any, Any] = {}  # by variable of a program written out: its replacement
    equations: list[Equation] = []
    open_calls: list[tuple[Iterator[Equation], Equation | None]] = [(iter(program.equations), None)]
    while open_calls:
        remaining, caller = open_calls[-1]
        e = next(remaining, None)
        if e is None:
            open_calls.pop()
            if caller is not None:
                results = caller.attributes["program"].outputs
                found = [standing.get(x, x) for x in results]
                standing.update(zip(caller.outputs, found, strict=True))
            continue
        inputs = [standing.get(x, x) for x in e.inputs]
        if _hands_over(e) and uses[e.attributes["program"]] == 1:
            inner = e.attributes["program"]
            standing.update(zip(inner.inputs, inputs, strict=True))
            open_calls.append((iter(inner.equations), e))
        else:
            equations.append(Equation(e.effect, inputs, e.attributes, e.outputs, e.frame, e.scope))
    outputs = [standing.get(x, x) for x in program.outputs]
    return Program(program.inputs, equations, outputs, program.name)


def _hands_over(e: Equation) -> bool:
    return e.effect is call and e.attributes.get("name") == REST


def _uses(program: Program) -> Counter[Program]:
    """Count the places that call each rest, in programs inside of equations too."""
    uses: Counter[Program] = Counter()
    waiting = [program]
    while waiting:
        for e in waiting.pop().equations:
            for inner in e.programs():
                uses[inner] += 1
                if uses[inner] == 1:
                    waiting.append(inner)
    return uses
