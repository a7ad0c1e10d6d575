"""Collectives that some places would never reach: refused before XLA waits for them.

XLA's collectives wait until every place of a group has come, and abort where one never does.
Here a program is computed at each place as far as it follows from `axis_index` and constants. Where
a branch or a loop is chosen by such a value, places of one group that choose differently must not
meet in a collective. A predicate that depends on operands may be the same at all places, and is not
judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from effax.backends.reference.evaluate import evaluate_effect, literal_array
from effax.effects.errors import CollectiveDivergenceError, MissingRuleError
from effax.effects.program import Atom, Equation, Program, Variable
from effax.effects.rows import collective, control, custom
from effax.effects.rows.shape import dimension_as_value
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic

Known = tuple[Any, ...] | None
"""A value at each place, or None where it depends on operands."""
_LARGEST: Final = 64
"""Larger arrays than this are taken for unknown: predicates are scalars."""
_OPENED: Final = (control.call, control.remat, *custom.RULED)


def _is_large(type: ShapedArray) -> bool:
    """Whether a value is taken for unknown because of its size, or because that is symbolic."""
    return is_symbolic(type.shape) or type.size > _LARGEST


def refuse_divergence(program: Program, axes: Mapping[Any, int]) -> None:
    """Refuse a program in which places along these axes surely part before a collective.

    Raises `CollectiveDivergenceError`.
    """
    if any(f"axis {name}" in program.row for name in axes):
        places = [dict(zip(axes, at, strict=True)) for at in product(*map(range, axes.values()))]
        _Places(places).run(program, [None] * len(program.inputs))


class _Places:
    """The values of a program at each of some places, as far as they are known."""

    def __init__(self, places: Sequence[Mapping[Any, int]]) -> None:
        self.places = places

    def run(self, program: Program, inputs: Sequence[Known]) -> list[Known]:
        """The results as far as they are known."""
        known: dict[Variable, Known] = dict(zip(program.inputs, inputs, strict=True))
        for e in program.equations:
            operands = [self._known(x, known) for x in e.inputs]
            known.update(zip(e.outputs, self.perform(e, operands), strict=True))
        return [self._known(x, known) for x in program.outputs]

    def _known(self, x: Atom, known: Mapping[Variable, Known]) -> Known:
        if isinstance(x, Variable):
            return known.get(x)
        return None if _is_large(x.type) else (literal_array(x),) * len(self.places)

    def perform(self, e: Equation, operands: Sequence[Known]) -> Sequence[Known]:
        """Return the results of an equation as far as they are known."""
        unknown = [None] * len(e.outputs)
        if e.effect is collective.axis_index:
            (axis,) = e.attributes["axes"]
            if axis not in self.places[0]:
                return unknown
            return [tuple(np.int32(at[axis]) for at in self.places)]
        if e.effect in _OPENED:
            return self.run(e.attributes["program"], operands)
        if e.effect is control.cond:
            return self._branches(e, operands)
        if e.effect is control.while_loop:
            self._loop(e, operands)
        if e.effect.higher_order:
            for inner in e.programs():
                self.run(inner, [None] * len(inner.inputs))
            return unknown
        if e.effect.answerable or any(x is None for x in operands):
            return unknown
        if e.effect is dimension_as_value or any(_is_large(x.type) for x in e.outputs):
            return unknown
        return self._computed(e, operands)

    def _computed(self, e: Equation, operands: Sequence[Any]) -> Sequence[Known]:
        types = [x.type for x in e.outputs]
        try:
            rows = [
                evaluate_effect(e.effect, [*map(np.asarray, row)], types, e.attributes)
                for row in zip(*operands, strict=True)
            ] or [evaluate_effect(e.effect, [], types, e.attributes)] * len(self.places)
        except MissingRuleError:
            return [None] * len(types)
        return [*zip(*rows, strict=True)]

    def _branches(self, e: Equation, operands: Sequence[Known]) -> Sequence[Known]:
        index, branches = operands[0], e.attributes["branches"]
        results = [self.run(branch, operands[1:]) for branch in branches]
        if index is None:
            return [None] * len(e.outputs)
        chosen = [int(np.clip(i, 0, len(branches) - 1)) for i in index]
        self._refuse(e, chosen, branches)
        if len(set(chosen)) > 1:
            return [None] * len(e.outputs)
        return results[chosen[0]]

    def _loop(self, e: Equation, operands: Sequence[Known]) -> None:
        """Whether a first step is taken; how many follow is not known."""
        a = e.attributes
        n, m = a["cond_consts"], a["body_consts"]
        (more,) = self.run(a["cond"], [*operands[:n], *operands[n + m :]])
        if more is not None:
            self._refuse(e, [bool(x) for x in more], (a["body"],))

    def _refuse(self, e: Equation, chosen: Sequence[Any], programs: Sequence[Program]) -> None:
        for axis in self.places[0]:
            if not any(f"axis {axis}" in p.row for p in programs):
                continue
            groups: dict[Any, dict[Any, int]] = {}
            for at, choice in zip(self.places, chosen, strict=True):
                others = tuple(i for name, i in at.items() if name != axis)
                groups.setdefault(others, {}).setdefault(choice, at[axis])
            for group in groups.values():
                if len(group) > 1:
                    raise CollectiveDivergenceError.of(e, axis, group)
