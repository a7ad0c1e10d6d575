"""Derivatives of both orders where formulas meet: ties, zeros and thresholds, by finite differences.

A formula of `minimum` and `maximum`, or of `where` at one point, can have the right value and the
right first derivative there, and a wrong second one.
"""

from itertools import product

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax, nn
from effax.scipy import special, stats

STEP = 1e-4
HALVES = (0.5, 1.0, 2.0, 3.0)
TIES = tuple(product(HALVES, HALVES))
BESIDE_ZERO = ((0.0, 0.5), (0.0, 2.0), (1.0, 2.0))

TABLE = [
    (nn.softplus, ((0.0,), (1.0,))),
    (nn.log_sigmoid, ((0.0,), (-1.0,))),
    (nn.mish, ((0.0,), (2.0,))),
    (jnp.logaddexp, ((0.0, 0.0), (2.0, 2.0), (2.0, 3.0))),
    (jnp.logaddexp2, ((0.0, 0.0), (2.0, 2.0))),
    (jnp.hypot, (*TIES, (-2.0, 2.0), (3.0, -3.0))),
    (jnp.sinc, ((0.0,), (1.0,))),
    (special.betaln, (*TIES, (20.0, 20.0), (15.0, 3.0))),
    (special.beta, TIES),
    (special.comb, ((1.0, 0.5), (2.0, 1.0), (30.0, 15.0))),
    (special.xlogy, BESIDE_ZERO),
    (special.xlog1py, BESIDE_ZERO),
    (special.spence, ((1.0,), (0.5,), (2.0,))),
    (special.logit, ((0.25,), (0.5,), (0.75,))),
    (special.log_ndtr, ((-20.0,), (0.0,), (8.0,))),
    (stats.laplace.cdf, ((0.0, 1.0),)),
    (stats.gamma.logpdf, ((0.5, 1.0), (2.0, 1.0))),
    (stats.chi2.logpdf, ((0.5, 2.0), (2.0, 2.0))),
    (stats.beta.logpdf, ((0.25, 1.0, 1.0), (0.25, 2.0, 2.0), (0.5, 1.0, 2.0))),
    (stats.t.logpdf, ((0.0, 1.0), (-1.0, 1.0), (1.0, 3.0))),
    (stats.norm.logsf, ((20.0,), (0.0,))),
    (stats.binom.logpmf, ((1.0, 2.0, 0.5),)),
]


def differences(function, point, i):
    """The slope on the left and on the right."""
    step = np.zeros(len(point))
    step[i] = STEP
    middle, before, after = (float(function(*(point + t))) for t in (0, -step, step))
    return (middle - before) / STEP, (after - middle) / STEP


@pytest.mark.parametrize(("function", "points"), TABLE, ids=[f.__name__ for f, _ in TABLE])
def test_derivatives_are_those_of_differences(function, points):
    with effax.enable_x64(True):
        for point, i in product(map(np.asarray, points), range(len(points[0]))):
            if function is special.comb and i == 0 and point[0] == 30:
                continue  # the differences of a number near 1e8 are lost
            first = effax.grad(function, i)
            for f, j in [(function, i), *((first, k) for k in range(len(point)))]:
                left, right = differences(f, point, j)
                if abs(right - left) > 1e-2 * max(1, abs(left)):
                    continue  # a kink
                found = float(effax.grad(f, j)(*point))
                allowed = 1e-4 * max(1, abs(left), abs(right)) + abs(right - left)
                assert abs(found - (left + right) / 2) <= allowed, (point, i, j)


def test_slopes_of_a_power_of_zero():
    for power in (jnp.power, lax.pow, lambda x, y: x**y):
        assert effax.grad(power)(0.0, 0.0) == 0
        assert effax.grad(effax.grad(power))(0.0, 1.0) == 0
    np.testing.assert_array_equal(
        effax.jacfwd(lambda x: x ** jnp.arange(3.0))(0.0), [0.0, 1.0, 0.0]
    )


def test_slopes_at_the_ends_of_what_is_defined():
    assert effax.grad(special.logit)(0.0) == np.inf
    assert effax.grad(special.logit)(1.0) == np.inf
    assert effax.grad(stats.gumbel_r.logpdf)(np.inf) == -1
    assert effax.grad(stats.gumbel_l.logpdf)(-np.inf) == 1
    assert effax.grad(effax.grad(jnp.cbrt))(np.inf) == 0


def test_shares_of_infinite_sums():
    for x, y in product((np.inf, -np.inf, 0.0), repeat=2):
        one, other = effax.grad(jnp.logaddexp, (0, 1))(x, y)
        assert (one, other) == ((x >= y) if x != y or np.isinf(x) else 0.5,) + (
            (y >= x) if x != y or np.isinf(x) else 0.5,
        )


@pytest.mark.parametrize("extremum", [jnp.min, jnp.max, jnp.nanmin, jnp.nanmax])
def test_the_extremum_of_nothing_does_not_move(extremum):
    empty = jnp.zeros((2, 0))
    _, slope = effax.jvp(lambda x: extremum(x, axis=1, initial=2.5), (empty,), (empty,))
    np.testing.assert_array_equal(slope, [0.0, 0.0])


def test_cotangents_of_a_selection_by_numbers_outside():
    which = jnp.array([-1, 0, 1, 2, 7])
    x, y, z = jnp.arange(15.0).reshape(3, 5)
    for cases in ((x, y), (x, y, z)):
        chosen = np.clip(which, 0, len(cases) - 1)
        np.testing.assert_array_equal(
            lax.select_n(which, *cases), np.stack(cases)[chosen, np.arange(5)]
        )
        found = effax.grad(lambda cases: lax.select_n(which, *cases).sum())(cases)
        np.testing.assert_array_equal(found, chosen == np.arange(len(cases))[:, None])
