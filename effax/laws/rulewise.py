"""Laws of each rule by itself, and of what a transform's data stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import effax
from effax.effects.rows import comparison, control, elementwise
from effax.effects.tree import tree_leaves
from effax.effects.types import typeof
from effax.interpreters.interpreter import Interpreter
from effax.laws.batching import mapped
from effax.laws.described import Described
from effax.laws.law import CLOSE, Case, Law, Violation, flat, total
from effax.laws.loops import _while, repeated, scanned


def laws_of_rules(t: Described) -> list[Law]:
    """The laws that each rule is asked, on programs of its effect alone."""

    def keeps_results(c: Case) -> Any:
        if t.oracle is not None:
            return flat(t.function(c.f)(*c.args)), flat(t.oracle(c.f)(*c.args))
        return flat(t.function(c.f, _mask(c))(*c.args)), flat(c.f(*c.args))

    def of_rows(c: Case) -> Any:
        args = c.batch()
        f = t.function(c.f)
        return effax.vmap(lambda *xs: flat(f(*xs)))(*args), mapped(lambda *xs: flat(f(*xs)), args)

    def staged(c: Case) -> Any:
        f = t.function(c.f)
        return flat(effax.jit(f)(*c.args)), flat(f(*c.args))

    stated: dict[str, Callable[[Case], Any]] = {
        "T f = f": keeps_results,
        "vmap (T f) = stack . map (T f)": of_rows,
        "jit (T f) = T f": staged,
    }
    cls, oracle = t.asked(), t.oracle
    if oracle is not None and cls is not None and cls._fields.states:

        def twice(c: Case) -> Any:
            def f(*xs: Any) -> Any:
                return *flat(c.f(*xs)), *flat(c.f(*xs))

            return flat(t.function(f)(*c.args)), flat(oracle(f)(*c.args))

        stated["T (f, f) = oracle (f, f)"] = twice
    if t.sound is not None:
        stated["T f stands for f"] = lambda c: stands_for(t, c, c.f, c.args)
    exact = t.oracle is None
    found = [Law(f"each rule: {name}", f, CLOSE, exact=exact) for name, f in stated.items()]
    return [*found, *(x for x in t.more if not x.needs)]


_BRANCHES: Final = frozenset({"loop", "branches"})


def _close_to_both(c: Case) -> Callable[..., Any]:
    """One of two programs, by whether the sum of the arguments is below a number close to it."""
    number = float(np.asarray(sum(x.sum() for x in c.arrays(c.loop))))
    number += 0.01 if c.seed % 2 else -0.01

    def chosen(*xs: Any) -> Any:
        less = comparison.lt(total(xs), number)
        return effax.lax.cond(
            less, lambda *ys: tuple(c.loop(*ys)), lambda *ys: tuple(c.g(*ys)), *xs
        )

    return chosen


def laws_of_soundness(t: Described) -> list[Law]:
    """Results stand for those of the function, where arguments stand for its arguments."""
    if t.sound is None:
        return []

    def of_programs(c: Case) -> Any:
        return stands_for(t, c, c.f, c.args)

    def of_scans(c: Case) -> Any:
        return stands_for(t, c, scanned(c), c.values(c.loop))

    def of_loops(c: Case) -> Any:
        return stands_for(t, c, _while(c), c.values(c.loop))

    def of_branches(c: Case) -> Any:
        return stands_for(t, c, _close_to_both(c), c.values(c.loop))

    def through_call(c: Case) -> Any:
        program = c.f.program()

        def called(*xs: Any) -> Any:
            return control.call(*xs, program=program, name="f")

        return apart(called, c.f, c, c.args)

    def through_scan(c: Case) -> Any:
        return apart(scanned(c), repeated(c), c, c.values(c.loop))

    def apart(f: Any, same: Any, c: Case, args: Sequence[Any]) -> Any:
        """Results of both, and how far they are from those of one: what cancels, does in both."""

        def from_same(g: Any) -> Any:
            return lambda *xs: (*(ys := g(*xs)), *map(elementwise.sub, ys, same(*xs)))

        return _around(t, c, from_same(f), args), _around(t, c, from_same(same), args)

    tight = {
        "T (call f) = T f, around": (through_call, frozenset[str]()),
        "T (scan f) = T of the loop, around": (through_scan, frozenset({"loop"})),
    }
    around = () if t.around is None else tight.items()
    return [
        Law("T f stands for f", of_programs, CLOSE),
        Law("T (cond p f g) stands for cond p f g", of_branches, CLOSE, _BRANCHES),
        Law("T (scan f) stands for scan f", of_scans, CLOSE, frozenset({"loop"})),
        Law("T (while f) stands for while f", of_loops, CLOSE, frozenset({"loop"})),
        *(Law(name, sides, CLOSE, needs) for name, (sides, needs) in around),
    ]


def _around(t: Described, c: Case, f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The results of T f, where data stand for the arguments without being them."""
    data = t.embed(*args) if t.around is None else t.around(np.random.default_rng(c.seed), *args)
    return tree_leaves(t.transform(f)(*data), is_leaf=lambda x: isinstance(x, Interpreter))


def stands_for(t: Described, c: Case, f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """Whether each result stands for the function's, and that it should; plain ones are equal."""
    assert t.sound is not None
    found = _around(t, c, f, args)
    values = tree_leaves(f(*args))
    if len(found) != len(values):
        raise Violation(f"{len(found)} results, where the function has {len(values)}")
    lhs, rhs = [], []
    for x, value in zip(found, values, strict=True):
        if isinstance(x, Interpreter):
            holds = t.sound(x, value)
            holds = np.bool_(holds) if isinstance(holds, bool) else holds
            lhs.append(holds)
            rhs.append(np.ones(typeof(holds).shape, bool))
        else:
            lhs.append(x)
            rhs.append(value)
    return lhs, rhs


def _mask(c: Case) -> list[bool]:
    """Choose the arguments that are data: all of them, half of the time; else one."""
    n = len(c.f.types)
    chosen = c.seed % (2 * n)
    return [chosen == i or chosen >= n for i in range(n)]
