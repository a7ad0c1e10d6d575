"""`fwd_and_bwd`, and what `vjp` returns as a tree of residuals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import effax
import effax.numpy as jnp

X = np.linspace(-1.0, 1.0, 4, dtype=np.float32).reshape(2, 2)
W = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)


def product(x, w):
    return jnp.sin(x) @ w


@pytest.mark.parametrize("jitted", [True, False])
def test_both_passes_are_those_of_vjp(jitted):
    fwd, bwd = effax.fwd_and_bwd(product, argnums=(0, 1), jitted=jitted)
    ct = np.ones((2, 2), np.float32)
    for scale in (1.0, 2.0, 3.0):
        y, residuals = fwd(scale * X, W)
        assert_allclose(y, np.sin(scale * X) @ W, rtol=1e-5)
        x_ct, w_ct = bwd(residuals, ct)
        assert_allclose(x_ct, np.cos(scale * X) * (ct @ W.T), rtol=1e-5)
        assert_allclose(w_ct, np.sin(scale * X).T @ ct, rtol=1e-5, atol=1e-6)
    if jitted:
        assert fwd._cache_size() == bwd._cache_size() == 1


@pytest.mark.parametrize("argnums", [0, (0,), 1, (1, 0), -1])
def test_argnums_say_which_cotangents_come_in_which_tree(argnums):
    fwd, bwd = effax.fwd_and_bwd(product, argnums=argnums)
    y, residuals = fwd(X, W)
    expected = effax.grad(lambda *args: product(*args).sum(), argnums)(X, W)
    found = bwd(residuals, jnp.ones_like(y))
    assert effax.tree.structure(found) == effax.tree.structure(expected)
    effax.tree.map(lambda a, b: assert_allclose(a, b, rtol=1e-5), found, expected)


def test_aux_comes_third():
    fwd, bwd = effax.fwd_and_bwd(lambda x: (x * x, {"k": x + 1}), argnums=0, has_aux=True)
    y, residuals, aux = fwd(X)
    assert_allclose(aux["k"], X + 1)
    assert_allclose(bwd(residuals, y), 2 * X * X * X, rtol=1e-5)


def looped(x):
    def step(c, _):
        return jnp.sin(c) * x, jnp.sum(c)

    last, sums = effax.lax.scan(step, x, None, length=3)
    return jnp.sum(last) + jnp.sum(sums)


def own_rule():
    @effax.custom_vjp
    def f(x):
        return jnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (7 * ct * x,))
    return lambda x: effax.checkpoint(lambda x: f(x) ** 2)(x).sum()


@pytest.mark.parametrize("f", [looped, own_rule()], ids=["scan", "custom_vjp"])
def test_residuals_go_through_everything(f):
    fwd, bwd = effax.fwd_and_bwd(f, argnums=0)

    def gradient(x):
        y, residuals = fwd(x)
        return bwd(residuals, jnp.ones_like(y))

    plain = effax.grad(f)
    assert_allclose(gradient(X), plain(X), rtol=1e-5)
    assert_allclose(effax.jit(gradient)(X), plain(X), rtol=1e-5)
    rows = np.stack([X, 2 * X])
    assert_allclose(effax.vmap(gradient)(rows), effax.vmap(plain)(rows), rtol=1e-5)
    twice = effax.grad(lambda x: jnp.sum(jnp.cos(gradient(x))))(X)
    expected = effax.grad(lambda x: jnp.sum(jnp.cos(plain(x))))(X)
    assert_allclose(twice, expected, rtol=1e-4, atol=1e-5)


def test_what_vjp_returns_leaves_a_jitted_function_and_enters_another():
    y, pull = effax.jit(lambda x: effax.vjp(product, x, W))(X)
    residuals = effax.tree.leaves(pull)
    assert sum(r.size for r in residuals) <= 3 * X.size
    again = effax.tree.map(lambda r: r + 0, pull)
    for f in (pull, effax.jit(pull), again):
        assert_allclose(f(y)[0], np.cos(X) * (np.asarray(y) @ W.T), rtol=1e-5)
    with pytest.raises(ValueError, match="unexpected effax type for a cotangent"):
        pull(jnp.ones(3))


def test_arguments_that_are_not_there():
    with pytest.raises(TypeError, match="argnums=5"):
        effax.fwd_and_bwd(product, argnums=5)[0](X, W)
