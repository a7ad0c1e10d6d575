"""Equations cut into stretches: the repetitions of runs, and between them where few values pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from effax.backends.xla.pieces.keeping import size_of
from effax.backends.xla.pieces.runs import SHORTEST, Run
from effax.effects.program import Atom, Equation
from effax.effects.rows.convolution import conv_general_dilated

LONGEST: Final = 2 * SHORTEST

Stretch = tuple[int, int]
"""The first equation, and the one after the last."""


class Flow:
    """The equation that makes each variable, and the last that uses it."""

    def __init__(self, equations: Sequence[Equation], results: Sequence[Atom]) -> None:
        self.equations = equations
        self.made: dict[Any, tuple[int, int]] = {}
        self.last: dict[Any, int] = {}
        for i, e in enumerate(equations):
            self.last.update(dict.fromkeys(e.inputs, i))
            self.made.update({x: (i, k) for k, x in enumerate(e.outputs)})
        self.last.update(dict.fromkeys(results, len(equations)))

    def place(self, x: Any, other: int) -> int:
        """The equation that makes a value, or another number for what is given or written."""
        return self.made.get(x, (other, 0))[0]

    def groups(self, runs: Sequence[Run]) -> Iterator[list[Stretch]]:
        """Yield stretches that lie apart, those of the same flow of values together."""
        at = 0
        for run in sorted(runs, key=lambda r: r.start):
            begin, length = self.cut(run)
            stretches = range(begin, run.stop - length + 1, length)
            yield from ([one] for one in self._between(at, begin))
            alike: dict[Any, list[Stretch]] = defaultdict(list)
            for start in stretches:
                alike[self.inside(start, start + length)].append((start, start + length))
            yield from alike.values()
            at = stretches.stop if not stretches else stretches[-1] + length
        yield from ([one] for one in self._between(at, len(self.equations)))

    def cut(self, run: Run) -> tuple[int, int]:
        """The start of a run's first stretch, where few bytes pass, and the length of all."""
        times = (run.stop - run.start) // run.period
        least = -(-SHORTEST // run.period)
        count = min(range(least, 2 * least), key=lambda m: (times % m, m)) if least > 1 else 1
        length = run.period * min(count, times // 2)
        room = (run.stop - run.start) % length  # no stretch is lost by beginning so much later
        at = self._passing[run.start : run.stop + 1]
        offsets = [at[k::length].mean() for k in range(min(run.period, room + 1))]
        return run.start + int(np.argmin(offsets)), length

    def _between(self, start: int, stop: int) -> Iterator[Stretch]:
        """Yield stretches of equations that do not repeat, cut where little passes.

        Effects are performed in order. Of convolutions that stand in a function of their own, XLA
        compiles some to slower code.
        """
        barriers = [
            i
            for i in range(start, stop)
            if self.equations[i].effect is conv_general_dilated or self.equations[i].row
        ]
        for end in (*barriers, stop):
            while end - start >= 2 * SHORTEST:
                window = self._passing[start + SHORTEST : min(start + LONGEST, end - SHORTEST) + 1]
                middle = start + SHORTEST + int(np.argmin(window))
                yield start, middle
                start = middle
            if end - start >= SHORTEST:
                yield start, end
            start = end + 1

    @cached_property
    def _passing(self) -> npt.NDArray[np.float64]:
        """The bytes that pass each place: of values used soon, since others pass in any case."""
        change = np.zeros(len(self.equations) + 2)
        for x, (i, _) in self.made.items():
            last = self.last.get(x, i)
            if last - i <= 2 * LONGEST:
                change[i + 1] += size_of(x)
                change[last + 1] -= size_of(x)
        return np.cumsum(change)

    def inside(self, start: int, stop: int) -> tuple[Any, tuple[tuple[int, int], ...]]:
        """The flow of values within a stretch, and which of them are needed outside."""
        inner: list[Any] = []
        outputs: list[tuple[int, int]] = []
        for i in range(start, stop):
            e = self.equations[i]
            for x in e.inputs:
                made, k = self.made.get(x, (-1, 0))
                inner.append((made - start, k) if made >= start else None)
            for k, x in enumerate(e.outputs):
                if self.last.get(x, i) >= stop:
                    outputs.append((i - start, k))
        return tuple(inner), tuple(outputs)
