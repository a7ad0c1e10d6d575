"""Transposes of calls, branches and scans: the transpose of the program inside, staged once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.effects import control
from effax.effects.elementwise import add
from effax.effects.handler import current
from effax.effects.program import Program, Variable
from effax.effects.types import ShapedArray
from effax.interpreters.branches import align_captured
from effax.interpreters.residual import Record
from effax.interpreters.stage import Stage, stage
from effax.interpreters.transpose.linear import (
    backward,
    instantiate,
    is_linear,
    rule,
    value_type,
)


@attrs.frozen(slots=True, eq=False)
class Transposed:
    """A program's transpose: known inputs and cotangents to the cotangents of linear inputs.

    `given` says which linear inputs get a cotangent at all: the others' is zero.
    """

    program: Program
    captured: tuple[Any, ...]
    given: tuple[bool, ...]


def transpose_program(
    program: Program,
    linear: tuple[bool, ...],
    cotangents: tuple[bool, ...],
    full: bool = False,
) -> Transposed:
    """Transpose a program with respect to the inputs marked linear.

    `cotangents` marks the results whose cotangent is not zero. With `full`, zeros are written out
    for linear inputs that get none. What does not depend on linear inputs is computed anew.
    """
    key = "transpose", linear, cotangents, full
    found = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _transpose_program(program, linear, cotangents, full)
    return found


def _transpose_program(
    program: Program, linear: tuple[bool, ...], cotangents: tuple[bool, ...], full: bool
) -> Transposed:
    recorder = Stage()
    token = current.set(recorder)
    try:
        recording = Record(recorder)
        values, unknowns = [], []
        for x, is_unknown in zip(program.inputs, linear, strict=True):
            if is_unknown:
                unknowns.append(recording.unknown(x.type))
            values.append(unknowns[-1] if is_unknown else recorder.input(x.type))
        results = recording.run(program.run, *values)
        tape = recording.finish()
        known: dict[Variable, Any] = {}
        for result, has, t in zip(results, cotangents, program.out_types, strict=True):
            if has:
                ct = recorder.input(t)
                if tape.owns(result):
                    known[result] = add(known[result], ct) if result in known else ct
        given = backward(tape, known, unknowns)
        if full:
            given = [instantiate(ct, x.type) for ct, x in zip(given, unknowns, strict=True)]
        mask = tuple(ct is not None for ct in given)
        staged = recorder.finish([ct for ct in given if ct is not None], program.name)
    finally:
        current.reset(token)
        recorder.close()
    return Transposed(staged.program, staged.captured, mask)


def _place(operands: Sequence[Any], given: Sequence[bool], results: Sequence[Any]) -> list[Any]:
    """Cotangents of all operands from those of the linear ones that have any."""
    answers, have = iter(results), iter(given)
    return [next(answers) if is_linear(x) and next(have) else None for x in operands]


@rule(control.call, control.remat)
def transpose_call(
    cts: Sequence[Any], *operands: Any, program: Program, **attributes: Any
) -> list[Any]:
    linear = tuple(map(is_linear, operands))
    done = transpose_program(program, linear, tuple(ct is not None for ct in cts))
    effect = control.remat if "policy" in attributes else control.call
    results = effect(
        *done.captured,
        *(x for x in operands if not is_linear(x)),
        *(ct for ct in cts if ct is not None),
        program=done.program,
        **attributes,
    )
    return _place(operands, done.given, results)


@rule(control.cond)
def transpose_cond(
    cts: Sequence[Any], index: Any, *operands: Any, branches: tuple[Program, ...]
) -> list[Any]:
    linear = tuple(map(is_linear, operands))
    mask = tuple(ct is not None for ct in cts)
    done = [transpose_program(b, linear, mask, full=True) for b in branches]
    results = control.cond(
        index,
        *(x for d in done for x in d.captured),
        *(x for x in operands if not is_linear(x)),
        *(ct for ct in cts if ct is not None),
        branches=align_captured(done),
    )
    return [None, *_place(operands, done[0].given, results)]


@rule(control.scan)
def transpose_scan(
    cts: Sequence[Any],
    *operands: Any,
    body: Program,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
    unroll: int,
) -> list[Any]:
    """The steps in the opposite order; cotangents of constants are summed on the way.

    All of the carry is linear (the split has seen to it); the carry of the transpose is its
    cotangent, and one accumulator for each linear constant.
    """
    fixed, init, xs = _sections(operands, consts, carry)
    linear = (
        *map(is_linear, fixed),
        *(True for _ in init),
        *map(is_linear, xs),
    )
    known_fixed = [x for x in fixed if not is_linear(x)]
    known_rows = [x for x in xs if not is_linear(x)]
    fixed_types = [x.type for x in fixed if is_linear(x)]
    y_mask = [ct is not None for ct in cts[carry:]]
    carry_types = list(body.out_types[:carry])
    y_types = [t for t, has in zip(body.out_types[carry:], y_mask, strict=True) if has]
    done = transpose_program(body, linear, (*(True for _ in init), *y_mask), full=True)
    n, m, k = len(known_fixed), len(fixed_types), len(known_rows)

    def step(*values: Any) -> list[Any]:
        extra, known, accumulators, carried, rows, ys = _sections(
            values, len(done.captured), n, m, carry, k
        )
        results = done.program.run(*extra, *known, *rows, *carried, *ys)
        to_fixed, to_carry, to_rows = _sections(results, m, carry)
        sums = [add(a, b) for a, b in zip(accumulators, to_fixed, strict=True)]
        return [*sums, *to_carry, *to_rows]

    known_types = [value_type(x) for x in known_fixed]
    rows = [value_type(x) for x in known_rows]
    types = [
        *(x.type for x in done.program.inputs[: len(done.captured)]),
        *known_types,
        *fixed_types,
        *carry_types,
        *(t.update(shape=t.shape[1:]) for t in rows),
        *y_types,
    ]
    staged = _memoised_step(body, (linear, tuple(y_mask)), step, types)
    results = control.scan(
        *done.captured,
        *known_fixed,
        *(instantiate(None, t) for t in fixed_types),
        *(instantiate(ct, t) for ct, t in zip(cts[:carry], carry_types, strict=True)),
        *known_rows,
        *(ct for ct in cts[carry:] if ct is not None),
        body=staged,
        consts=len(done.captured) + n,
        carry=m + carry,
        length=length,
        reverse=not reverse,
        unroll=unroll,
    )
    to_fixed, to_init, to_xs = _sections(results, m, carry)
    init_cts = [ct if is_linear(x) else None for x, ct in zip(init, to_init, strict=True)]
    return [
        *_place(fixed, [True] * m, to_fixed),
        *init_cts,
        *_place(xs, [True] * len(to_xs), to_xs),
    ]


def _memoised_step(body: Program, key: Any, step: Any, types: Sequence[ShapedArray]) -> Program:
    found = body.memo.get(("transposed step", key))
    if found is None:
        staged = stage(step, types, body.name)
        if staged.captured:
            raise AssertionError("a transposed step is closed")
        found = body.memo["transposed step", key] = staged.program
    return found


def _sections(values: Sequence[Any], *lengths: int) -> list[list[Any]]:
    """The values cut into pieces of these lengths, and what is left."""
    rest, pieces = list(values), []
    for n in lengths:
        pieces.append(rest[:n])
        rest = rest[n:]
    return [*pieces, rest]
