"""All prefixes at once are those of a loop."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_products_of_matrices(n, reverse):
    x = np.random.default_rng(n).normal(size=(n, 2, 2)).astype(np.float32)
    found = lax.associative_scan(jnp.matmul, x, reverse=reverse)
    order = range(n - 1, -1, -1) if reverse else range(n)
    wanted, total = np.zeros_like(x), None
    for i in order:
        total = x[i] if total is None else total @ x[i]
        wanted[i] = total
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_trees_and_axes():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    found = lax.associative_scan(
        lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (x, -x), axis=1
    )
    np.testing.assert_array_equal(found[0], np.cumsum(x, axis=1))
    np.testing.assert_array_equal(found[1], np.maximum.accumulate(-x, axis=1))


def test_gradient():
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    found = effax.grad(lambda x: lax.associative_scan(jnp.multiply, x).sum())(x)
    np.testing.assert_allclose(found, [1 + 2 + 6 + 24, 1 + 3 + 12, 2 + 8, 6])


def test_refusals():
    with pytest.raises(TypeError, match="callable"):
        lax.associative_scan(3, np.ones(2))
    with pytest.raises(ValueError, match="same first dimension"):
        lax.associative_scan(lambda a, b: a, (np.ones(2), np.ones(3)))
