"""Interval bounds: samples stay inside, on every program, alone and under other transforms."""

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

interval = load("interval")
bounds = interval.bounds


@pytest.fixture(autouse=True, scope="module")
def float64():
    with fx.enable_x64(True):
        yield


def test_its_example_runs():
    assert doctest.testmod(interval).failed == 0


@pytest.mark.parametrize("r", [0.05, 0.4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_samples_are_inside_on_the_programs_of_e3(name, r):
    f = make(name)
    assert_inside(np.asarray(fx.vmap(f)(around(X, r))), bounds(f)(ball(X, r)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_points_stay_points(name):
    f = make(name)
    found = bounds(f)(Interval(X, X))
    np.testing.assert_allclose(found.lo, f(X), rtol=1e-9)
    np.testing.assert_allclose(found.hi, f(X), rtol=1e-9)


def width(name):
    """The sum of the widths, where they are finite, against the radius."""

    def of(r, x=X):
        found = bounds(make(name))(ball(x, r))
        w = found.hi - found.lo
        return jnp.sum(jnp.where(jnp.isfinite(w), w, 0.0))

    return of


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_under_jit_vmap_and_grad(name):
    f = make(name)
    alone = [bounds(f)(ball(x, 0.1)) for x in POINTS]
    compiled = fx.jit(lambda x: bounds(fx.jit(f))(ball(x, 0.1)))(X)
    mapped = fx.vmap(lambda x: bounds(f)(ball(x, 0.1)))(POINTS)
    for end in ("lo", "hi"):
        one = [np.asarray(getattr(a, end)) for a in alone]
        np.testing.assert_allclose(getattr(compiled, end), one[0], rtol=1e-9)
        np.testing.assert_allclose(getattr(mapped, end), one, rtol=1e-9)
    # Reverse mode through `while` needs checkpoints, and logsumexp holds a `stop_gradient`, which
    # cancels in its own derivative but not in that of its bounds.
    if name not in ("while_loop", "logsumexp"):
        slope = fx.grad(width(name))(0.1)
        h = 1e-6
        numeric = (width(name)(0.1 + h) - width(name)(0.1 - h)) / (2 * h)
        np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_of_a_gradient(name):
    """The other order: bounds of `grad(f)` hold its samples."""
    if name == "while_loop":
        return
    assert_gradient_inside(bounds, name)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(laws.programs(), st.integers(0, 9), st.sampled_from([0.01, 0.3]))
def test_samples_are_inside_on_generated_programs(sketch, seed, r):
    assert_sketch_inside(bounds, sketch, seed, r)


def test_laws():
    assert_laws(bounds, 4)


# ------------------------------------------------------------------------ what is not sure


def test_a_branch_that_is_not_sure_is_joined():
    def f(x):
        return lax.cond(x > 0, lambda y: y + 10, lambda y: -y, x)

    assert ends(bounds(f)(Interval(-1.0, 2.0))) == (-2.0, 12.0)
    assert ends(bounds(f)(Interval(1.0, 2.0))) == (11.0, 12.0)
    assert ends(bounds(f)(Interval(-2.0, -1.0))) == (1.0, 2.0)


def ends(found):
    return float(found.lo), float(found.hi)


def test_an_impossible_branch_is_not_run():
    def endless(y):
        return lax.while_loop(lambda c: c < 10, lambda c: c * 1.0, y)

    def f(x):
        return lax.cond(x > 0, lambda y: y, endless, x)

    assert ends(bounds(f)(Interval(1.0, 2.0))) == (1.0, 2.0)


def test_a_loop_ends_where_it_may():
    def f(x):
        return lax.while_loop(lambda c: c < 8, lambda c: 2 * c, x)

    found = bounds(f)(Interval(1.5, 3.0))
    assert ends(found) == (6.0, 24.0)  # it may end after two doublings, and surely has after four
    assert_inside(np.array([f(x) for x in np.linspace(1.5, 3.0, 50)]), found)


def test_a_loop_that_is_never_sure_is_unbounded():
    def f(x):
        return lax.while_loop(lambda c: c > 1, lambda c: 0.5 * c + 0.5 * x - 0.25, x)

    found = bounds(f)(Interval(0.5, 3.0))
    assert ends(found) == (-np.inf, np.inf)


def test_comparisons_have_three_answers():
    def f(x):
        return jnp.where(x > 0.5, 1.0, 0.0)

    found = bounds(f)(Interval(np.array([0.0, 0.4, 0.7]), np.array([0.2, 0.6, 0.9])))
    np.testing.assert_array_equal(found.lo, [0, 0, 1])
    np.testing.assert_array_equal(found.hi, [0, 1, 1])


def test_places_that_are_not_sure():
    x = np.array([3.0, 1.0, 2.0])

    def f(i):
        return jnp.asarray(x)[i.astype(int)]

    assert ends(bounds(f)(Interval(1.0, 1.0))) == (1.0, 1.0)
    assert ends(bounds(f)(Interval(0.0, 1.0))) == (1.0, 3.0)


def test_scans_give_the_bounds_of_every_step():
    def f(x):
        return lax.scan(lambda y, _: (y + 0.1 * (x - y * y),) * 2, x, None, length=3)

    last, every = bounds(f)(Interval(0.5, 1.0))
    assert every.lo.shape == (3,)
    assert_inside(np.array([f(x)[1] for x in np.linspace(0.5, 1, 20)]), every)
    assert float(last.hi) == float(every.hi[-1])
