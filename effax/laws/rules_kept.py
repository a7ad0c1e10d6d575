"""Laws of a transform and the rules that programs bring: the leaf that is the value follows them.

Each program is given a rule that is not what its body says, so that an opened body shows.
"""

from __future__ import annotations

from typing import Any

import effax
from effax.custom_batching import custom_vmap
from effax.effects.tree import tree_leaves, tree_map
from effax.effects.types import float0, is_float, typeof
from effax.laws.described import Described
from effax.laws.law import CLOSE, Case, Law, total

FACTOR = 3.0
"""The factor between the derivatives of the rules and those of the bodies."""


def _scaled(x: Any) -> Any:
    return FACTOR * x if is_float(typeof(x).dtype) else x


def _with_jvp(c: Case) -> Any:
    """The program, whose tangents its rule makes larger."""

    @effax.custom_jvp
    def f(*xs: Any) -> Any:
        return tuple(c.f(*xs))

    def rule(primals: Any, tangents: Any) -> Any:
        found, moved = effax.jvp(lambda *xs: tuple(c.f(*xs)), tuple(primals), tuple(tangents))
        return found, tree_map(lambda t: t if typeof(t).dtype == float0 else _scaled(t), moved)

    f.defjvp(rule)
    return f


def _with_vjp(c: Case) -> Any:
    """The program, whose cotangents its rule makes larger."""

    @effax.custom_vjp
    def f(*xs: Any) -> Any:
        return tuple(c.f(*xs))

    def back(xs: Any, w: Any) -> Any:
        given = effax.vjp(lambda *ys: tuple(c.f(*ys)), *xs)[1](w)
        return tuple(x if typeof(x).dtype == float0 else _scaled(x) for x in given)

    f.defvjp(lambda *xs: (tuple(c.f(*xs)), xs), back)
    return f


def _with_vmap(c: Case) -> Any:
    """The program, whose results its batching rule makes larger."""

    @custom_vmap
    def f(*xs: Any) -> Any:
        return tuple(c.f(*xs))

    @f.def_vmap
    def rule(size: int, batched: Any, *xs: Any) -> Any:
        in_axes = tuple(0 if b else None for b in batched)
        found = effax.vmap(lambda *ys: tuple(c.f(*ys)), in_axes, axis_size=size)(*xs)
        return tree_map(_scaled, found), tree_map(lambda _: True, found)

    return f


def laws_of_kept_rules(t: Described) -> list[Law]:
    """State the law of a transform that says which leaf is the value, or owns no values.

    Others open bodies or refuse derivatives: they are not asked. Nor is a function that calls the
    transform of a class, as nobody knows where in its result the value is.
    """
    owner: Any = getattr(t.transform, "__self__", None)
    if t.asked() != owner or owner is None or t.oracle is not None:
        return []
    fields = owner._fields
    if fields.leaves and fields.primal is None:
        return []
    return _stated(t, owner, fields.primal)


def _stated(t: Described, cls: Any, primal: str | None) -> list[Law]:
    def value(x: Any) -> Any:
        return getattr(x, primal) if primal and isinstance(x, cls) else x

    def under(f: Any) -> Any:
        def g(*xs: Any) -> tuple[Any, ...]:
            found = t.transform(f)(*t.embed(*xs))
            if cls._fields.states or cls._fields.logs:
                found = found[0]
            found = tree_map(value, found, is_leaf=lambda x: isinstance(x, cls))
            return tuple(tree_leaves(found))

        return g

    def forward(c: Case) -> Any:
        f, args, u = _with_jvp(c), tuple(c.args), tuple(c.directions())
        return effax.jvp(under(f), args, u), effax.jvp(f, args, u)

    def backward(c: Case) -> Any:
        f = _with_vjp(c)

        def slopes(g: Any) -> Any:
            def of(*xs: Any) -> Any:
                return total([y for y in g(*xs) if is_float(typeof(y).dtype)])

            return effax.grad(of, argnums=tuple(range(len(c.args))))(*c.args)

        return slopes(under(f)), slopes(f)

    def batched(c: Case) -> Any:
        f, args = _with_vmap(c), c.batch()
        return effax.vmap(under(f))(*args), effax.vmap(f)(*args)

    return [
        Law("jvp (T f) = the rule of f, which custom_jvp gives", forward, CLOSE),
        Law(
            "grad (T f) = the rule of f, which custom_vjp gives",
            backward,
            CLOSE,
            frozenset({"no while"}),
        ),
        Law("vmap (T f) = the rule of f, which custom_vmap gives", batched, CLOSE),
    ]
