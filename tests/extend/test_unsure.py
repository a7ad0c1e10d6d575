"""Control flow on predicates that an interpreter is not sure of; rules that decline."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import extend, lax

effects = fx.effects


class Range(fx.Interpreter):
    """Between two numbers."""

    lo: fx.Leaf
    hi: fx.Leaf


Range.leafwise(*extend.traits.increasing, *extend.traits.rearranging)


@Range.rule(effects.lt, effects.le)
def less_range(x, y, *, effect):
    return Range(effect(x.hi, y.lo), effect(x.lo, y.hi))


@Range.default
def unknown_range(effect, *xs, **how):
    if effect in extend.traits.composite:
        return NotImplemented
    return anything(effect.result_type(*(x.lo for x in xs), **how))


def anything(t):
    return Range(jnp.full(t.shape, -99, t.dtype), jnp.full(t.shape, 99, t.dtype))


extend.unsure(
    Range,
    may=lambda x, k: (x.lo <= k) & (k <= x.hi),
    join=lambda x, y: Range(jnp.minimum(x.lo, y.lo), jnp.maximum(x.hi, y.hi)),
    top=anything,
    patience=8,
)
ranges = Range.transform


def ends(x):
    return float(x.lo), float(x.hi)


@pytest.mark.parametrize("outside", [lambda f: f, fx.jit], ids=["alone", "jit"])
def test_possible_branches_are_joined(outside):
    def f(which, x):
        return lax.switch(which, [lambda x: x + 1, lambda x: x + 10, lambda x: 7.0], x)

    x = Range(2.0, 3.0)
    assert ends(outside(ranges(f))(Range(1, 1), x)) == (12, 13)
    assert ends(outside(ranges(f))(Range(0, 1), x)) == (3, 13)
    assert ends(outside(ranges(f))(Range(1, 2), x)) == (7, 13)
    assert ends(outside(ranges(f))(Range(-9, -5), x)) == (3, 4)  # an index is clamped
    assert ends(outside(ranges(f))(Range(5, 9), x)) == (7, 7)
    assert ends(outside(ranges(f))(1, x)) == (12, 13)  # a plain index: nothing to join


def test_other_branches_are_not_run():
    seen = []

    def show(x):
        fx.debug.callback(lambda: seen.append(1))
        return x + 1

    def f(which, x):
        return lax.cond(which, show, lambda x: x, x)

    fx.block_until_ready(ranges(f)(Range(False, False), Range(1.0, 2.0)))
    fx.effects_barrier()
    assert seen == []
    fx.block_until_ready(ranges(f)(Range(False, True), Range(1.0, 2.0)))
    fx.effects_barrier()
    assert seen == [1]


@pytest.mark.parametrize("outside", [lambda f: f, fx.jit], ids=["alone", "jit"])
def test_a_loop_ends_where_it_may(outside):
    def f(x, limit):
        return lax.while_loop(lambda c: c < limit, lambda c: c + 2, x)

    assert ends(outside(ranges(f))(Range(0.0, 0.0), 5.0)) == (6, 6)
    assert ends(outside(ranges(f))(Range(0.0, 1.0), 5.0)) == (4, 7)
    assert ends(outside(ranges(f))(Range(0.0, 0.0), Range(3.0, 5.0))) == (4, 6)


def test_a_loop_that_is_not_sure_for_long_may_end_anywhere():
    def f(x):
        return lax.while_loop(lambda c: c < 5, lambda c: jnp.maximum(c, 4.0), x)

    assert ends(ranges(f)(Range(4.0, 6.0))) == (-99, 99)


def test_under_vmap():
    def f(which, x):
        return ranges(lambda w, y: lax.cond(w, lambda: y + 10, lambda: y))(which, x)

    which = Range(jnp.array([False, False, True]), jnp.array([False, True, True]))
    found = fx.vmap(f)(which, Range(jnp.zeros(3), jnp.ones(3)))
    np.testing.assert_array_equal(found.lo, [0, 0, 10])
    np.testing.assert_array_equal(found.hi, [1, 11, 11])


def test_under_grad():
    def f(r):
        x = Range(1 - r, 1 + r)
        found = ranges(lambda x: lax.cond(x < 1, lambda y: y + y, lambda y: y, x))(x)
        return found.hi - found.lo

    assert float(fx.grad(f)(0.25)) == 3.0


def test_a_rule_that_declines_leaves_the_effect_to_its_definition():
    class Doubled(fx.Interpreter):
        value: fx.Leaf

    @Doubled.default
    def all_but_composites(effect, *xs, **how):
        if effect in extend.traits.composite:
            return NotImplemented
        seen.append(effect)
        return Doubled(effect(*(x.value for x in xs), **how))

    seen = []
    found = Doubled.transform(jnp.prod)(Doubled(jnp.array([2.0, 3.0, 5.0])))
    assert float(found.value) == 30
    assert effects.mul in seen
    assert effects.reduce_prod not in seen


def test_a_rule_that_declines_what_has_no_definition_is_refused_by_name():
    class Nothing(fx.Interpreter):
        value: fx.Leaf

    @Nothing.default
    def declines(effect, *xs, **how):
        return NotImplemented

    with pytest.raises(extend.MissingRuleError, match="Nothing has no rule for the effect sin"):
        Nothing.transform(jnp.sin)(Nothing(1.0))


def test_a_program_under_an_interpreter_with_states_is_not_run_inside_of_what_is_staged():
    class Counting(fx.Interpreter):
        value: fx.Leaf
        count: fx.State = 0

    @Counting.rule(effects.cond)
    def staged(which, *xs, branches, run):
        return lax.cond(True, lambda: run(branches[0], *xs), lambda: run(branches[1], *xs))

    def f(x):
        return lax.cond(True, lambda y: y, lambda y: y, x)

    with pytest.raises(extend.MissingRuleError, match="Counting has states or logs"):
        Counting.transform(f)(Counting(1.0))
