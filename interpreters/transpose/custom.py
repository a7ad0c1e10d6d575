"""Transposes of calls with a rule of their own: a derivative, or a batching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.program import Program
from effax.effects.rows import custom, reduction
from effax.effects.rows.shape import repeat
from effax.interpreters.residual import Record
from effax.interpreters.transpose.control import place, transpose_program
from effax.interpreters.transpose.linear import (
    add_cotangents,
    backward,
    instantiate,
    is_linear,
    rule,
)


@rule(custom.custom_linear)
def transpose_custom_linear(
    cts: Sequence[Any], *operands: Any, residuals: int, out_types: Any, backward: Any
) -> list[Any]:
    given = cts
    if not backward.symbolic:
        given = [instantiate(ct, t) for ct, t in zip(cts, out_types, strict=True)]
    given = backward(operands[:residuals], given)
    return [*(None for _ in range(residuals)), *given]


class _BatchingBackwards:
    """A user's batching rule for the transpose of its function: the rule transposed.

    Each lane has cotangents of its own, so all the linear operands are batched.
    """

    __slots__ = ("captured", "cotangents", "given", "linear", "rule", "types")

    def __init__(
        self,
        rule: Any,
        linear: tuple[bool, ...],
        cotangents: tuple[bool, ...],
        done: Any,
        types: Sequence[Any],
    ) -> None:
        self.rule = rule
        self.linear = linear
        self.cotangents = cotangents
        self.captured = len(done.captured)
        self.given = done.given
        self.types = types

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        recording = Record()
        rest = zip(values[self.captured :], batched[self.captured :], strict=True)
        pairs: list[Any] = []
        unknowns = []
        for t, is_unknown in zip(self.types, self.linear, strict=True):
            if is_unknown:
                unknowns.append(recording.unknown(t.stacked(size)))
            pairs.append((unknowns[-1], True) if is_unknown else next(rest))
        results, marks = recording.run(
            self.rule, size, [b for _, b in pairs], [x for x, _ in pairs]
        )
        tape = recording.finish()
        known: dict[Any, Any] = {}
        for x, many, has in zip(results, marks, self.cotangents, strict=True):
            if not has:
                continue
            ct, ct_many = next(rest)
            if tape.owns(x):
                ct = ct if ct_many else repeat(ct, size)
                ct = ct if many else reduction.reduce_sum(ct, axes=(0,))
                known[x] = add_cotangents(known.get(x), ct)
        found = backward(tape, known, unknowns)
        cts = [
            instantiate(ct, x.type)
            for ct, x, given in zip(found, unknowns, self.given, strict=True)
            if given
        ]
        return cts, [True] * len(cts)


@rule(custom.custom_vmap_call)
def transpose_custom_vmap(
    cts: Sequence[Any], *operands: Any, program: Program, rule: Any, name: str
) -> list[Any]:
    linear = tuple(map(is_linear, operands))
    cotangents = tuple(ct is not None for ct in cts)
    done = transpose_program(program, linear, cotangents)
    results = custom.custom_vmap_call(
        *done.captured,
        *(x for x in operands if not is_linear(x)),
        *(ct for ct in cts if ct is not None),
        program=done.program,
        rule=_BatchingBackwards(rule, linear, cotangents, done, program.in_types),
        name=name,
    )
    return place(operands, done.given, results)
