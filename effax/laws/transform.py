"""Laws of a transformation that somebody wrote: what any handler of effects should keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import effax
from effax.effects.rows import control
from effax.effects.types import is_float, typeof
from effax.laws.batching import mapped
from effax.laws.customs import with_own_jvp, with_own_vjp
from effax.laws.described import itself, same
from effax.laws.law import CLOSE, Case, Law, dot, flat, total
from effax.laws.loops import _while, repeated, scanned

Transform = Callable[..., Any]


def laws_of(
    transform: Transform,
    embed: Callable[..., tuple[Any, ...]] | None = None,
    project: Callable[[Any], Any] | None = None,
    oracle: Transform | None = None,
) -> list[Law]:
    """The laws of a transformation T of functions.

    `embed` makes the arguments of T(f) from those of f, and `project` arrays of its result, which
    are those of `oracle(f)`; by default, of f.
    """
    enter, leave, right = embed or same, project or itself, oracle or itself

    def t(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: leave(transform(f)(*enter(*xs)))

    def keeps_results(c: Case) -> Any:
        return t(c.f)(*c.args), right(c.f)(*c.args)

    def through_call(c: Case) -> Any:
        program = c.f.program()
        called = t(lambda *xs: tuple(control.call(*xs, program=program, name="f")))
        return called(*c.args), t(c.f)(*c.args)

    def through_remat(c: Case) -> Any:
        program = c.f.program()
        rule = {"policy": None, "prevent_cse": True, "name": "f"}
        again = t(lambda *xs: tuple(control.remat(*xs, program=program, **rule)))
        return again(*c.args), t(c.f)(*c.args)

    def through_own_jvp(c: Case) -> Any:
        return t(with_own_jvp(c))(*c.args), t(c.f)(*c.args)

    def through_own_vjp(c: Case) -> Any:
        return t(with_own_vjp(c))(*c.args), t(c.f)(*c.args)

    def inside_jit(c: Case) -> Any:
        return effax.jit(t(c.f))(*c.args), t(c.f)(*c.args)

    def inside_vmap(c: Case) -> Any:
        args = c.batch()
        return effax.vmap(lambda *xs: flat(t(c.f)(*xs)))(*args), mapped(
            lambda *xs: flat(t(c.f)(*xs)), args
        )

    def inside_jvp(c: Case) -> Any:
        args, u = tuple(c.args), tuple(c.directions())
        return effax.jvp(lambda *xs: flat(t(c.f)(*xs)), args, u)[0], flat(t(c.f)(*args))

    def inside_grad(c: Case) -> Any:
        def g(*xs: Any) -> Any:
            return total([y for y in flat(t(c.f)(*xs)) if is_float(typeof(y).dtype)])

        args, u = tuple(c.args), tuple(c.directions())
        slopes = effax.grad(g, argnums=tuple(range(len(args))))(*args)
        return effax.jvp(g, args, u)[1], dot(slopes, u)

    def composes(c: Case) -> Any:
        both = transform(lambda *xs: c.g(*c.f(*xs)))(*enter(*c.args))
        return leave(both), leave(transform(c.g)(*transform(c.f)(*enter(*c.args))))

    def through_scan(c: Case) -> Any:
        args = c.values(c.loop)
        return t(scanned(c))(*args), t(repeated(c))(*args)

    def through_while(c: Case) -> Any:
        args = c.values(c.loop)
        return t(_while(c))(*args), t(repeated(c))(*args)

    def through_cond(c: Case) -> Any:
        import numpy as np

        branches = (c.loop.program(), c.loop.program())
        index = c.lift(np.int32(c.seed % 2))
        chosen = t(lambda *xs: tuple(control.cond(index, *xs, branches=branches)))
        args = c.values(c.loop)
        return chosen(*args), t(lambda *xs: tuple(c.loop(*xs)))(*args)

    stated = {
        "T f = f": (keeps_results, ""),
        "T (call f) = T f": (through_call, ""),
        "T (remat f) = T f": (through_remat, ""),
        "T (f with jvp f for a rule) = T f": (through_own_jvp, ""),
        "T (f with vjp f for a rule) = T f": (through_own_vjp, "no while"),
        "jit (T f) = T f": (inside_jit, ""),
        "vmap (T f) = stack . map (T f)": (inside_vmap, ""),
        "the primal of jvp (T f) is T f": (inside_jvp, ""),
        "<J u, 1> = <u, grad (T f)>, J of T f": (inside_grad, "no while"),
        "T (g . f) = T g . T f": (composes, "g"),
        "T (scan f) = T of the loop": (through_scan, "loop"),
        "T (while f) = T of the loop": (through_while, "loop"),
        "T (cond p f f) = T f": (through_cond, "loop"),
    }
    return [
        Law(name, sides, CLOSE, frozenset(filter(None, (needs,))))
        for name, (sides, needs) in stated.items()
    ]
