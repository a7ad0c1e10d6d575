"""Functions of dense arrays, applied to sparse ones: the results are those of the dense arrays."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.experimental import sparse
from effax.experimental.sparse import BCOO, sparsify

DENSE = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0]], np.float32)
M = BCOO.fromdense(jnp.asarray(DENSE))
ROW, ALL = np.arange(4, dtype=np.float32), np.full((3, 4), 2.0, np.float32)

# Whether JAX 0.10.2 gives a sparse array, as well.
SAME = [
    (lambda a, b: a @ b, (M, ROW), False),
    (lambda a, b: jnp.einsum("ij,j->i", a, b), (M, ROW), False),
    (lambda a, b: b.T @ a, (M, np.ones((3, 2), np.float32)), False),
    (lambda a: a @ a.T, (M,), True),
    (jnp.sin, (M,), True),
    (lambda a: -abs(a), (M,), True),
    (lambda a, b: a + b, (M, M), True),
    (lambda a, b: a - 2 * b, (M, M), True),
    (lambda a, b: a * b, (M, ALL), True),
    (lambda a, b: b * a, (M, ROW), True),
    (lambda a, b: a * b, (M, M), True),
    (lambda a: a / 2, (M,), True),
    (lambda a: a.sum(0), (M,), True),
    (lambda a: a.sum(), (M,), False),
    (lambda a: a.mean() + 1, (M,), False),
    (lambda a: a.T.reshape(3, 4), (M,), True),
    (lambda a: a**2, (M,), True),
    (lambda a: a.astype(int), (M,), True),
    (lambda a: jnp.concatenate([a, a]), (M,), True),
    (lambda a: a[1:3], (M,), True),
    (effax.jit(lambda a, b: jnp.tanh(a) @ b), (M, ROW), False),
]


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
@pytest.mark.parametrize(("function", "operands", "is_sparse"), SAME)
def test_a_function_of_sparse_arrays_is_that_of_dense_ones(
    function, operands, is_sparse, transform
):
    found = transform(sparsify(function))(*operands)
    assert isinstance(found, BCOO) is is_sparse
    expected = function(*(x.todense() if isinstance(x, BCOO) else jnp.asarray(x) for x in operands))
    np.testing.assert_allclose(sparse.todense(found), expected, rtol=1e-6)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize(
    "function", [jnp.exp, lambda a: a + 1, lambda a: 1 / a, lambda a: a**-1, jnp.max, jnp.cumsum]
)
def test_what_has_no_sparse_meaning_is_refused(function):
    with pytest.raises(NotImplementedError, match=r"sparsify|power"):
        sparsify(function)(M)


def test_trees_closures_and_dense_operands():
    held = jnp.asarray(ROW)
    found = sparsify(lambda t, scale: {"y": t["m"] @ held * scale})({"m": M}, scale=2.0)
    np.testing.assert_allclose(found["y"], 2 * DENSE @ ROW)
    assert sparsify(lambda x: x + 1)(1.0) == 2.0
    turned = sparsify(lambda m: m.T)(sparse.BCSR.fromdense(jnp.asarray(DENSE)))
    np.testing.assert_allclose(turned.todense(), DENSE.T)


def test_derivatives_go_through():
    def total(data):
        m = BCOO((data, M.indices), shape=M.shape)
        return sparsify(lambda m, v: (jnp.sin(m) @ v).sum())(m, ROW)

    expected = np.cos(M.data) * ROW[np.asarray(M.indices[:, 1])]
    np.testing.assert_allclose(effax.grad(total)(M.data), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC])
def test_matrices_keep_their_format(kind):
    dense = np.array([[0, 1, 0], [-2, 0, 3]], np.float32)
    m = kind.fromdense(dense)

    def f(m):
        return jnp.sin(m) * 2 + m

    found = effax.jit(sparse.sparsify(f))(m)
    assert type(found) is kind
    np.testing.assert_allclose(found.todense(), f(dense), rtol=1e-6)
    turned = sparse.sparsify(lambda m: jnp.tanh(m[::-1]).T)(m)
    assert type(turned) is kind
    np.testing.assert_allclose(turned.todense(), np.tanh(dense[::-1]).T, rtol=1e-6)
    v = jnp.arange(3.0)
    np.testing.assert_allclose(sparse.sparsify(lambda m: abs(m) @ v)(m), abs(dense) @ v)
    both = sparse.sparsify(lambda m, n: m * n)(m, sparse.BCOO.fromdense(dense))
    assert type(both) is sparse.BCOO
    np.testing.assert_allclose(both.todense(), dense * dense)
