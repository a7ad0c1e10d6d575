"""Counting: by hand, against the estimate, through control flow and under other transforms."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import laws
from tests.examples import e3

cost = e3.load("cost")


def keeps_results(f):
    return lambda *args: cost.cost(f)(*args)[0]


def total(f, *args):
    return cost.cost(f)(*args)[1]["total"].tolist()


A = np.ones((4, 3), np.float32)
X = np.ones(3, np.float32)
test_on_programs = e3.everywhere(keeps_results)


def test_products_reductions_and_moves_by_hand():
    assert total(lambda a, x: a @ x, A, X) == [2 * 4 * 3, 4 * (12 + 3 + 4)]
    assert total(lambda a: jnp.sum(a), A) == [12, 4 * 13]
    assert total(lambda a: a.T.reshape(-1), A) == [0, 4 * 48]
    assert total(lambda x: jnp.sin(x) * x, X) == [6, 4 * (6 + 9)]


def test_convolutions_and_factors_by_hand():
    image, kernel = jnp.ones((1, 2, 8, 8)), jnp.ones((5, 2, 3, 3))
    flops, _ = total(lambda x, k: lax.conv(x, k, (1, 1), "VALID"), image, kernel)
    assert flops == 2 * (5 * 6 * 6) * (2 * 3 * 3)
    flops, _ = total(lambda a: lax.linalg.cholesky(a, symmetrize_input=False), jnp.eye(4))
    assert flops == 4**3


def test_constants_count_too():
    assert total(lambda x: x + jnp.sin(jnp.ones(5)).sum(), X)[0] == 5 + 5 + 3


def test_no_overflow_at_32_bits():
    a = jnp.ones((1200, 1000))
    assert total(lambda a: a @ a.T, a)[0] == 2 * 1200 * 1200 * 1000 > 2**31


def scanned(a, x):
    return lax.scan(lambda c, row: (jnp.tanh(c + row), c.sum()), x, a)


def test_scan_is_length_times_body():
    once = total(lambda c, row: (jnp.tanh(c + row), c.sum()), X, X)
    assert total(scanned, A, X) == [4 * n for n in once]
    assert cost.estimate(scanned)(A, X) == total(scanned, A, X)


def test_cond_is_the_branch_taken_and_the_estimate_what_is_asked():
    def f(x, which):
        return lax.cond(which, lambda x: jnp.sin(jnp.cos(x)), lambda x: x * x, x)

    yes, no = total(f, X, True)[0], total(f, X, False)[0]
    assert yes - no == 3
    assert cost.estimate(f)(X, True)[0] == yes
    assert cost.estimate(f, branch=min)(X, True)[0] == no
    assert cost.estimate(f, branch=sum)(X, True)[0] == yes + no - (yes - 6)


def halving(x):
    return lax.while_loop(lambda x: jnp.sum(x) > 1, lambda x: x * 0.5, x)


class Symbol:
    """A number that is not known: only what is done with it."""

    def __init__(self, factor=0, plus=0):
        self.factor, self.plus = factor, plus

    def __mul__(self, n):
        return Symbol(self.factor + n, self.plus)

    def __radd__(self, n):
        return Symbol(self.factor, self.plus + n)

    __add__ = __radd__


def test_while_is_counted_as_it_runs_and_stays_symbolic_before():
    steps, x = 0, X.copy()
    while x.sum() > 1:
        steps, x = steps + 1, x * np.float32(0.5)
    test, body = 3 + 1, 3  # a sum and a comparison; a product
    assert total(halving, X)[0] == steps * (body + test) + test
    estimate = cost.estimate(halving, trips=Symbol())(X)[0]
    assert (estimate.factor, estimate.plus) == (body + test, 0)
    assert cost.estimate(halving)(X)[0] == body + test


def test_under_jit_vmap_and_grad():
    expected = total(scanned, A, X)
    assert fx.jit(cost.cost(scanned))(A, X)[1]["total"].tolist() == expected
    xs = jnp.stack([jnp.ones(3), 2 * jnp.ones(3), 4 * jnp.ones(3)])
    lanes = fx.vmap(cost.cost(halving))(xs)[1]["total"]
    assert lanes.tolist() == [total(halving, x) for x in xs]
    assert total(fx.vmap(jnp.sin), xs)[0] == 9
    slope = fx.grad(lambda x: jnp.sum(cost.cost(jnp.sin)(x)[0]))(X)
    np.testing.assert_allclose(slope, np.cos(X), rtol=1e-6)


def test_custom_derivatives_are_kept():
    @fx.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda x, t: (f(*x), 100.0 * t[0]))
    assert float(fx.grad(keeps_results(f))(1.0)) == 100.0
    assert total(f, jnp.ones(3))[0] == 3


def test_a_state_does_not_change_what_is_computed_in_a_condition():
    result, states = cost.cost(halving)(X)
    np.testing.assert_array_equal(result, halving(X))
    assert states["total"].dtype == np.int64


def test_roofline():
    a = jnp.ones((64, 64))
    flops, moved = cost.estimate(jnp.matmul)(a, a)
    assert cost.roofline(jnp.matmul, 1e9, 1e12)(a, a) == flops / 1e9
    assert cost.roofline(jnp.matmul, 1e12, 1e6)(a, a) == moved / 1e6


@pytest.mark.parametrize("name", sorted({*e3.names("T")} - {"cond", "switch", "while_loop"}))
def test_counted_is_estimated(name):
    """Running and reading agree where nothing depends on data, but for results that nobody uses."""
    with fx.enable_x64(True):
        f = fx.jit(e3.PROGRAMS[name].make(fx, jnp))
        assert total(f, jnp.asarray(e3.X)) == cost.estimate(f)(e3.X)


def test_laws():
    report = laws.check(keeps_results, max_examples=5)
    assert {v.verdict for v in report.verdicts} == {"true"}, report
