"""Steps of a loop that do not depend on each other, all at once: they are a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.program import Equation, Program, Variable
from effax.effects.rows import contraction, elementwise, reduction, shape
from effax.effects.types import typeof
from effax.interpreters.batch.batched import BATCHED, Batch
from effax.interpreters.functor.lifting import PLAIN, lift
from effax.interpreters.stage import stage


def all_at_once(step: Program, fixed: int, length: int, sums: int) -> Program:
    """A program that does a step for each of `length` rows.

    Its inputs are the first `fixed` inputs of the step, and rows of the others, stacked. Its
    results are those of the step, stacked, except that the first `sums` are added up.
    """
    key = "all at once", fixed, length, sums
    found = step.memo.get(key)
    if found is None:
        found = step.memo[key] = _all_at_once(step, fixed, length, sums)
    program: Program = found
    return program


def _all_at_once(step: Program, fixed: int, length: int, sums: int) -> Program:
    modes = (PLAIN,) * fixed + (BATCHED,) * (len(step.inputs) - fixed)
    lifted = lift(step, Batch(None, length), modes, out_modes=(BATCHED,) * len(step.outputs))
    if lifted.captured:
        raise AssertionError("a transposed step is closed")
    program = lifted.program
    variables = [*program.inputs, *(x for e in program.equations for x in e.outputs)]
    everything = Program(program.inputs, program.equations, variables, program.name)

    def flat(*values: Any) -> list[Any]:
        found = dict(zip(variables, everything.run(*values), strict=True))
        adding = _Sums(program.equations, found)
        totals = [adding.total(x) for x in program.outputs[:sums]]
        return [*totals, *(adding.value(x) for x in program.outputs[sums:])]

    return stage(flat, program.in_types, step.name).program


class _Sums:
    """Sums over the first axis; a sum of products of matrices is one product."""

    def __init__(self, equations: Sequence[Equation], values: dict[Variable, Any]) -> None:
        self.makers = {x: e for e in equations for x in e.outputs}
        self.values = values

    def value(self, x: Any) -> Any:
        """The value of a variable or of a literal."""
        return self.values[x] if type(x) is Variable else shape.full(x.type.shape, x.value, x.type)

    def total(self, x: Any) -> Any:
        """The sum of its rows."""
        maker = self.makers.get(x)
        rule = None if maker is None else _SUMMED.get(maker.effect)
        found = None if rule is None or maker is None else rule(self, maker)
        return reduction.reduce_sum(self.value(x), axes=(0,)) if found is None else found


def _sum_of_products(sums: _Sums, e: Equation) -> Any:
    (left, right), (batch, other) = e.attributes["dimension_numbers"]
    if not batch or batch[0] != 0 or other[0] != 0:
        return None
    numbers = (((*left, 0), (*right, 0)), (batch[1:], other[1:]))
    operands = map(sums.value, e.inputs)
    return contraction.dot_general(*operands, **{**e.attributes, "dimension_numbers": numbers})


def _sum_of_sums(sums: _Sums, e: Equation) -> Any:
    x, y = e.inputs
    if typeof(x).shape != typeof(y).shape:
        return None
    return elementwise.add(sums.total(x), sums.total(y))


def _sum_of_transposes(sums: _Sums, e: Equation) -> Any:
    first, *rest = e.attributes["permutation"]
    if first != 0:
        return None
    return shape.transpose(sums.total(e.inputs[0]), permutation=tuple(i - 1 for i in rest))


def _sum_of_reshaped(sums: _Sums, e: Equation) -> Any:
    (x,), new = e.inputs, e.attributes["shape"]
    if not typeof(x).shape or typeof(x).shape[0] != new[0]:
        return None
    return shape.reshape(sums.total(x), shape=new[1:])


_SUMMED: Final[dict[Effect, Callable[[_Sums, Equation], Any]]] = {
    contraction.dot_general: _sum_of_products,
    elementwise.add: _sum_of_sums,
    shape.transpose: _sum_of_transposes,
    shape.reshape: _sum_of_reshaped,
}
"""Effects whose sum over rows is found without the rows."""
