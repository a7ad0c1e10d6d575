"""Programs in fewer boxes: the equations of a scope are one part, and so are those that repeat."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from effax.effects.program import Equation, Literal, Program, Variable

_FEWEST: Final = 6
"""Equations that are fewer, and stand in no scope, are not worth a box of their own."""
_LONGEST: Final = 400
_PARTS: Final = re.compile(r"/(?![^(]*\))")
_NUMBER: Final = re.compile(r"\d+")


class Part(NamedTuple):
    """Equations that are drawn as one box. Where they repeat, `program` is what happens first."""

    title: str
    note: str
    program: Program
    inputs: Sequence[Variable]
    outputs: Sequence[Variable]
    first: Equation
    times: int


Item = Equation | Part


def fold(program: Program, depth: int = 0) -> list[Item]:
    """The equations of a program and the parts that they form, in order.

    Equations that follow each other in one scope are a part, and then those items that repeat, but
    for the shapes of their values. `depth` is the number of scopes that are around already.
    """
    return _Folding(program, depth).repeated()


def scope_of(e: Equation, depth: int) -> str:
    """The scope of an equation inside so many others, or nothing."""
    scopes = _PARTS.split(e.scope)[depth:] if e.scope else []
    return scopes[0] if scopes else ""


class _Folding:
    """A program's items, with the places where each result is made, and used last."""

    def __init__(self, program: Program, depth: int) -> None:
        self.equations = equations = list(program.equations)
        self.last: dict[Variable, int] = {}
        for i, e in enumerate(equations):
            self.last.update((x, i) for x in e.inputs if type(x) is Variable)
        self.last.update((x, len(equations)) for x in program.outputs if type(x) is Variable)
        self.spans: list[tuple[int, int, str]] = []
        for i, e in enumerate(equations):
            scope = scope_of(e, depth)
            if scope and self.spans and self.spans[-1][2] == scope:
                start = self.spans.pop()[0]
                self.spans.append((start, i + 1, scope))
            else:
                self.spans.append((i, i + 1, scope))

    def part(self, start: int, stop: int, end: int, title: str, note: str, times: int) -> Part:
        """The part of the equations up to `end`, of which those up to `stop` are drawn."""
        inputs, outputs = self.border(start, end)
        program = Program(*self.around(start, stop), name=title)
        return Part(title, note, program, inputs, outputs, self.equations[start], times)

    def border(self, start: int, stop: int) -> tuple[list[Variable], list[Variable]]:
        """The variables that some equations take from outside, and those used further down."""
        inside = self.equations[start:stop]
        made = {x: None for e in inside for x in e.outputs}
        used = {x: None for e in inside for x in e.inputs if type(x) is Variable and x not in made}
        return list(used), [x for x in made if self.last.get(x, -1) >= stop]

    def around(self, start: int, stop: int) -> tuple[Any, list[Equation], Any]:
        inputs, outputs = self.border(start, stop)
        return inputs, self.equations[start:stop], outputs

    def item(self, start: int, stop: int, scope: str) -> Item:
        """The item of a span: an equation alone stays one."""
        if stop - start == 1:
            return self.equations[start]
        return self.part(start, stop, stop, scope, "", 1)

    def repeated(self) -> list[Item]:
        """The items, where each run of equal ones is one part."""
        keys = [self.key(*span) for span in self.spans]
        found: list[Item] = []
        i = 0
        while i < len(keys):
            period, times = self.best(keys, i)
            if times < 2:
                found.append(self.item(*self.spans[i]))
                i += 1
                continue
            start, scope = self.spans[i][0], self.spans[i][2]
            stop, end = self.spans[i + period - 1][1], self.spans[i + period * times - 1][1]
            title = scope if period == 1 else "repeated"
            note = f"{times} times, the first is shown"
            found.append(self.part(start, stop, end, title, note, times))
            i += period * times
        return found

    def key(self, start: int, stop: int, scope: str) -> Any:
        """Equal for spans that look alike but for the shapes of values."""
        return _NUMBER.sub("#", scope), tuple(map(_look, self.equations[start:stop]))

    def best(self, keys: Sequence[Any], i: int) -> tuple[int, int]:
        """The period and the number of repetitions, from here on, that cover the most."""
        rest = keys[i : i + 2 * _LONGEST]
        codes = np.array([hash(key) for key in rest])
        best = (1, 1)
        for period in range(1, len(rest) // 2 + 1):
            differ = np.flatnonzero(codes[:-period] != codes[period:])
            same = int(differ[0]) if differ.size else len(rest) - period
            times = self.alike(i, period, same // period + 1)
            covered = self.spans[i + period * times - 1][1] - self.spans[i][0]
            enough = covered >= _FEWEST if self.spans[i][2] else covered >= 2 * _FEWEST
            if times > 1 and enough and period * times > best[0] * best[1]:
                best = (period, times)
        return best if best[1] > 1 else (1, 1)

    def alike(self, i: int, period: int, times: int) -> int:
        """So many of the repetitions as are wired as the first one is."""
        if times < 2:
            return times
        first = self.wiring(i, period)
        for k in range(1, times):
            if self.wiring(i + k * period, period) != first:
                return k
        return times

    def wiring(self, i: int, period: int) -> list[Any]:
        """For each operand the place in the same repetition where it is made, if it is."""
        equations = self.equations[self.spans[i][0] : self.spans[i + period - 1][1]]
        places: dict[Any, tuple[int, int]] = {}
        found = []
        for j, e in enumerate(equations):
            found.append([places.get(x) for x in e.inputs])
            places.update((x, (j, k)) for k, x in enumerate(e.outputs))
        return found


def _look(e: Equation) -> Any:
    """An equation but for its variables and sizes."""
    operands = tuple(
        repr(x.value) if isinstance(x, Literal) else (x.type.dtype, x.type.ndim) for x in e.inputs
    )
    attributes = tuple(_NUMBER.sub("#", str(value)) for value in e.attributes.values())
    return e.effect, operands, attributes
