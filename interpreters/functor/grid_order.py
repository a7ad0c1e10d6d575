"""The order of a grid's points: which may run at once, and which are steps of a loop."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.program import Literal, Program
from effax.effects.rows import comparison, control, conversion, elementwise, logical

_KNOWN: Final[dict[Effect, Callable[..., Any]]] = {
    comparison.eq: operator.eq,
    comparison.ne: operator.ne,
    comparison.lt: operator.lt,
    comparison.le: operator.le,
    comparison.gt: operator.gt,
    comparison.ge: operator.ge,
    elementwise.add: operator.add,
    elementwise.sub: operator.sub,
    elementwise.mul: operator.mul,
    logical.and_: operator.and_,
    logical.or_: operator.or_,
}


def coordinates_used(index: Program, axes: int) -> set[int]:
    """The axes of the grid that an index map's results depend on."""
    used: dict[Any, set[int]] = {x: {k} for k, x in enumerate(index.inputs[:axes])}
    for e in index.equations:
        of_all = set[int]().union(*(used.get(x, set()) for x in e.inputs))
        used.update((x, of_all) for x in e.outputs)
    return set[int]().union(*(used.get(x, set()) for x in index.outputs))


def first_step(
    maps: Sequence[Program], grid: Sequence[int], parallel: Sequence[bool]
) -> tuple[int, list[int]]:
    """The first axis of the grid whose points are steps of a loop, as are those of all axes after
    it; and the axes before it that no result's block depends on.

    Points that differ along the steps' axes have the same blocks of all results.
    """
    moving = set[int]().union(*(coordinates_used(m, len(grid)) for m in maps))
    still = [
        k
        for k, n in enumerate(grid)
        if n > 1 and k not in moving and not (k < len(parallel) and parallel[k])
    ]
    first = len(grid)
    while first and (first - 1 in still or grid[first - 1] == 1):
        first -= 1
    return first, [k for k in still if k < first]


def reads_what_was(program: Program, zeros: Sequence[int], kept: Sequence[int]) -> bool:
    """Whether some result depends on inputs `kept`, where the scalar inputs `zeros` are 0.

    A branch that a known scalar decides is the one that counts: a kernel that sets up its scratch
    arrays at the first step does not depend on what they held before.
    """
    known: dict[Any, Any] = {program.inputs[i]: 0 for i in zeros}
    tainted = {program.inputs[i] for i in kept}
    return any(_walk(program, known, tainted))


def _walk(program: Program, known: dict[Any, Any], tainted: set[Any]) -> list[bool]:
    for e in program.equations:
        values = [x.value if type(x) is Literal else known.get(x) for x in e.inputs]
        if None not in values and all(not x.type.shape for x in e.outputs):
            found = _value(e.effect, values)
            if found is not None:
                known[e.outputs[0]] = found
                continue
        if e.effect is control.cond and values[0] is not None:
            branches = e.attributes["branches"]
            branch = branches[max(0, min(int(values[0]), len(branches) - 1))]
            own = dict(zip(branch.inputs, e.inputs[1:], strict=True))
            results = _walk(
                branch,
                {x: known[y] for x, y in own.items() if y in known},
                {x for x, y in own.items() if y in tainted},
            )
            tainted.update(x for x, is_so in zip(e.outputs, results, strict=True) if is_so)
        elif any(x in tainted for x in e.inputs):
            tainted.update(e.outputs)
    return [x in tainted for x in program.outputs]


def _value(effect: Effect, values: Sequence[Any]) -> Any:
    if effect is conversion.convert_element_type:
        return int(values[0])
    compute = _KNOWN.get(effect)
    return None if compute is None else compute(*values)
