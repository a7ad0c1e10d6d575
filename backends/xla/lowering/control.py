"""Control flow in StableHLO: calls are functions, branches are `case`, loops are `while`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.arrays import resized
from effax.backends.xla.lowering.elementwise import (
    alone_in_bytes,
    as_bits,
    barrier,
    converted,
    is_gpu,
    is_narrow,
    of_bits,
    whole,
    with_piece,
)
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.program import Equation, Program, Variable
from effax.effects.provenance import Tags
from effax.effects.rows import control, indexing
from effax.effects.types import ShapedArray, position_dtype
from effax.effects.value import greatest, is_symbolic, is_symbolic_length

_METADATA_CALL = "xla_metadata_call"
_WRITES = {
    indexing.dynamic_update_slice,
    indexing.scatter,
    indexing.scatter_add,
    indexing.scatter_mul,
    indexing.scatter_min,
    indexing.scatter_max,
}
_INDEX = ShapedArray((), np.dtype(np.int32))
_PRED = ShapedArray((), np.dtype(np.bool_))


@rule(control.call)
def lower_call(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    program: Program,
    apart: bool = False,
    metadata: Tags = (),
    **_: Any,
) -> list[Name]:
    name = _METADATA_CALL if metadata else None
    return w.call(w.function(program, name), operands, types, apart, own=True, metadata=metadata)


@rule(control.remat)
def lower_remat(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    program: Program,
    prevent_cse: bool = True,
    again: bool = False,
    **_: Any,
) -> list[Name]:
    # Without operands there is no first computation that this one could be merged with.
    if again and prevent_cse and operands:
        operands = tuple(barrier(w, operands))
    return lower_call(w, types, *operands, program=program)


@rule(control.cond)
def lower_cond(
    w: Writer,
    types: Sequence[ShapedArray],
    index: Name,
    *operands: Name,
    branches: tuple[Program, ...],
) -> list[Name]:
    if index.type is not _INDEX:
        index = w.op(f"stablehlo.convert {index} : ({index.text}) -> {tensor(_INDEX)}", _INDEX)
    last = w.constant(len(branches) - 1, _INDEX)
    zero = w.constant(0, _INDEX)
    clamped = w.simple("clamp", [zero, index, last], _INDEX)
    regions = [
        w.region((), lambda b=b, i=i: w.body(b, operands, f"branch_{i}_fun"), "stablehlo.return")
        for i, b in enumerate(branches)
    ]
    outs = ", ".join(map(tensor, types))
    text = f'"stablehlo.case"({clamped}) ({", ".join(regions)}) : ({tensor(_INDEX)}) -> ({outs})'
    return w.ops(text, types)


def while_text(
    w: Writer,
    carry: Sequence[Name],
    test: Any,
    step: Any,
    written: Sequence[bool] = (),
) -> list[Name]:
    """A `stablehlo.while`: `test(*carry)` gives [verdict], `step(*carry)` the next carry.

    Of what is `written` in pieces the loop carries the bits, so that it stays where it is.
    """
    if any(written):
        return _on_bits(w, carry, test, step, written)
    types = [x.type for x in carry]
    cond_region = w.region(types, test, "stablehlo.return")
    body_region = w.region(types, step, "stablehlo.return")
    signature = ", ".join(map(tensor, types))
    text = (
        f'"stablehlo.while"({", ".join(carry)}) ({cond_region}, {body_region}) : '
        f"({signature}) -> ({signature})"
    )
    return w.ops(text, types)


def _on_bits(
    w: Writer, carry: Sequence[Name], test: Any, step: Any, written: Sequence[bool]
) -> list[Name]:
    """A loop that carries some arrays as their bits."""
    types = [x.type for x in carry]

    def closed(values: Sequence[Name]) -> list[Name]:
        return [as_bits(w, x) if b else x for x, b in zip(values, written, strict=True)]

    def opened(values: Sequence[Name]) -> list[Name]:
        return [of_bits(w, x, t) for x, t in zip(values, types, strict=True)]

    done = while_text(
        w,
        closed(carry),
        lambda *values: test(*opened(values)),
        lambda *values: closed(step(*opened(values))),
    )
    return opened(done)


def _are_kept_as_bits(w: Writer, body: Program, carry: Sequence[Variable]) -> list[bool]:
    """Whether a loop carries the bits of each: a narrow float of which its body writes pieces."""
    narrow = [is_narrow(w, x.type) for x in carry]
    return [x in _written(body) for x in carry] if any(narrow) else narrow


def _written(program: Program) -> set[Any]:
    """The values of which a program writes pieces, itself or in what it calls."""
    found: set[Any] | None = program.memo.get(_written)
    if found is None:
        found = program.memo[_written] = set()
        for e in program.equations:
            if e.effect in _WRITES:
                found.add(e.inputs[0])
            for inner, start in _called(e):
                within = _written(inner)
                pairs = zip(e.inputs[start:], inner.inputs, strict=False)
                found.update(x for x, own in pairs if own in within and type(x) is Variable)
    return found


def _called(e: Equation) -> Iterator[tuple[Program, int]]:
    """The programs that an equation runs on its operands, and the first operand that they get."""
    if e.effect in (control.call, control.scan):
        yield e.attributes["program" if e.effect is control.call else "body"], 0
    elif e.effect is control.while_loop:
        yield e.attributes["body"], e.attributes["cond_consts"]
    elif e.effect is control.cond:
        yield from ((branch, 1) for branch in e.attributes["branches"])


@rule(control.while_loop)
def lower_while(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    cond: Program,
    body: Program,
    cond_consts: int,
    body_consts: int,
    checkpoints: int = 0,
    trail: tuple[int, tuple[bool, ...]] | None = None,
) -> list[Name]:
    n, m = cond_consts, cond_consts + body_consts
    before, within = operands[:n], operands[n:m]
    return while_text(
        w,
        operands[m:],
        lambda *carry: w.body(cond, [*before, *carry], "cond"),
        lambda *carry: w.body(body, [*within, *carry], "body"),
        _are_kept_as_bits(w, body, body.inputs[body_consts:]),
    )


@rule(control.scan)
def lower_scan(
    w: Writer,
    types: Sequence[ShapedArray],
    *operands: Name,
    body: Program,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
    unroll: int,
    split_transpose: bool = False,
) -> list[Name]:
    fixed, rest = operands[:consts], operands[consts:]
    init, xs = rest[:carry], rest[carry:]
    rows_of = [x.type.update(shape=x.shape[1:]) for x in xs]
    # A row can't be cut out of a stack of none, not even in a turn that is never taken.
    room = greatest(length, 1) if is_symbolic_length(length) else length
    xs = tuple(resized(w, alone_in_bytes(w, x, x.shape[1:]), 0, room) for x in xs)
    # A result that is kept for the gradient too is stacked once.
    stacked, place = _once_each(body.outputs[carry:])
    # With an int32 counter a loop of more turns than it can count would never end.
    counter = _INDEX.update(dtype=position_dtype(length))
    if is_symbolic_length(length):
        unroll, turns = 1, length
    else:
        turns = length - length % unroll if unroll < length else 0

    def once(at: Name, carried: Sequence[Name], stacks: Sequence[Name]) -> list[Name]:
        rows = [converted(w, _row(w, x, at), t) for x, t in zip(xs, rows_of, strict=True)]
        results = w.body(body, [*fixed, *carried, *rows], "body")
        made = [results[carry + i] for i in stacked]
        return [*results[:carry], *(_store(w, s, y, at) for s, y in zip(stacks, made, strict=True))]

    def test(i: Name, *_: Name) -> list[Name]:
        n = _count(w, turns, counter)
        return [w.op(f"stablehlo.compare LT, {i}, {n} : ({i.text}, {n.text}) -> tensor<i1>", _PRED)]

    def step(i: Name, *state: Name) -> list[Name]:
        for _ in range(unroll):
            at = _subtract(w, _count(w, length - 1, counter), i) if reverse else i
            state = tuple(once(at, state[:carry], state[carry:]))
            i = w.simple("add", [i, w.constant(1, counter)], counter)
        return [i, *state]

    made_of = [_of_length(types[carry + i], room) for i in stacked]
    if is_gpu(w):
        made_of = [t.update(dtype=whole(w, t.dtype)) for t in made_of]
    state: Sequence[Name] = [*init, *(_empty(w, t) for t in made_of)]
    if is_symbolic_length(length) or turns:
        written = [
            *_are_kept_as_bits(w, body, body.inputs[consts : consts + carry]),
            *(is_narrow(w, t) for t in made_of),
        ]
        carried = [w.constant(0, counter), *state]
        state = while_text(w, carried, test, step, [False, *written])[1:]
    for k in () if is_symbolic_length(length) else range(turns, length):
        at = w.constant(length - 1 - k if reverse else k, counter)
        state = once(at, state[:carry], state[carry:])
    made = [
        converted(w, resized(w, y, 0, length), types[carry + i])
        for y, i in zip(state[carry:], stacked, strict=True)
    ]
    return [*state[:carry], *(made[i] for i in place)]


def _of_length(type: ShapedArray, length: Any) -> ShapedArray:
    return type if type.shape[0] == length else type.update(shape=(length, *type.shape[1:]))


def _once_each(atoms: Sequence[Any]) -> tuple[list[int], list[int]]:
    """The indices of what occurs for the first time, and where among these each atom is."""
    seen = {id(x): i for i, x in reversed([*enumerate(atoms)])}
    first = sorted(seen.values())
    return first, [first.index(seen[id(x)]) for x in atoms]


def _count(w: Writer, n: Any, type: ShapedArray) -> Name:
    return w.symbolic.number(w, n, type) if is_symbolic_length(n) else w.constant(n, type)


def _empty(w: Writer, type: ShapedArray) -> Name:
    return w.constant(0, type)


def _subtract(w: Writer, x: Name, y: Name) -> Name:
    return w.simple("subtract", [x, y], x.type)


def _row(w: Writer, x: Name, at: Name) -> Name:
    zeros = [w.constant(0, at.type)] * (len(x.shape) - 1)
    row = x.type.update(shape=(1, *x.shape[1:]))
    if is_symbolic(row.shape):
        piece = w.symbolic.part(w, x, [at, *zeros], row)
        return w.symbolic.reshape(w, piece, x.type.update(shape=x.shape[1:]))
    sizes = ", ".join(map(str, row.shape))
    indices = ", ".join([at, *zeros])
    ins = ", ".join([x.text] + [tensor(at.type)] * len(x.shape))
    piece = w.op(
        f"stablehlo.dynamic_slice {x}, {indices}, sizes = [{sizes}] : ({ins}) -> {tensor(row)}", row
    )
    return w.simple("reshape", [piece], x.type.update(shape=x.shape[1:]))


def _store(w: Writer, stack: Name, y: Name, at: Name) -> Name:
    y = converted(w, y, stack.type)
    wide = y.type.update(shape=(1, *y.shape))
    if is_symbolic(y.shape):
        row = w.symbolic.reshape(w, y, wide)
    else:
        row = w.simple("reshape", [y], wide)
    zeros = [w.constant(0, at.type)] * len(y.shape)
    return with_piece(w, stack, row, [at, *zeros])
