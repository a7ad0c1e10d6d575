"""Branches and loops of a kernel's program, in MLIR's `scf`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.lowering.blocks.arithmetic import convert
from effax.backends.xla.lowering.blocks.views import part_of
from effax.backends.xla.lowering.blocks.writer import (
    BOOL,
    INDEX,
    BlockWriter,
    Val,
    Value,
    View,
    lazy,
    rule,
)
from effax.effects.program import Program, Variable
from effax.effects.rows import control, indexing, shape
from effax.effects.types import ShapedArray

_READS = (indexing.dynamic_slice, shape.slice, shape.reshape)


def stays(program: Program, i: int, k: int) -> bool:
    """Whether result k is input i with parts of it replaced, and no more than parts are read."""
    whole, lengths = {program.inputs[i]}, program.inputs[i].type.shape
    for e in program.equations:
        if not any(x in whole for x in e.inputs):
            continue
        if e.inputs[0] not in whole or any(x in whole for x in e.inputs[1:]):
            return False
        if e.effect is indexing.dynamic_update_slice:
            whole = {e.outputs[0]}
        elif e.effect is shape.pad or (
            e.effect is shape.slice and e.outputs[0].type.shape == lengths
        ):
            whole.add(e.outputs[0])  # room behind the end of an array, added and removed
        elif e.effect not in _READS:
            return False
    return program.outputs[k] in whole


def _kept(x: Value, in_place: bool) -> bool:
    """Whether a loop or branch works on the memory that holds the value."""
    return in_place and isinstance(x, View) and x.memory.writable


def _given(w: BlockWriter, x: Value, in_place: bool) -> Value:
    """Return the operands of the inner programs; views that may be written are loaded first."""
    if isinstance(x, View) and (in_place or not x.memory.writable):
        return x
    return w.val(x)


def settle(w: BlockWriter, held: Sequence[Value]) -> None:
    """Load what was read of the memories that a loop or branch writes, before it."""
    for x in held:
        if isinstance(x, View):
            w.settle(x.memory)


def assigned(name: str, types: Sequence[ShapedArray]) -> str:
    """The beginning of an operation with results of these types."""
    return f"{name}:{len(types)} = " if len(types) > 1 else f"{name} = " if types else ""


def named(name: str, types: Sequence[ShapedArray]) -> list[Val]:
    """The results of an operation that begins as `assigned`."""
    return [Val(name if len(types) == 1 else f"{name}#{i}", t) for i, t in enumerate(types)]


def nested(w: BlockWriter, write: Callable[[], None]) -> list[str]:
    """The lines that are written meanwhile."""
    outer, w.lines = w.lines, []
    write()
    found, w.lines = w.lines, outer
    return ["  " + line for line in found]


@rule(control.cond, table=lazy)
def lower_cond(
    w: BlockWriter,
    types: Sequence[ShapedArray],
    index: Value,
    *operands: Value,
    branches: tuple[Program, ...],
) -> list[Value]:
    at = w.val(index)
    if at.type is not INDEX:
        at = convert(w, at, INDEX)
    sources = [_source(w, branches, operands, k) for k in range(len(types))]
    held = {i for i in sources if i is not None}
    settle(w, [operands[i] for i in held])
    given = [_given(w, x, i in held) for i, x in enumerate(operands)]
    out = [k for k, i in enumerate(sources) if i is None]
    found = iter(_choose(w, at, given, branches, 0, out, [types[k] for k in out]))
    return [next(found) if i is None else given[i] for i in sources]


def _source(
    w: BlockWriter, branches: Sequence[Program], operands: Sequence[Value], k: int
) -> int | None:
    """The operand in whose memory every branch leaves result k."""
    for i, x in enumerate(operands):
        if _kept(x, all(stays(b, i, k) for b in branches)):
            return i
    return None


def _choose(
    w: BlockWriter,
    at: Val,
    given: Sequence[Value],
    branches: Sequence[Program],
    first: int,
    out: Sequence[int],
    types: Sequence[ShapedArray],
) -> list[Val]:
    """Branch `first` where the index is not above it, else one of those after it."""

    def branch(program: Program) -> Callable[[], None]:
        def write() -> None:
            results = w.run(program, given)
            _yield(w, [w.val(results[k]) for k in out])

        return write

    if first == len(branches) - 1:
        found = w.run(branches[first], given)
        return [w.val(found[k]) for k in out]

    def rest() -> None:
        _yield(w, _choose(w, at, given, branches, first + 1, out, types))

    low = w.op(f"arith.cmpi sle, {at}, {w.constant(first, INDEX)} : i32", BOOL)
    then, other = nested(w, branch(branches[first])), nested(w, rest)
    arrow = f" -> ({', '.join(map(w.text, types))})" if types else ""
    name = w.fresh()
    w.lines += [
        f"{assigned(name, types)}scf.if {low}{arrow} {{",
        *then,
        "} else {",
        *other,
        "}",
    ]
    return named(name, types)


def _yield(w: BlockWriter, values: Sequence[Val]) -> None:
    texts = ", ".join(w.text(x.type) for x in values)
    w.lines.append(f"scf.yield {', '.join(map(str, values))} : {texts}" if values else "scf.yield")


def counted(
    w: BlockWriter,
    length: int,
    carry: Sequence[Val],
    step: Callable[[Val, list[Val]], Sequence[Val]],
) -> list[Val]:
    """A loop of so many steps: `step(i, carry)` writes one, and gives the next carry."""
    zero, one, end = (w.constant(x, INDEX) for x in (0, 1, length))
    i, types = Val(w.fresh(), INDEX), [x.type for x in carry]
    inner = [Val(w.fresh(), t) for t in types]
    lines = nested(w, lambda: _yield(w, step(i, inner)))
    pairs = ", ".join(f"{a} = {b}" for a, b in zip(inner, carry, strict=True))
    texts = ", ".join(map(w.text, types))
    name, head = w.fresh(), f"scf.for {i} = {zero} to {end} step {one}"
    if carry:
        head = f"{assigned(name, types)}{head} iter_args({pairs}) -> ({texts})"
    w.lines += [f"{head} : i32 {{", *lines, "}"]
    return named(name, types)


@rule(control.scan, table=lazy)
def lower_scan(
    w: BlockWriter,
    types: Sequence[ShapedArray],
    *operands: Value,
    body: Program,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
    **_: Any,
) -> list[Value]:
    if len(types) > carry:
        raise w.refuse("a scan that stacks the results of its steps has no rule")
    held = [
        _kept(x, stays(body, consts + k, k))
        for k, x in enumerate(operands[consts : consts + carry])
    ]
    settle(w, [x for x, own in zip(operands[consts:], held, strict=False) if own])
    fixed = [_given(w, x, False) for x in operands[:consts]]
    begin = [_given(w, x, own) for x, own in zip(operands[consts:], held, strict=False)]
    rows = [_rows(w, x) for x in operands[consts + carry :]]
    loose = [w.val(x) for x, own in zip(begin, held, strict=True) if not own]

    def step(i: Val, inner: list[Val]) -> list[Val]:
        given = iter(inner)
        now = [x if own else next(given) for x, own in zip(begin, held, strict=True)]
        at = w.simple("arith.subi", [w.constant(length - 1, INDEX), i], INDEX) if reverse else i
        after = w.run(body, [*fixed, *now, *(row(at) for row in rows)])
        return [w.val(x) for x, own in zip(after, held, strict=True) if not own]

    found = iter(counted(w, length, loose, step))
    return [x if own else next(found) for x, own in zip(begin, held, strict=True)]


def _rows(w: BlockWriter, x: Value) -> Callable[[Val], Value]:
    """Rows of what is scanned: memory, of which a row is a part."""
    if not isinstance(x, View):
        raise w.refuse("a scan over an array that was computed has no rule")
    sizes = (1, *x.type.shape[1:])

    def row(i: Val) -> Value:
        zero = w.constant(0, INDEX)
        part = part_of(w, x, [i, *[zero] * (len(sizes) - 1)], sizes)
        found: Value = lazy[shape.reshape](w, [], part, shape=sizes[1:])
        return found

    return row


@rule(control.while_loop, table=lazy)
def lower_while(
    w: BlockWriter,
    types: Sequence[ShapedArray],
    *operands: Value,
    cond: Program,
    body: Program,
    cond_consts: int,
    body_consts: int,
    **_: Any,
) -> list[Value]:
    n, m = cond_consts, cond_consts + body_consts
    held = [
        _kept(x, stays(body, body_consts + k, k) and cond.inputs[n + k] not in _used(cond))
        for k, x in enumerate(operands[m:])
    ]
    settle(w, [x for x, own in zip(operands[m:], held, strict=True) if own])
    first = [_given(w, x, False) for x in operands[:n]]
    second = [_given(w, x, False) for x in operands[n:m]]
    begin = [_given(w, x, own) for x, own in zip(operands[m:], held, strict=True)]
    loose = [w.val(x) for x, own in zip(begin, held, strict=True) if not own]
    kinds = [x.type for x in loose]
    texts = ", ".join(map(w.text, kinds))

    def whole(inner: Sequence[Val]) -> list[Value]:
        given = iter(inner)
        return [x if own else next(given) for x, own in zip(begin, held, strict=True)]

    before, after = ([Val(w.fresh(), t) for t in kinds] for _ in range(2))

    def test() -> None:
        verdict = w.val(w.run(cond, [*first, *whole(before)])[0])
        w.lines.append(f"scf.condition({verdict}) {', '.join(map(str, before))} : {texts}")

    def step() -> None:
        results = w.run(body, [*second, *whole(after)])
        _yield(w, [w.val(x) for x, own in zip(results, held, strict=True) if not own])

    pairs = ", ".join(f"{a} = {b}" for a, b in zip(before, loose, strict=True))
    inner = ", ".join(f"{x}: {w.text(x.type)}" for x in after)
    name = w.fresh()
    w.lines += [
        f"{assigned(name, kinds)}scf.while ({pairs}) : ({texts}) -> ({texts}) {{",
        *nested(w, test),
        "} do {",
        f"^bb0({inner}):",
        *nested(w, step),
        "}",
    ]
    found = iter(named(name, kinds))
    return [x if own else next(found) for x, own in zip(begin, held, strict=True)]


def _used(program: Program) -> set[Any]:
    return {x for e in program.equations for x in e.inputs if type(x) is Variable}
