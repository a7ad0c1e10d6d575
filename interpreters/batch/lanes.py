"""Effects that a function writes out, in each lane of a batch.

A handler outside of a batch may have a rule for the effect, now or whenever a program that is
recorded here is run. So a batch of such an effect is an effect of its own, `each_lane`: for that
handler it is done lane by lane, and for all others at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.effect import LITERALS, Effect
from effax.effects.program import Program
from effax.effects.rows import control, custom
from effax.effects.types import typeof
from effax.interpreters.batch.batched import BATCHED, Batch, Batched
from effax.interpreters.functor.lifting import PLAIN, Lifting, functor, lift, lift_call
from effax.interpreters.functor.written_out import Expansion, asked, outwards, with_value
from effax.interpreters.stage import Staged, stage


def _somebody_outside(handler: Lifting) -> bool:
    """Whether a handler further out may have a rule, or a recorder does not know who will."""
    return any(h.records or isinstance(h, Lifting) for h in outwards(handler))


def in_lanes(
    handler: Batch,
    effect: Effect,
    operands: tuple[Any, ...],
    attributes: dict[str, Any],
    function: Expansion,
) -> Any:
    """The effect in each lane: written out for the batch, or done lane by lane.

    NotImplemented where nobody outside may have a rule for it: it is written out then.
    """
    if not _somebody_outside(handler):
        return NotImplemented
    batched = [handler.owns(x) for x in operands]
    literal = [effect.literals and type(x) in LITERALS for x in operands]
    values = [x for x, skip in zip(operands, literal, strict=True) if not skip]
    types = [typeof(x) for x in values]
    modes = tuple([handler.mode(x) for x in values])

    def all_of(given: Sequence[Any]) -> list[Any]:
        rest = iter(given)
        return [x if skip else next(rest) for x, skip in zip(operands, literal, strict=True)]

    def listed(result: Any) -> list[Any]:
        return list(result) if effect.multiple else [result]

    def out(*given: Any) -> list[Any]:
        return listed(function(*all_of(given), **attributes))

    def itself(*given: Any) -> list[Any]:
        return listed(effect(*all_of(given), **attributes))

    written = stage(out, types, effect.name)
    extra = [typeof(x) for x in written.captured]
    count = len(written.program.outputs)
    whole = lift(
        written.program, handler, (PLAIN,) * len(extra) + modes, out_modes=(BATCHED,) * count
    )
    many = [b for b, skip in zip(batched, literal, strict=True) if not skip]
    one = stage(itself, types, effect.name)
    lane = _lane_by_lane(one, many, [*[typeof(x) for x in whole.captured], *extra], handler.size)
    results = custom.each_lane(
        *whole.captured,
        *written.captured,
        *(x.many if b else x for x, b in zip(values, many, strict=True)),
        program=whole.program,
        lane=lane,
        of=effect,
        name=effect.name,
    )
    made = [Batched(handler, x) for x in results]
    return made if effect.multiple else made[0]


def _lane_by_lane(one: Staged, batched: list[bool], extra: Sequence[Any], size: int) -> Program:
    """The program of one lane as a loop over all, of the same operands as that of the batch."""
    types = one.program.in_types
    order = sorted(range(len(types)), key=lambda i: batched[i])
    body = one.program

    def lane(*values: Any) -> list[Any]:
        given: list[Any] = body.run(*[values[order.index(i)] for i in range(len(order))])
        return given

    reordered = stage(lane, [types[i] for i in order], body.name).program

    def loop(*values: Any) -> list[Any]:
        given = values[len(extra) :]
        found: list[Any] = control.scan(
            *(given[i] for i in order),
            body=reordered,
            consts=batched.count(False),
            carry=0,
            length=size,
            reverse=False,
            unroll=1,
        )
        return found

    full = [
        t.update(shape=(size, *t.shape)) if b else t for t, b in zip(types, batched, strict=True)
    ]
    return stage(loop, [*extra, *full], body.name).program


def lift_lanes(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lane by lane for a handler that has a rule for the effect; else the whole batch at once."""
    lane, program, name = attributes["lane"], attributes["program"], attributes["name"]
    if isinstance(handler, Batch):
        return _lanes_of_lanes(handler, operands, **attributes)
    if attributes["of"] in handler.rules:
        return lift_call(handler, control.call, operands, {"program": lane, "name": name})
    values = asked(handler, effect, operands, attributes)
    found = lift_call(handler, control.call, operands, {"program": program, "name": name})
    if values is None:
        return found
    return [with_value(handler, x, y) for x, y in zip(found, values, strict=True)]


def _lanes_of_lanes(
    handler: Batch,
    operands: tuple[Any, ...],
    program: Program,
    lane: Program,
    of: Effect,
    name: str,
) -> list[Any]:
    """A batch of batches."""
    modes = tuple(map(handler.mode, operands))
    whole, lanes = (
        lift(p, handler, modes, out_modes=(BATCHED,) * len(p.outputs)) for p in (program, lane)
    )
    ones, others = list(whole.captured), list(lanes.captured)
    types = [typeof(x) for x in (*ones, *others)]
    n = len(ones)
    inputs = whole.program.in_types[n:]

    def all_at_once(*values: Any) -> list[Any]:
        run: list[Any] = whole.program.run(*values[:n], *values[len(types) :])
        return run

    def one_by_one(*values: Any) -> list[Any]:
        run: list[Any] = lanes.program.run(*values[n : len(types)], *values[len(types) :])
        return run

    results = custom.each_lane(
        *ones,
        *others,
        *(x.many if handler.owns(x) else x for x in operands),
        program=stage(all_at_once, [*types, *inputs], name).program,
        lane=stage(one_by_one, [*types, *inputs], name).program,
        of=of,
        name=name,
    )
    return [Batched(handler, x) for x in results]


Batch.in_lanes = in_lanes
functor[custom.each_lane] = lift_lanes
