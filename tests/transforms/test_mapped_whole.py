"""Public functions under an eager `vmap` are one executable for all lanes."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import random
from effax.effects.config import fast_paths

X = np.linspace(0.1, 0.9, 24, dtype=np.float32).reshape(2, 3, 4)

CASES = {
    "one batch": lambda: effax.vmap(jnp.median)(X),
    "two, one in the other": lambda: effax.vmap(effax.vmap(jnp.var))(X),
    "an operand of the outer batch only": lambda: effax.vmap(
        lambda x: effax.vmap(lambda y: jnp.percentile(x, y))(jnp.array([10.0, 60.0]))
    )(X),
    "operands of both": lambda: effax.vmap(
        lambda x, y: effax.vmap(jnp.convolve, (0, None))(x, y), (0, 0)
    )(X, X[:, 0]),
    "none": lambda: effax.vmap(lambda x: x + jnp.linspace(0.0, 1.0, 4))(X),
    "statics and keywords": lambda: effax.vmap(lambda x: jnp.std(x, axis=1, ddof=1))(X),
    "several results": lambda: effax.vmap(lambda x: jnp.linalg.qr(x))(X),
    "a result that no lane changes": lambda: effax.vmap(jnp.histogram_bin_edges)(X),
    "a list of operands": lambda: effax.vmap(lambda x: jnp.stack([x, 1 + x, X[0]]))(X),
    "a named axis": lambda: effax.vmap(jnp.median, axis_name="i")(X),
    "keys": lambda: effax.vmap(random.normal)(random.split(random.key(0), 3)),
    "axes": lambda: effax.vmap(jnp.sort, in_axes=2, out_axes=1)(X),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_body_effect_by_effect(name):
    found = CASES[name]()
    with fast_paths("none"):
        wanted = CASES[name]()
    for x, y in zip(effax.tree.leaves(found), effax.tree.leaves(wanted), strict=True):
        assert (x.dtype, x.shape, x.weak_type) == (y.dtype, y.shape, y.weak_type)
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_a_second_call_finds_the_first_ones_executable():
    mapped = jnp.median.calls.mapped
    effax.vmap(jnp.median)(X[:, :2])
    before = len(mapped)
    effax.vmap(lambda x: jnp.median(x))(X[:, :2] + 1)
    assert len(mapped) == before
    effax.vmap(jnp.median, in_axes=2)(X[:, :2])
    assert len(mapped) == before + 1


def test_statics_that_have_no_hash():
    found = effax.vmap(lambda x: jnp.sum(x, axis=jnp.array(0)))(X)
    np.testing.assert_allclose(found, X.sum(1), rtol=1e-6)


def test_under_a_derivative_effects_are_seen():
    found = effax.vmap(effax.grad(jnp.var))(X)
    np.testing.assert_allclose(found, 2 * (X - X.mean((1, 2), keepdims=True)) / 12, atol=1e-6)
    found = effax.grad(lambda x: effax.vmap(jnp.var)(x).sum())(X)
    np.testing.assert_allclose(found, 2 * (X - X.mean((1, 2), keepdims=True)) / 12, atol=1e-6)


def test_elements_are_asked_for_as_before():
    with pytest.raises(effax.errors.ConcretizationTypeError, match="vmap"):
        effax.vmap(lambda n: jnp.arange(n))(jnp.array([1, 2]))
    with pytest.raises(effax.errors.ConcretizationTypeError, match="vmap"):
        effax.vmap(lambda x: jnp.nonzero(x)[0])(X)


def test_nan_is_found_in_results_alone():
    with effax.debug_nans(True):
        assert effax.vmap(jnp.nanmean)(jnp.array([[jnp.nan, 1.0]])).tolist() == [1.0]
        with pytest.raises(FloatingPointError):
            effax.vmap(jnp.median)(jnp.array([[jnp.nan, 1.0]]))
