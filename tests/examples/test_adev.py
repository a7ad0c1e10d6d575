"""Unbiased gradients of expectations: exact ones by enumeration, means of many estimates, transforms."""

import doctest
from functools import partial

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import laws, lax, random
from tests.examples.samples import load
from tests.programs.e3 import PROGRAMS, X

adev = load("adev")

expectation, flip, categorical = adev.expectation, adev.flip, adev.categorical
normal, uniform = adev.normal, adev.uniform

KEY = random.key(0)


def mean_gradient(f, x, n=3000):
    """The mean of many estimates, and its standard error."""
    estimates = fx.jit(fx.vmap(lambda k: expectation(f).grad_estimate(k, x)))
    found = np.asarray(estimates(random.split(KEY, n)), np.float64)
    return found.mean(0), found.std(0) / np.sqrt(n)


def unbiased(f, x, expected):
    mean, error = mean_gradient(f, x)
    assert np.all(np.abs(mean - expected) < 5 * error + 1e-5), (mean, error, expected)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_its_page():
    assert doctest.testmod(adev).failed == 0


def loss(p, by):
    return lax.cond(flip(p, by=by), lambda: 0.0, lambda: -p / 2)


@pytest.mark.parametrize("by", ["enum", "reinforce", "mvd"])
def test_the_papers_coin(by):
    """E = (p² - p) / 2; enumeration is exact, the others are right in the mean."""
    f = partial(loss, by=by)
    unbiased(f, 0.4, -0.1)
    if by == "enum":
        close(expectation(f).estimate(KEY, 0.4), -0.12)
        value, slope = expectation(f).jvp_estimate(KEY, (0.4,), (2.0,))
        close((value, slope), (-0.12, -0.2))
        close(fx.grad(lambda p: expectation(f).grad_estimate(KEY, p))(0.4), 1.0)


@pytest.mark.parametrize("by", ["enum", "reinforce", "mvd"])
def test_categorical(by):
    values = jnp.array([1.0, -2.0, 0.5])

    def f(logits):
        return values[categorical(fx.nn.softmax(logits), by=by)] ** 2

    x = jnp.array([0.1, 0.5, -0.3])
    expected = fx.grad(lambda x: jnp.sum(fx.nn.softmax(x) * values**2))(x)
    unbiased(f, x, expected)


@pytest.mark.parametrize("by", ["reparam", "reinforce"])
def test_normal(by):
    """E[x² (1 + m)] = (m² + s²) (1 + m)."""

    def f(x):
        return normal(x[0], x[1], by=by) ** 2 * (1 + x[0])

    unbiased(f, jnp.array([0.5, 0.8]), [0.89 + 1.5, 2 * 0.8 * 1.5])


def test_uniform():
    """E[x³] on [a, b] is (a + b)(a² + b²) / 4."""
    a, b = 0.2, 1.5
    expected = [(a * a + b * b + 2 * a * (a + b)) / 4, (a * a + b * b + 2 * b * (a + b)) / 4]
    unbiased(lambda x: uniform(x[0], x[1]) ** 3, jnp.array([a, b]), expected)


@pytest.mark.slow
def test_choices_that_depend_on_choices():
    """Two coins, the second's probability the first one's business; all pairs of strategies."""

    def f(p, one, two):
        first = flip(p, by=one)
        second = flip(jnp.where(first, p * p, 0.3), by=two)
        return jnp.where(first, 2.0, p) * jnp.where(second, 1.0, -p)

    def exact(p):
        def rest(x, q):
            return x * (q - p * (1 - q))

        return p * rest(2.0, p * p) + (1 - p) * rest(p, 0.3)

    for one, two in (("enum", "enum"), ("enum", "mvd"), ("mvd", "reinforce"), ("reinforce", "mvd")):
        unbiased(partial(f, one=one, two=two), 0.6, fx.grad(exact)(0.6))


def walk(p, by):
    """Three steps to the left or the right, the square of where they end."""

    def step(x, _):
        x = x + jnp.where(flip(p, by=by), 1.0, -1.0)
        return x, x

    return jnp.sum(lax.scan(step, 0.0, None, length=3)[1] ** 2)


def exact_walk(p):
    mean, variance = 2 * p - 1, 4 * p * (1 - p)
    return sum(n * variance + (n * mean) ** 2 for n in (1, 2, 3))


def test_scan():
    close(expectation(partial(walk, by="enum")).grad_estimate(KEY, 0.3), fx.grad(exact_walk)(0.3))
    unbiased(partial(walk, by="reinforce"), 0.3, fx.grad(exact_walk)(0.3))


def test_inside_jit_vmap_and_branches():
    f = partial(walk, by="enum")
    expected = fx.grad(exact_walk)(0.3)
    close(expectation(fx.jit(f)).grad_estimate(KEY, 0.3), expected)
    close(fx.jit(expectation(f).grad_estimate)(KEY, 0.3), expected)
    close(expectation(fx.checkpoint(f)).grad_estimate(KEY, 0.3), expected)

    def one_branch_chooses(p):
        return lax.cond(flip(p), lambda: jnp.where(flip(p * p), 3.0, p), lambda: 1.0)

    found = expectation(one_branch_chooses).grad_estimate(KEY, 0.5)
    close(found, fx.grad(lambda p: p * (3 * p * p + (1 - p * p) * p) + 1 - p)(0.5))

    def lanes(ps):  # a coin of its own in each lane, their sum squared
        return jnp.sum(fx.vmap(lambda p: jnp.where(flip(p), 1.0, 0.0))(ps)) ** 2

    ps = jnp.array([0.2, 0.5, 0.9])

    def exact(ps):
        return jnp.sum(ps) ** 2 + jnp.sum(ps * (1 - ps))

    close(expectation(lanes).grad_estimate(KEY, ps), fx.grad(exact)(ps))

    def same(p):
        return jnp.mean(fx.vmap(lambda _: jnp.where(flip(p), 1.0, 0.0))(jnp.arange(2))) ** 2

    close(expectation(same).estimate(KEY, 0.5), 0.25 + 0.125)  # lanes are independent


def test_a_loop_of_unknown_length():
    """Tries until the first head, at most: E[tries] = 1 / p."""

    def tries(p, by="reinforce"):
        def body(s):
            return s[0] + 1.0, flip(p, by=by)

        return lax.while_loop(lambda s: ~s[1], body, (0.0, jnp.asarray(False)))[0]

    keys = random.split(KEY, 3000)
    found = fx.jit(fx.vmap(lambda k: expectation(tries).jvp_estimate(k, (0.6,), (1.0,))))(keys)
    mean, error = np.mean(found, 1), np.std(found, 1) / np.sqrt(3000)
    assert np.all(np.abs(mean - [1 / 0.6, -1 / 0.36]) < 5 * error)
    with pytest.raises(NotImplementedError, match="unknown length"):
        expectation(partial(tries, by="enum")).estimate(KEY, 0.5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    """A coin decides where the program is run: value and slope are those of the mixture."""
    f = PROGRAMS[name].make(fx, jnp)
    x = jnp.asarray(X, jnp.float32)

    def tossed(p):
        return f(jnp.where(flip(p), x, 0.9 * x))

    value, slope = fx.jit(lambda p: expectation(tossed).jvp_estimate(KEY, (p,), (1.0,)))(0.3)
    close(value, 0.3 * f(x) + 0.7 * f(0.9 * x))
    np.testing.assert_allclose(slope, f(x) - f(0.9 * x), rtol=1e-4, atol=1e-5)


def test_laws():
    """A handler that owns nothing, and that nothing asks, changes nothing."""

    def unasked(f):
        return lambda *xs: adev.Choices.transform(f, **start)(*xs)[0]

    start = {"key": random.key_data(KEY), "digits": 0, "weight": 1.0}
    report = laws.check(unasked, max_examples=3)
    assert all(v.verdict == "true" for v in report.verdicts), report


def test_refusals():
    with pytest.raises(ValueError, match="chosen by reparam, reinforce; not by 'enum'"):
        expectation(lambda m: normal(m, 1.0, by="enum")).estimate(KEY, 0.0)
    with pytest.raises(ValueError, match="runs would take every way"):
        expectation(lambda p: jnp.sum(flip(p * jnp.ones(40)))).estimate(KEY, 0.5)
    with pytest.raises(fx.errors.EffaxError):
        fx.jit(lambda p: flip(p))(0.5)
