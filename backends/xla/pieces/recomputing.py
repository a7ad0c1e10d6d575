"""Values that are computed again where they are needed much later, instead of being kept.

XLA fuses a cheap operation into each of its uses, and keeps its operands only. A function's results
are all kept, so that here the choice is made before: of the values that a layer leaves to its
derivative, those are computed again that are cheap functions of others that stay anyway, or of
smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Final

import attrs

from effax.backends.xla.pieces.cutting import Flow
from effax.backends.xla.pieces.fusing import MOVES, is_cheap
from effax.backends.xla.pieces.keeping import size_of
from effax.backends.xla.pieces.runs import Run
from effax.effects.program import Equation, Variable

_DEPTH: Final = 6


def recomputing(flow: Flow, runs: Sequence[Run]) -> list[Equation]:
    """The equations with cheap values computed again where that is far from where they are made.

    A use is far where it is more than two stretches away: in another layer, or in the derivative.
    """
    equations = flow.equations
    far, stretch = [0] * len(equations), [-1] * len(equations)
    for group in flow.groups(runs):
        for start, stop in group:
            for i in range(start, stop):
                far[i], stretch[i] = 2 * (stop - start), start
    kept: set[Any] = set()
    for i, e in enumerate(equations):
        for x in e.inputs:
            made = flow.place(x, i)
            if far[made] and i - made > far[made]:
                kept.add(x)
    again = _Choice(flow, stretch, kept).choose()
    return _with_copies(flow, again, far) if again else list(equations)


class _Choice:
    """The choice of far values to keep, and of those to compute again."""

    def __init__(self, flow: Flow, stretch: Sequence[int], kept: set[Any]) -> None:
        self.equations = flow.equations
        self.made = {x: i for x, (i, _) in flow.made.items()}
        self.stretch = stretch
        self.kept = kept
        self.needed: set[Any] = set()
        self.again: set[Any] = set()

    def choose(self) -> set[Any]:
        """The values to compute again, from those that are kept: the latest are tried first.

        A value from which one of another stretch is computed stays: a chain through all stretches
        would come of it.
        """
        queue = [-self.made[x] for x in self.kept]
        heapify(queue)
        while queue:
            e = self.equations[-heappop(queue)]
            x = e.outputs[0]
            if not is_cheap(e) or x not in self.kept or x in self.needed:
                continue
            way = _Way()
            for y in e.inputs:
                self._reach(y, way, _DEPTH)
            if sum(map(size_of, way.missing)) > size_of(x):
                continue
            self.kept.discard(x)
            self.again |= {x, *way.passed}
            home = self.stretch[self.made[x]]
            leaves = way.kept | way.missing
            self.needed |= {y for y in leaves if self.stretch[self.made[y]] != home}
            for y in way.missing:
                self.kept.add(y)
                heappush(queue, -self.made[y])
        return self.again - self.kept

    def _reach(self, x: Any, way: _Way, depth: int) -> None:
        """Follow a value back to those that are kept, or must be for it."""
        if x not in self.made or self.stretch[self.made[x]] < 0 or x in way.passed:
            return
        if x in self.kept:
            way.kept.add(x)
            return
        e = self.equations[self.made[x]]
        if depth and is_cheap(e):
            before = _Way()
            for y in e.inputs:
                self._reach(y, before, depth - 1)
            if e.effect.name in MOVES or not before.missing:
                way.passed.update({x, *before.passed})
                way.missing.update(before.missing)
                way.kept.update(before.kept)
                return
        way.missing.add(x)


@attrs.frozen
class _Way:
    """The way to compute a value again."""

    passed: set[Any] = attrs.field(factory=set)
    kept: set[Any] = attrs.field(factory=set)
    missing: set[Any] = attrs.field(factory=set)


def _with_copies(flow: Flow, again: set[Any], far: Sequence[int]) -> list[Equation]:
    """The equations, with copies of some in front of far uses of what they give."""
    made: list[Equation] = []
    copies: dict[Any, tuple[int, Variable]] = {}

    def there(x: Any, at: int) -> Any:
        """The value, computed again for the equation there if it was made far from it."""
        place = flow.place(x, at) if x in again else at
        if at - place <= far[place]:
            return x
        if x not in copies or at - copies[x][0] > far[place]:
            e = flow.equations[place]
            ins, out = [there(y, at) for y in e.inputs], Variable(None, x.type)
            made.append(Equation(e.effect, ins, e.attributes, [out], e.frame, e.scope))
            copies[x] = at, out
        return copies[x][1]

    for i, e in enumerate(flow.equations):
        ins = [there(x, i) for x in e.inputs]
        same = all(a is b for a, b in zip(ins, e.inputs, strict=True))
        made.append(
            e if same else Equation(e.effect, ins, e.attributes, e.outputs, e.frame, e.scope)
        )
    return made
