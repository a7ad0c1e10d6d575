"""Linear bounds: samples stay inside, and they are within the intervals."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import effax as fx
import effax.numpy as jnp
from effax import laws, lax
from tests.examples.enclosures import (
    Interval,
    around,
    assert_gradient_inside,
    assert_inside,
    assert_laws,
    assert_sketch_inside,
    ball,
)
from tests.examples.samples import POINTS, PROGRAMS, X, load, make

interval, crown_module = load("interval"), load("crown")
bounds, crown = interval.bounds, crown_module.crown


@pytest.fixture(autouse=True, scope="module")
def float64():
    with fx.enable_x64(True):
        yield


def test_its_example_runs():
    assert doctest.testmod(crown_module).failed == 0


SLOW = {
    "cholesky",
    "scan",
    "associative_scan",
    "fori_loop",
    "logsumexp",
    "while_loop",
    "custom_linear_solve",
}


@pytest.mark.parametrize("r", [0.05, 0.4])
@pytest.mark.parametrize(
    "name", [pytest.param(p, marks=pytest.mark.slow) if p in SLOW else p for p in PROGRAMS]
)
def test_on_the_programs_of_e3(name, r):
    f = make(name)
    found, wide = crown(f)(ball(X, r)), bounds(f)(ball(X, r))
    assert_inside(np.asarray(fx.vmap(f)(around(X, r))), found)
    assert np.all(np.asarray(found.lo) >= np.asarray(wide.lo) - 1e-12)
    assert np.all(np.asarray(found.hi) <= np.asarray(wide.hi) + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_under_jit_vmap_and_grad(name):
    f = make(name)
    alone = [crown(f)(ball(x, 0.1)) for x in POINTS]
    if name == "cholesky":  # 32 000 equations, which take XLA minutes
        compiled = crown(fx.jit(f))(ball(X, 0.1))
    else:
        compiled = fx.jit(lambda x: crown(fx.jit(f))(ball(x, 0.1)))(X)
    mapped = fx.vmap(lambda x: crown(f)(ball(x, 0.1)))(POINTS)
    for end in ("lo", "hi"):
        one = [np.asarray(getattr(a, end)) for a in alone]
        np.testing.assert_allclose(getattr(compiled, end), one[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(getattr(mapped, end), one, rtol=1e-9, atol=1e-12)
    if name not in ("while_loop", "cholesky"):  # no reverse mode; many columns, a minute

        def top(r):
            return jnp.sum(crown(f)(ball(X, r)).hi)

        h = 1e-6
        numeric = (top(0.1 + h) - top(0.1 - h)) / (2 * h)
        if name != "logsumexp":  # a `stop_gradient` inside
            np.testing.assert_allclose(fx.grad(top)(0.1), numeric, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"while_loop"}))
def test_of_a_gradient(name):
    assert_gradient_inside(crown, name)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(laws.programs(), st.integers(0, 9), st.sampled_from([0.01, 0.3]))
def test_samples_are_inside_on_generated_programs(sketch, seed, r):
    assert_sketch_inside(crown, sketch, seed, r)


def test_laws():
    assert_laws(crown, 1)


# --------------------------------------------------------------------------- what lines give


def ends(found):
    return float(found.lo), float(found.hi)


def test_what_cancels_is_seen():
    box = Interval(-1.0, 3.0)
    assert ends(crown(lambda x: x - x)(box)) == (0, 0)
    assert ends(crown(lambda x: 2 * (x + 1) - x)(box)) == (1, 5)


@pytest.mark.parametrize(
    "f",
    [
        *(fx.nn.relu, jnp.tanh, fx.nn.sigmoid, jnp.exp, jnp.sin, jnp.square, jnp.abs, jnp.arctan),
        *(jnp.cbrt, lambda x: x**3, lambda x: jnp.log(x + 3), lambda x: 1 / (x + 3)),
        *(lambda x: jnp.sqrt(x + 3), lambda x: jnp.minimum(x, 0.3), lambda x: x * jnp.sin(x)),
        *(lambda x: jnp.cosh(x) / (2 + x), lambda x: fx.nn.softplus(x), lambda x: jnp.tan(x)),
    ],
)
@pytest.mark.parametrize("box", [(-2.0, -0.5), (-1.0, 1.5), (0.2, 2.0), (-0.4, 0.3), (1.0, 1.0)])
def test_curves_lie_between_their_lines(f, box):
    """Seen by what is left when a multiple of x is taken away."""
    xs = np.linspace(*box, 101)
    for slope in (-2.0, 0.0, 1.0):

        def rest(x, slope=slope):
            return f(x) - slope * x

        assert_inside(np.asarray(fx.vmap(rest)(xs)), crown(rest)(Interval(*box)), 1e-7)


def test_products_lie_between_planes():
    x = np.random.default_rng(1).normal(size=(3, 2))
    y = np.random.default_rng(2).normal(size=(2, 3))

    def f(x, y):
        return x @ y - 0.5 * jnp.sum(x) + jnp.tanh(y).T @ x.T

    found = crown(f)(ball(x, 0.2), ball(y, 0.2))
    pairs = zip(around(x, 0.2), around(y, 0.2), strict=True)
    assert_inside(np.array([f(a, b) for a, b in pairs]), found)
    wide = bounds(f)(ball(x, 0.2), ball(y, 0.2))
    assert jnp.sum(found.hi - found.lo) < 0.9 * jnp.sum(wide.hi - wide.lo)


def test_scans_are_unrolled():
    def rotate(x):
        turn = np.array([[0.8, -0.6], [0.6, 0.8]])
        return lax.scan(lambda c, _: (turn @ c, c), x, None, length=8)[0]

    def width(t):
        found = t(rotate)(ball(np.zeros(2), 1.0))
        return float(jnp.max(found.hi - found.lo))

    assert width(crown) < 2.9  # at most the square's diagonal, whatever the number of steps
    assert width(bounds) > 20


def test_networks_have_smaller_bounds():
    generator = np.random.default_rng(0)
    weights = [generator.normal(size=(8, 8)) / np.sqrt(8) for _ in range(3)]
    for activation in (fx.nn.relu, jnp.tanh, fx.nn.sigmoid):

        def f(x, activation=activation):
            for w in weights:
                x = activation(w @ x)
            return jnp.sum(x)

        x = generator.normal(size=8)
        found, wide = crown(f)(ball(x, 0.1)), bounds(f)(ball(x, 0.1))
        assert_inside(np.asarray(fx.vmap(f)(around(x, 0.1))), found)
        assert found.hi - found.lo < 0.8 * (wide.hi - wide.lo)


def test_bounds_of_no_elements_are_empty():
    crown, interval = load("crown"), load("interval")
    x = jnp.zeros((2, 0))
    found = crown.crown(jnp.exp)(interval.Interval(x, x))
    assert found.lo.shape == found.hi.shape == (2, 0)


def test_a_point_stays_one_where_rounding_moves_its_bounds():
    """The interval of `lgamma` is known at points only."""
    x = jnp.asarray([-2.0, 1.0], "float32")
    found = crown(lambda x: fx.lax.lgamma(jnp.sin(x) * jnp.sin(x) + 0.3))(Interval(x, x))
    np.testing.assert_array_equal(found.lo, found.hi)
    assert np.isfinite(found.lo).all()


@pytest.mark.parametrize("x", [np.int32(-2), np.bool_(True)])
def test_extremes_of_what_is_no_float(x):
    number = x.dtype.type(1)
    found = crown(lambda x: jnp.minimum(jnp.maximum(x, number), x))(Interval(x, x))
    assert found.lo == found.hi == x


def test_its_rules_keep_the_laws_of_rules():
    points = load("asked").ASKED["crown"]
    chosen = (fx.effects.max, fx.effects.min, fx.effects.lgamma, fx.effects.digamma)
    chosen = (*chosen, fx.effects.sign, fx.effects.floor, fx.effects.abs, fx.effects.cbrt)
    names = ["each rule: T f = f", "each rule: T f stands for f"]
    report = laws.check(points.transform, laws=names, effects=chosen, **points.described())
    assert report.holds, report
