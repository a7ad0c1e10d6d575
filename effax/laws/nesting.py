"""Laws of a transform inside itself, around others, and where the ways of a program meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import effax
from effax.effects.program import Program
from effax.effects.rows import control
from effax.effects.types import is_float, typeof
from effax.interpreters.interpreter import Interpreter, Leaf
from effax.laws.described import Described
from effax.laws.law import CLOSE, Case, Law, flat, total


class Marked(Interpreter):
    """Another transform to nest with: its data are the values, and each rule passes them on."""

    value: Leaf


@Marked.default
def pass_on(effect: Any, *operands: Any, **attributes: Any) -> Any:
    """The effect on the values."""
    return Marked.map(effect, *operands, **attributes)


def marked(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function under `Marked`, of arrays."""

    def of_arrays(*xs: Any) -> tuple[Any, ...]:
        found = Marked.transform(lambda *ys: tuple(f(*ys)))(*map(Marked.lift, xs))
        return tuple(x.value if isinstance(x, Marked) else x for x in found)

    return of_arrays


def laws_of_nesting(t: Described) -> list[Law]:
    """The laws of T under and over other transforms, itself among them."""

    def in_itself(c: Case) -> Any:
        once = t.function(c.f)
        right = once if t.oracle is None else t.oracle(once)
        return t.function(once)(*c.args), right(*c.args)

    def over_another(c: Case) -> Any:
        return t.function(marked(c.f))(*c.args), t.function(c.f)(*c.args)

    def under_another(c: Case) -> Any:
        return marked(lambda *xs: flat(t.function(c.f)(*xs)))(*c.args), flat(
            t.function(c.f)(*c.args)
        )

    def of_jit(c: Case) -> Any:
        return t.function(effax.jit(c.f))(*c.args), t.function(c.f)(*c.args)

    def of_vmap(c: Case) -> Any:
        args = c.batch()
        return flat(t.function(effax.vmap(c.f))(*args)), flat(effax.vmap(c.f)(*args))

    def of_jvp(c: Case) -> Any:
        u = c.directions()

        def forward(*xs: Any) -> Any:
            primals, tangents = effax.jvp(c.f, xs, tuple(u))
            return (*primals, *tangents)

        return t.function(forward)(*c.args), forward(*c.args)

    def of_grad(c: Case) -> Any:
        def g(*xs: Any) -> Any:
            return total([y for y in c.f(*xs) if is_float(typeof(y).dtype)])

        slopes = effax.grad(g, argnums=tuple(range(len(c.f.types))))
        return t.function(slopes)(*c.args), slopes(*c.args)

    def of_branches(c: Case) -> Any:
        branches = c.loop.program(), c.g.program(), _constants(c)
        at = c.seed % 3
        args = c.values(c.loop)
        index = c.lift(np.int32(at))
        chosen = t.function(lambda *xs: tuple(control.cond(index, *xs, branches=branches)))
        return chosen(*args), tuple(branches[at].run(*args))

    stated: dict[str, tuple[Callable[[Case], Any], tuple[str, ...]]] = {
        "T (T f) = T f": (in_itself, ()),
        "T (U f) = T f, U another": (over_another, ()),
        "U (T f) = T f, U another": (under_another, ()),
        "T (jit f) = T f": (of_jit, ()),
        "T (vmap f) = vmap f": (of_vmap, ()),
        "T (jvp f) = jvp f": (of_jvp, ()),
        "T (grad f) = grad f": (of_grad, ("no while",)),
        "T (cond i fs) = f of i": (of_branches, ("loop", "branches")),
    }
    if t.oracle is not None:  # the transform computes something else than f
        for name in ("T (vmap f) = vmap f", "T (jvp f) = jvp f", "T (grad f) = grad f"):
            del stated[name]
        del stated["T (cond i fs) = f of i"]
    return [Law(name, sides, CLOSE, frozenset(needs)) for name, (sides, needs) in stated.items()]


def _constants(c: Case) -> Program:
    """A branch whose results depend on nothing: they are plain, where others' are data."""
    from effax.effects.rows.shape import full
    from effax.interpreters.stage import stage

    types = c.loop.program().out_types
    return stage(
        lambda *_: [full(x.shape, 0.5, x.dtype) for x in types], c.loop.program().in_types
    ).program
