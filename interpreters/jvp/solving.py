"""Forward mode of linear systems: `a dx = db - da x`, by the same solver."""

from __future__ import annotations

from typing import Any

from effax.effects.program import Program
from effax.effects.rows import solving
from effax.effects.rows.elementwise import sub
from effax.effects.rows.solving import Counts, sections
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import JVP, rule, zeros


@rule(solving.linear_solve, pure=True)
def linear_solve_jvp(
    primals: list[Any], tangents: list[Any], *, matvec: Program, consts: Counts, **programs: Any
) -> Any:
    """Only what `matvec` and the right side do moves the result; how it is found does not."""
    attributes = {"matvec": matvec, "consts": consts, **programs}
    *_, db = sections(tangents, consts)
    found = solving.linear_solve(*primals, **attributes)
    xs, rest = found[: len(db)], found[len(db) :]
    still = [None] * len(rest)
    own = sections(primals, consts)[0]
    moving = sections(tangents, consts)[0]
    if all(t is None for t in moving):
        if all(t is None for t in db):
            return found, [None] * len(found)
        change = [zeros(typeof(x)) if t is None else t for x, t in zip(xs, db, strict=True)]
    else:
        handler = JVP()
        duals = [handler.dual(p, t) for p, t in zip(own, moving, strict=True)]
        moved = [handler.split(y)[1] for y in handler.run(matvec.run, *duals, *xs)]
        change = [_difference(t, m, x) for t, m, x in zip(db, moved, xs, strict=True)]
    known = primals[: sum(consts)]
    return found, [*solving.linear_solve(*known, *change, **attributes)[: len(db)], *still]


def _difference(one: Any, other: Any, like: Any) -> Any:
    one = zeros(typeof(like)) if one is None else one
    return one if other is None else sub(one, other)
