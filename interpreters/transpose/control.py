"""Transposes of calls and branches: the transpose of the program inside, staged once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.effects.contexts import put
from effax.effects.handler import current
from effax.effects.program import Program, Variable
from effax.effects.rows import control
from effax.effects.rows.elementwise import add
from effax.effects.types import typeof
from effax.interpreters.functor.branches import align_captured
from effax.interpreters.residual import Record
from effax.interpreters.stage import Stage, stage
from effax.interpreters.transpose.linear import (
    backward,
    instantiate,
    is_linear,
    rule,
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
    token = put(current, recorder)
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
        given = backward(tape, known, unknowns, inside=True)
        if full:
            given = [instantiate(ct, x.type) for ct, x in zip(given, unknowns, strict=True)]
        mask = tuple(ct is not None for ct in given)
        staged = recorder.finish([ct for ct in given if ct is not None], program.name)
    finally:
        current.reset(token)
        recorder.close()
    return Transposed(staged.program, staged.captured, mask)


def place(operands: Sequence[Any], given: Sequence[bool], results: Sequence[Any]) -> list[Any]:
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
    return place(operands, done.given, results)


def _apart(program: Program, axes: frozenset[Any]) -> Program:
    """The program, of operands that may differ along these axes of a mesh, too."""
    types = [t.vary(t.varying | axes) for t in program.in_types]
    return stage(program.run, types, program.name).program


@rule(control.cond, fixed=(0,))
def transpose_cond(
    cts: Sequence[Any], index: Any, *operands: Any, branches: tuple[Program, ...]
) -> list[Any]:
    linear = tuple(map(is_linear, operands))
    mask = tuple(ct is not None for ct in cts)
    along = typeof(index).varying
    if along:  # not all places take the branch: sums over these axes are done outside of it
        branches = tuple(_apart(branch, along) for branch in branches)
    done = [transpose_program(b, linear, mask, full=True) for b in branches]
    results = control.cond(
        index,
        *(x for d in done for x in d.captured),
        *(x for x in operands if not is_linear(x)),
        *(ct for ct in cts if ct is not None),
        branches=align_captured(done),
    )
    return [None, *place(operands, done[0].given, results)]
