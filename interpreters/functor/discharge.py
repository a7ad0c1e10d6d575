"""Discharge: a program that touches references as one on their contents.

The program is staged again with cells in the references' places, so that the new recorder answers
for them: contents come in as values, and what they are in the end goes out beside the results. An
effect that holds programs, given references, is performed on contents, which are written back
after it. No handler meets a reference inside a call, a branch or a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects.contexts import put
from effax.effects.effect import Effect
from effax.effects.errors import RefError
from effax.effects.handler import current
from effax.effects.program import Program, Variable
from effax.effects.rows import control, custom
from effax.effects.rows.state import AbstractRef, OwnedRef, Ref, ref_get, ref_set
from effax.interpreters.functor.lifting import without_trail
from effax.interpreters.functor.masks import merge, pick
from effax.interpreters.stage import Stage

Places = tuple[int | None, ...]
"""For each input of a program, the position of its reference; None for an array."""
Body = Callable[[Sequence[OwnedRef], Sequence[Any]], Sequence[Any]]


@attrs.frozen(slots=True, eq=False)
class Threaded:
    """A program from contents and arrays to final contents and results; and which it writes."""

    program: Program
    written: tuple[bool, ...]


def thread(body: Body, refs: Sequence[Any], types: Sequence[Any], name: str) -> Threaded:
    """Stage a function of cells and arrays; `refs` are the types of the cells' contents."""
    recorder = Stage()
    token = put(current, recorder)
    try:
        before = [recorder.input(t) for t in refs]
        cells = [OwnedRef(recorder, x) for x in before]
        results = body(cells, [recorder.input(t) for t in types])
        after = [cell.contents for cell in cells]
        program = recorder.finish([*after, *results], name).program
    finally:
        current.reset(token)
        recorder.close()
    return Threaded(program, tuple(a is not b for a, b in zip(after, before, strict=True)))


def threaded(program: Program, places: Places, refs: Sequence[Any]) -> Threaded:
    """A program with references at some inputs, threaded; the inputs of the rest in order."""
    key = "threaded", places, tuple(refs)
    found = program.memo.get(key)
    if found is None:
        types = [x.type for x, at in zip(program.inputs, places, strict=True) if at is None]

        def body(cells: Sequence[OwnedRef], values: Sequence[Any]) -> list[Any]:
            return program.run(*_placed(places, cells, values))

        contents = [t.inner_aval for t in refs]
        found = program.memo[key] = thread(body, contents, types, program.name)
    return found


def _placed(places: Places, cells: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    rest = iter(values)
    return [next(rest) if at is None else cells[at] for at in places]


def discharged(program: Program) -> tuple[Program, tuple[bool, ...]]:
    """A program on contents in the place of references, its inputs in order as they are.

    Its results are followed by the final contents of the references that it writes, as the second
    result says for each.
    """
    refs = [t for t in program.in_types if isinstance(t, AbstractRef)]
    numbers = iter(range(len(refs)))
    places = tuple(next(numbers) if isinstance(t, AbstractRef) else None for t in program.in_types)
    done = threaded(program, places, refs)
    p, n = done.program, len(refs)

    def arranged() -> Program:
        inputs = _placed(places, p.inputs[:n], p.inputs[n:])
        after = pick(p.outputs[:n], done.written, True)
        return Program(inputs, p.equations, [*p.outputs[n:], *after], p.name)

    return _once(p, "arranged", arranged), done.written


def _once(owner: Program, key: Any, make: Callable[[], Any]) -> Any:
    found = owner.memo.get(key)
    if found is None:
        found = owner.memo[key] = make()
    return found


def perform_on_contents(
    effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Perform an effect with programs on references: see the module."""
    rule = _rules.get(effect)
    if rule is None:
        from effax.interpreters.functor.meanings import meanings

        if effect in meanings:
            return list(meanings[effect](*operands, **attributes))
        raise RefError(
            f"{effect.name} takes arrays, not references; read them before (ref[...]), and write "
            "the results after it"
        )
    return rule(effect, operands, attributes)


def distinct(
    operands: Sequence[Any], name: str, labels: Callable[[], Sequence[str]] | None = None
) -> tuple[list[Ref], Places]:
    """The distinct references among operands, and the index of the one at each position.

    `labels` tells what the last operands are called: arguments, before which are captured values.

    Raises `RefError` for one that is there twice: each write would have to change both.
    """
    refs, places = _shared(operands)
    seen: dict[int, int] = {}
    for i, at in enumerate(places):
        if at is None:
            continue
        if at in seen:
            named = labels() if labels is not None else [f"input {k}" for k in range(len(operands))]
            one, other = (k - len(operands) + len(named) for k in (seen[at], i))
            where = (
                f"appeared at both {named[one]} and {named[other]}"
                if one >= 0
                else f"was both closed over and passed as the argument {named[other]}"
            )
            raise RefError(
                "only one reference to a mutable array may be passed as an argument to a function, "
                f"but when tracing {name} the mutable array reference of type {refs[at].type!r} "
                f"{where}; pass it once, or close over it"
            )
        seen[at] = i
    return refs, places


def _shared(operands: Sequence[Any]) -> tuple[list[Ref], Places]:
    refs: dict[int, tuple[int, Ref]] = {}
    places: list[int | None] = []
    for x in operands:
        if isinstance(x, Ref):
            places.append(refs.setdefault(id(x), (len(refs), x))[0])
        else:
            places.append(None)
    return [ref for _, ref in refs.values()], tuple(places)


def _values(operands: Sequence[Any]) -> list[Any]:
    return [x for x in operands if not isinstance(x, Ref)]


def _contents(refs: Sequence[Ref]) -> list[Any]:
    return [ref_get(ref) for ref in refs]


def _write_back(refs: Sequence[Ref], written: Sequence[bool], after: Sequence[Any]) -> None:
    for ref, x in zip(pick(refs, written, True), after, strict=True):
        ref_set(ref, x)


def _types(refs: Sequence[Ref]) -> list[AbstractRef]:
    return [ref.type for ref in refs]


def _keeping(done: Threaded, written: tuple[bool, ...]) -> Program:
    """The program that gives the final contents of these references only, then its results."""
    p, n = done.program, len(written)

    def kept() -> Program:
        after = pick(p.outputs[:n], written, True)
        return Program(p.inputs, p.equations, [*after, *p.outputs[n:]], p.name)

    return _once(p, ("keeping", written), kept)


def _call(effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> list[Any]:
    program: Program = attributes["program"]
    refs, places = distinct(operands, program.name)
    done = threaded(program, places, _types(refs))
    results = effect(
        *_contents(refs),
        *_values(operands),
        **{**attributes, "program": _keeping(done, done.written)},
    )
    n = sum(done.written)
    _write_back(refs, done.written, results[:n])
    return results[n:]


def _cond(effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> list[Any]:
    branches: tuple[Program, ...] = attributes["branches"]
    refs, places = distinct(operands[1:], "cond")
    done = [threaded(b, places, _types(refs)) for b in branches]
    written = tuple(map(any, zip(*(d.written for d in done), strict=True)))
    results = effect(
        operands[0],
        *_contents(refs),
        *_values(operands[1:]),
        branches=tuple(_keeping(d, written) for d in done),
    )
    n = sum(written)
    _write_back(refs, written, results[:n])
    return results[n:]


def _scan(effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> list[Any]:
    """References among the constants are carried where they are written; those that are scanned
    give a reference to a row in each step."""
    body: Program = attributes["body"]
    n, m = attributes["consts"], attributes["carry"]
    refs, places = distinct(operands, "scan")
    _refuse_carried(operands[n : n + m], "scan")
    k = len({at for at in places[:n] if at is not None})
    row_types = [body.in_types[places.index(i)] for i in range(len(refs))]
    done = threaded(body, places, row_types)
    written, rows_written = done.written[:k], done.written[k:]
    consts, carry, xs = map(_values, (operands[:n], operands[n : n + m], operands[n + m :]))

    def arranged() -> Program:
        p, c = done.program, len(refs)
        held, rows, rest = p.inputs[:k], p.inputs[k:c], p.inputs[c:]
        a, b = len(consts), len(consts) + m
        inputs = [
            *pick(held, written, False),
            *rest[:a],
            *pick(held, written, True),
            *rest[a:b],
            *rows,
            *rest[b:],
        ]
        outputs = [
            *pick(p.outputs[:k], written, True),
            *p.outputs[c:],
            *pick(p.outputs[k:c], rows_written, True),
        ]
        return Program(inputs, p.equations, outputs, p.name)

    before, before_rows = _contents(refs[:k]), _contents(refs[k:])
    carried, stacked = sum(written), sum(rows_written)
    results = effect(
        *pick(before, written, False),
        *consts,
        *pick(before, written, True),
        *carry,
        *before_rows,
        *xs,
        **{
            **attributes,
            "body": _once(done.program, ("scanned", n, m), arranged),
            "consts": k - carried + len(consts),
            "carry": carried + m,
        },
    )
    end = len(results) - stacked
    _write_back(refs[:k], written, results[:carried])
    _write_back(refs[k:], rows_written, results[end:])
    return results[carried:end]


def _refuse_carried(carry: Sequence[Any], what: str) -> None:
    if any(isinstance(x, Ref) for x in carry):
        raise RefError(
            f"{what}: a carry must not contain a reference; let the body close over it, or carry "
            "its contents, ref[...]"
        )


def _while(effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> list[Any]:
    """References that the loop writes are carried. A condition that writes is performed in the
    body, once before the loop and then after each step."""
    test: Program = attributes["cond"]
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    carry = operands[n + m :]
    _refuse_carried(carry, "while_loop")
    refs, places = _shared(operands)
    types = _types(refs)
    at_test, at_step = (*places[:n], *places[n + m :]), places[n:]
    tested = threaded(test, at_test, types)
    if any(tested.written):
        return _rotated(effect, operands, attributes, refs, at_test, at_step)
    stepped = threaded(body, at_step, types)
    written, before = stepped.written, _contents(refs)
    first, second = _values(operands[:n]), _values(operands[n : n + m])
    fixed = pick(before, written, False)
    verdict = Program(
        tested.program.inputs,
        tested.program.equations,
        tested.program.outputs[len(refs) :],
        test.name,
    )

    def with_contents(p: Program, consts: int) -> Program:
        c = len(refs)
        held, rest = p.inputs[:c], p.inputs[c:]
        inputs = [
            *pick(held, written, False),
            *rest[:consts],
            *pick(held, written, True),
            *rest[consts:],
        ]
        return Program(inputs, p.equations, p.outputs, p.name)

    step, key = _keeping(stepped, written), ("looped", written, n, m)
    results = effect(
        *fixed,
        *first,
        *fixed,
        *second,
        *pick(before, written, True),
        *carry,
        **{
            **without_trail(attributes),
            "cond": _once(tested.program, key, lambda: with_contents(verdict, len(first))),
            "body": _once(step, key, lambda: with_contents(step, len(second))),
            "cond_consts": len(fixed) + len(first),
            "body_consts": len(fixed) + len(second),
        },
    )
    k = sum(written)
    _write_back(refs, written, results[:k])
    return results[k:]


def _rotated(
    effect: Effect,
    operands: tuple[Any, ...],
    attributes: dict[str, Any],
    refs: Sequence[Ref],
    at_test: Places,
    at_step: Places,
) -> list[Any]:
    test: Program = attributes["cond"]
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    carry = operands[n + m :]
    first, second = _values(operands[:n]), _values(operands[n : n + m])
    (go,) = control.call(*operands[:n], *carry, program=test, name=test.name)
    a, b = len(first), len(first) + len(second)

    def step(cells: Sequence[OwnedRef], values: Sequence[Any]) -> list[Any]:
        after = body.run(*_placed(at_step, cells, (*values[a:b], *values[b + 1 :])))
        (again,) = test.run(*_placed(at_test, cells, (*values[:a], *after)))
        return [again, *after]

    key = "rotated", test, at_test, at_step
    found = body.memo.get(key)
    if found is None:
        consts = [
            *(t for t in test.in_types[:n] if not isinstance(t, AbstractRef)),
            *(t for t in body.in_types[:m] if not isinstance(t, AbstractRef)),
        ]
        carried = [test.out_types[0], *body.in_types[m:]]
        contents = [ref.type.inner_aval for ref in refs]
        done = thread(step, contents, [*consts, *carried], body.name)
        c = len(refs)
        p = done.program
        inputs = [*p.inputs[c : c + b], *p.inputs[:c], *p.inputs[c + b :]]
        verdicts = [Variable(None, t) for t in (*contents, *carried)]
        found = body.memo[key] = (
            Program(verdicts, [], [verdicts[c]], test.name),
            Program(inputs, p.equations, p.outputs, p.name),
        )
    results = effect(
        *first,
        *second,
        *_contents(refs),
        go,
        *carry,
        **{
            **without_trail(attributes),
            "cond": found[0],
            "body": found[1],
            "cond_consts": 0,
            "body_consts": b,
        },
    )
    c = len(refs)
    _write_back(refs, (True,) * c, results[:c])
    return results[c + 1 :]


def _custom(effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> list[Any]:
    """A function with its own rule may read references that it closes over."""
    program: Program = attributes["program"]
    pure, written = discharged(program)
    if any(written):
        raise RefError(
            f"{program.name} has its own rule ({effect.name}), and writes a reference, of which "
            "the rule does not know; return the value, and write it outside"
        )
    refs, places = distinct(operands, program.name)
    values = merge([at is not None for at in places], _contents(refs), _values(operands))
    return effect(*values, **{**attributes, "program": pure})


_rules: Final[dict[Effect, Callable[..., list[Any]]]] = {
    control.call: _call,
    control.remat: _call,
    control.cond: _cond,
    control.while_loop: _while,
    control.scan: _scan,
    custom.custom_jvp_call: _custom,
    custom.custom_vjp_call: _custom,
    custom.custom_vmap_call: _custom,
}
