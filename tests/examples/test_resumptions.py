"""Search, early exit, reverse mode and nested sampling by clauses that take the resumption."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import random
from tests.examples.samples import load

amb = load("amb")
exits = load("early_exit")
back = load("backpropagation")
sampling = load("nested_sampling")


def queens(n):
    """Columns of queens on a board, row by row, none of which meets another."""
    columns = jnp.stack([amb.choose(n=n) for _ in range(n)])
    rows = jnp.arange(n)
    apart = rows[:, None] != rows
    amb.require(jnp.all((columns[:, None] != columns) | ~apart))
    amb.require(jnp.all((abs(columns[:, None] - columns) != abs(rows[:, None] - rows)) | ~apart))
    return columns


def test_queens():
    columns, met = fx.jit(amb.every(lambda: queens(4)))()
    assert met.shape == (4, 4, 4, 4)
    assert columns[met].tolist() == [[1, 3, 0, 2], [2, 0, 3, 1]]


def test_the_best_choice_is_the_maximum_and_has_its_derivative():
    options = jnp.array([1.0, 3.0, 2.0])

    def f(x):
        i = amb.choose(n=3)
        amb.require(i != 1)
        return options[i] * x

    assert float(amb.best(f)(2.0)) == 4.0
    assert float(fx.grad(amb.best(f))(2.0)) == 2.0
    np.testing.assert_array_equal(fx.vmap(amb.best(f))(jnp.array([2.0, -2.0])), [4.0, -2.0])


def first_above(xs):
    def body(i):
        exits.leave_if(xs[i] > 3, 10 * xs[i])
        return i + 1

    lax.while_loop(lambda i: i < len(xs), body, 0)
    return -1.0


def test_a_search_ends_at_the_first_found():
    xs = jnp.array([[1.0, 5.0, 6.0], [0.0, 0.0, 0.0], [1.0, 2.0, 4.0]])
    np.testing.assert_array_equal(fx.vmap(exits.leaving(first_above))(xs), [50.0, -1.0, 40.0])
    np.testing.assert_array_equal(fx.jit(exits.leaving(first_above))(xs[0]), 50.0)


def programs(x, y):
    z = x * y + x.sin()
    c, _ = lax.scan(lambda c, _: (c * z + x, None), z, None, length=3)
    return lax.cond(c.value > 0, lambda c: c * c, lambda c: c.sin(), c)


def plain(x, y):
    z = x * y + jnp.sin(x)
    c, _ = lax.scan(lambda c, _: (c * z + x, None), z, None, length=3)
    return lax.cond(c > 0, lambda c: c * c, jnp.sin, c)


@pytest.mark.parametrize("point", [(0.3, 0.7), (-0.8, 0.4)])
def test_gradients_by_continuations_are_those_of_grad(point):
    value, gradient = fx.jit(back.backpropagated(programs))(*point)
    expected, slopes = fx.value_and_grad(plain, (0, 1))(*point)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5)


def test_their_derivative_is_the_second():
    slope = fx.jacfwd(lambda x: back.backpropagated(programs)(x, 0.7)[1][0])(0.3)
    np.testing.assert_allclose(slope, fx.grad(fx.grad(plain))(0.3, 0.7), rtol=1e-5)


def test_more_operations_than_places_are_refused():
    with pytest.raises(ValueError, match="more operations"):
        back.backpropagated(lambda x: x * x * x, places=2)(1.0)


def test_evidence_of_nested_draws():
    def model():
        x, y = sampling.uniform((1,)), sampling.uniform((1,))
        sampling.factor(-50 * (x[0] - y[0]) ** 2 - 50 * (x[0] - 0.5) ** 2)

    run = fx.jit(lambda key: sampling.log_evidence(model, key, 30, 120, 5)())
    assert abs(float(run(random.key(0))) - np.log(2 * np.pi * 0.01)) < 0.6
