"""The page of the design, as written there: an interpreter has no line about control flow."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp

effects = fx.effects


class Interval(fx.Interpreter):
    """lo <= value <= hi."""

    lo: fx.Leaf
    hi: fx.Leaf


@Interval.rule(effects.add)
def _(x, y):
    return Interval(x.lo + y.lo, x.hi + y.hi)


@Interval.rule(effects.neg)
def _(x):
    return Interval(-x.hi, -x.lo)


@Interval.rule(effects.exp, effects.log, effects.tanh)  # any increasing function
def _(x, *, effect):
    return Interval(effect(x.lo), effect(x.hi))


bounds = Interval.transform  # bounds(f)(Interval(lo, hi)) -> Interval


def f(x):
    return jnp.tanh(-x + 1.0) + jnp.exp(x)


def ball(r):
    return Interval(-r, r)


def width(x):
    return x.hi - x.lo


def expected(lo, hi):
    return np.tanh(1 - hi) + np.exp(lo), np.tanh(1 - lo) + np.exp(hi)


def check(found, lo, hi):
    want = expected(np.float32(lo), np.float32(hi))
    np.testing.assert_allclose([found.lo, found.hi], want, rtol=1e-5)


def test_alone():
    check(bounds(f)(Interval(0.5, 1.5)), 0.5, 1.5)


def test_jit():
    check(fx.jit(bounds(f))(Interval(0.5, 1.5)), 0.5, 1.5)


def test_jit_inside():
    check(bounds(fx.jit(f))(Interval(0.5, 1.5)), 0.5, 1.5)


def test_vmap():
    lo, hi = np.zeros(3, np.float32), np.arange(3, dtype=np.float32)
    found = fx.vmap(bounds(f))(Interval(lo, hi))
    np.testing.assert_allclose([found.lo, found.hi], expected(lo, hi), rtol=1e-5)
    twice = fx.jit(fx.vmap(bounds(fx.jit(f))))(Interval(lo, hi))
    np.testing.assert_allclose(twice.hi, found.hi, rtol=1e-6)


def test_vmap_inside():
    lo = np.zeros(3, np.float32)
    found = bounds(fx.vmap(f))(Interval(lo, lo + 1))
    np.testing.assert_allclose([found.lo, found.hi], expected(lo, lo + 1), rtol=1e-5)


def test_grad_of_the_width():
    slope = fx.grad(lambda r: width(bounds(f)(ball(r))))(0.5)
    h = 1e-3
    numeric = (width(bounds(f)(ball(0.5 + h))) - width(bounds(f)(ball(0.5 - h)))) / (2 * h)
    assert float(slope) == pytest.approx(float(numeric), rel=1e-2)


def test_scan():
    def g(x):
        return lax.scan(lambda c, row: (jnp.tanh(c) + row, c), x, jnp.arange(3.0))

    last, all_ = bounds(g)(Interval(0.0, 1.0))
    low, high = 0.0, 1.0
    for row in range(3):
        low, high = np.tanh(low) + row, np.tanh(high) + row
    np.testing.assert_allclose([last.lo, last.hi], [low, high], rtol=1e-5)
    assert all_.lo.shape == (3,)
    total = fx.grad(lambda r: width(bounds(g)(ball(r))[0]))(0.5)
    assert np.isfinite(total)


def test_while():
    def g(x):
        return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + x), (0, 0.0))[1]

    found = bounds(g)(Interval(0.5, 1.0))
    assert (float(found.lo), float(found.hi)) == (1.5, 3.0)
    tight = fx.jit(fx.vmap(bounds(g)))(Interval(np.zeros(2, np.float32), np.ones(2, np.float32)))
    np.testing.assert_array_equal(tight.hi, [3, 3])


def test_cond():
    def g(x, which):
        return lax.cond(which, jnp.exp, lambda y: jnp.zeros_like(y), x)

    found = bounds(g)(Interval(0.0, 1.0), True)
    np.testing.assert_allclose([found.lo, found.hi], [1, np.e], rtol=1e-6)
    plain = bounds(g)(Interval(0.0, 1.0), False)
    assert (float(plain.lo), float(plain.hi)) == (0.0, 0.0)


def test_custom_rule_and_remat_inside():
    @fx.custom_jvp
    def twice(x):
        return x + x

    twice.defjvp(lambda x, t: (twice(*x), 2.0 * t[0]))
    found = bounds(lambda x: twice(jnp.exp(x)))(Interval(0.0, 1.0))
    np.testing.assert_allclose([found.lo, found.hi], [2, 2 * np.e], rtol=1e-6)


def test_missing_rule_says_what_to_write():
    with pytest.raises(
        fx.extend.MissingRuleError, match=r"Interval has no rule.*sin.*@Interval\.rule"
    ):
        bounds(jnp.sin)(Interval(0.0, 1.0))


def test_what_does_not_depend_on_it_is_plain():
    assert bounds(lambda x: jnp.ones(3) * 2)(Interval(0.0, 1.0)).shape == (3,)
    x, y = bounds(lambda d: (d["a"], d["b"]))({"a": Interval(0.0, 1.0), "b": 3.0})
    assert type(x) is Interval
    assert y == 3.0
