"""Reverse mode through a loop of unknown length, in the memory of a few checkpoints.

A `while` with the attribute `checkpoints=c` has kept c of its states on the way forward. It is
transposed by a loop over its steps, from the last to the first: each time, an inner loop advances
from the nearest checkpoint to the state the step began with, and the step is pulled back there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.program import Program
from effax.effects.rows import control
from effax.effects.rows.comparison import gt
from effax.effects.rows.elementwise import add, sub
from effax.interpreters.functor.checkpoints import Slots, Trail, forward, go_round, go_to
from effax.interpreters.residual.control import known_loop
from effax.interpreters.residual.replaying import refuse_unstored
from effax.interpreters.stage import stage
from effax.interpreters.transpose.control import transpose_program
from effax.interpreters.transpose.linear import instantiate, is_linear, rule, value_type


@rule(control.while_loop)
def transpose_while(cts: Sequence[Any], *operands: Any, **attributes: Any) -> list[Any]:
    """The loop backwards, where it has checkpoints.

    It is transposed with respect to the part of the carry that linear operands reach. If another
    part was known when checkpoints were stored, they are of no use: it is done again.
    """
    if not attributes.get("checkpoints"):
        raise UnsupportedDerivativeError(
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
            "a traced bound: the number of steps is not known, so the values that reverse mode "
            "needs can't be stored. Pass while_loop(..., checkpoints=n) to keep n carries and "
            "compute the others again; or use scan, or fori_loop with bounds that are Python "
            "numbers, or forward mode (jvp, jacfwd)"
        )
    n, m = attributes["cond_consts"], attributes["body_consts"]
    body: Program = attributes["body"]
    linear = tuple(map(is_linear, operands))
    known, carry = known_loop(linear, attributes)
    consts = linear[n : n + m]
    init = operands[n + m :]
    stored, carry_then = attributes.get("trail", (0, carry))
    if carry_then != carry or any(consts[m - stored :]):
        stored = 0
    const_types = [x.type for x in operands[n : n + m] if is_linear(x)]
    moving = [(ct, t) for ct, t, u in zip(cts, body.out_types, carry, strict=True) if u]
    parts = Parts(
        for_test=_known(operands[:n], linear[:n]),
        for_step=_known(operands[n : n + m], consts),
        init=_known(init, carry),
        trail=list(operands[n + m - stored : n + m]),
        sums=[instantiate(None, t) for t in const_types],
        cotangents=[instantiate(ct, t) for ct, t in moving],
    )
    key = "reversed", linear, attributes["cond"], n, m, attributes["checkpoints"], stored
    program = body.memo.get(key)
    if program is None:
        pull = transpose_program(body, (*consts, *carry), carry, full=True)
        if pull.captured:
            raise AssertionError("a transposed step is closed")
        program = body.memo[key] = _reversed(
            known, pull.program, parts, attributes["checkpoints"], body.name
        )
    refuse_unstored(program)
    results = iter(program.run(*parts.flat()))
    to_consts = [next(results) if u else None for u in consts]
    to_carry = [next(results) if u else None for u in carry]
    to_init = [ct if is_linear(x) else None for x, ct in zip(init, to_carry, strict=True)]
    return [*(None for _ in range(n)), *to_consts, *to_init]


def _known(operands: Sequence[Any], linear: Sequence[bool]) -> list[Any]:
    return [x for x, u in zip(operands, linear, strict=True) if not u]


@attrs.frozen(slots=True, eq=False)
class Parts:
    """The operands of a transposed loop.

    Known constants of the condition and of the body, the known initial carry, the trail (nothing
    where none was stored), zeros for the linear constants, cotangents of the linear carry.
    """

    for_test: list[Any]
    for_step: list[Any]
    init: list[Any]
    trail: list[Any]
    sums: list[Any]
    cotangents: list[Any]

    def flat(self) -> list[Any]:
        """All of them."""
        return [x for part in self._lists() for x in part]

    def like(self, values: Sequence[Any]) -> Parts:
        """The parts again, from others that are as long."""
        rest = iter(values)
        return Parts(*([next(rest) for _ in part] for part in self._lists()))

    def _lists(self) -> tuple[list[Any], ...]:
        return attrs.astuple(self, recurse=False)


def _reversed(
    known: dict[str, Any], pull: Program, parts: Parts, checkpoints: int, name: str
) -> Program:
    """The transposed loop as a program of its parts."""

    def whole(*values: Any) -> list[Any]:
        given = parts.like(values)

        def test(*state: Any) -> Any:
            return known["cond"].run(*given.for_test, *state)[0]

        def step(*state: Any) -> list[Any]:
            return known["body"].run(*given.for_step, *state)

        def pull_back(*values: Any) -> list[Any]:
            return pull.run(*given.for_step, *values)

        trail = given.trail or forward(test, step, given.init, checkpoints)[1]
        return backward(step, pull_back, Trail.of(trail), given.sums, given.cotangents, checkpoints)

    staged = stage(whole, [value_type(x) for x in parts.flat()], name)
    if staged.captured:
        raise AssertionError("a transposed loop is closed")
    return staged.program


def backward(
    step: Callable[..., list[Any]],
    pull: Callable[..., list[Any]],
    trail: Trail,
    sums: Sequence[Any],
    cotangents: Sequence[Any],
    checkpoints: int,
) -> list[Any]:
    """Cotangents of the linear constants, added to `sums`, and of the initial linear carry.

    `step` advances the known carry; `pull` takes it and the cotangents after a step, and gives
    those of the linear constants, and those before the step.
    """
    m, k, n = len(sums), len(cotangents), len(trail.state)

    def more(left: Any, *_: Any) -> Any:
        return gt(left, 0)

    def back(left: Any, at: Any, level: Any, *values: Any) -> list[Any]:
        sums_so_far, cts, rest = values[:m], values[m : m + k], values[m + k :]
        before = Trail(left, at, level, list(rest[:n]), Slots.of(rest[n:]))
        here = go_to(sub(left, 1), before, step)
        given = pull(*here.state, *cts)
        totals = [add(a, b) for a, b in zip(sums_so_far, given[:m], strict=True)]
        return [
            here.left,
            here.at,
            here.level,
            *totals,
            *given[m:],
            *here.state,
            *here.slots.flat(),
        ]

    carry = [trail.left, trail.at, trail.level, *sums, *cotangents, *trail.state]
    found = go_round(more, back, [*carry, *trail.slots.flat()], checkpoints)
    return found[3 : 3 + m + k]
