"""Functions of dense arrays, applied to sparse ones: the results are those of the dense arrays."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import effects, extend, lax
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
    (lambda a, b: a + b, (M, ALL), False),
    (lambda a, b: b - a, (M, ALL), False),
    (lambda a: a + a, (M,), True),
    (lambda a, b: a / (b + 1), (M, ROW), True),
    (lambda a, b: lax.div(a, b.astype(int)), (BCOO.fromdense(DENSE.astype(int)), ALL), True),
    (lambda a: jnp.maximum(a - 2 * a, 0), (M,), True),
    (lambda a: jnp.where(a > 1, a, 0), (M,), True),
    (lambda a, b: jnp.where(b > 1, a, 0), (M, ROW), True),
    (lambda a: a**0.5, (M,), True),
    (lambda a: jnp.broadcast_to(a, (2, 3, 4)), (M,), True),
    (lambda a: lax.broadcast_in_dim(a, (3, 4, 2), (0, 1)), (M,), True),
    (lambda a: lax.dynamic_slice(a, (0, 1), (2, 2)), (M,), True),
    (lambda a, i: a[i.astype(int)[2]], (M, ROW), True),
    (lambda a: lax.dynamic_slice(a, (1, 3), (2, 2)), (BCOO.fromdense(DENSE, n_batch=1),), True),
    (lambda a, b: jnp.cos(sparse.todense(a)) * b, (M, ROW), False),
    (effax.jit(lambda a: jnp.cos(sparse.todense(a))), (M,), False),
    (lambda a, b: jnp.convolve(a[0], b), (M, ROW), True),
    (lambda a, b: jnp.convolve(b, a[0], mode="same"), (M, ROW), True),
    (lambda a: jnp.convolve(a[0], a[1], mode="valid"), (M,), True),
    (
        lambda a: lax.conv(a, a[:, :, :2], (2,), "SAME"),
        (BCOO.fromdense(jnp.arange(5.0)[None, None], n_batch=2),),
        True,
    ),
    (effax.vmap(lambda row: 2 * row), (BCOO.fromdense(DENSE, n_batch=1),), True),
    (effax.grad(lambda a: (a**2).sum()), (M,), True),
    (effax.grad(lambda a: jnp.sin(sparse.todense(a)).sum()), (M,), False),
    (lambda a: lax.stop_gradient(a), (M,), True),
    (lambda a: jnp.trace(a[:, :3]), (M,), False),
    (lambda a: a[0, 1] + 1, (M,), False),
    (effax.checkpoint(lambda a: 3 * a), (M,), True),
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


REFUSED = [
    (jnp.exp, "sparse rule for exp is not implemented because it would result in dense output"),
    (lambda a: a == 0, "sparse rule for eq is not implemented because"),
    (lambda a: a**-1, "sparse rule for integer_pow with non-positive exponent -1"),
    (lambda a: a + 1, "Addition between a sparse array X and a dense array Y is not implemented"),
    (lambda a: a + ROW, "Addition between a sparse array X and a dense array Y is not implemented"),
    (lambda a: 1 - a, "Addition between a sparse array X and a dense array Y is not implemented"),
    (lambda a: 1 / a, "Division by a sparse array is not implemented"),
    (jnp.max, "sparse rule for reduce_max is not implemented"),
    (jnp.cumsum, "sparse rule for cumsum is not implemented"),
    (lambda a: lax.complex(a, a), "sparse rule for complex is not implemented"),
    (lambda a: jnp.where(a > 0, a, 1), "Selection between a sparse array and a dense array other"),
    (lambda a: jnp.where(a > 0, a, 2 * (a + a[::-1])), "Selection between sparse arrays at"),
    (lambda a: jnp.convolve(a[0], ROW) @ a, "dot_general requires contracting dimensions"),
    (lambda a: lax.conv(a[None, None], a[None, None], (1, 1), "SAME"), "one batch, one feature"),
    (lambda a: lax.conv(a[None], a[None], (1,), "SAME"), "one batch, one feature"),
]


@pytest.mark.parametrize(("function", "words"), REFUSED)
def test_what_has_no_sparse_meaning_is_refused(function, words):
    with pytest.raises((NotImplementedError, TypeError), match=words):
        sparsify(function)(M)


def test_concatenating_sparse_and_dense_arrays_is_refused():
    with pytest.raises(ValueError, match=r"expected operands to be .* make the dense ones sparse"):
        sparsify(lambda a, b: jnp.concatenate([a, b]))(M, ALL)


def test_a_refusal_without_a_reason_names_the_operands_and_the_remedy():
    with pytest.raises(NotImplementedError) as caught:
        sparsify(jnp.cumsum)(M)
    assert "cumsum(BCOO(float32[12], nse=4))" in caught.value.__notes__[0]
    assert "sparse.todense" in caught.value.__notes__[0]


def test_positions_that_occur_twice_are_summed_before_what_is_not_additive():
    twice = BCOO((jnp.array([0.5, 0.5, 2.0]), jnp.array([[1], [1], [3]])), shape=(4,))
    for f in (jnp.sin, lambda x: x.astype(int), lambda x: x * x, lambda x: -x, lambda x: x / 2):
        np.testing.assert_allclose(sparsify(f)(twice).todense(), f(twice.todense()), rtol=1e-6)
    assert sparsify(jnp.negative)(twice).nse == 3


def test_a_row_is_not_broadcast_to_the_shape_of_a_sparse_matrix():
    n = 1 << 20  # a dense matrix of this size has 4 TiB
    place = jnp.array([[3, 5], [n - 1, n - 1]])
    huge = BCOO((jnp.array([2.0, 4.0]), place), shape=(n, n), unique_indices=True)
    found = sparsify(lambda m, v: (m * v) / (v[:, None] + 1))(huge, jnp.arange(float(n)))
    np.testing.assert_allclose(found.data, [2 * 5 / 4, 4 * (n - 1) / n])


def test_a_broadcast_array_is_dense_outside_of_arithmetic_with_sparse_ones():
    def f(m, v):
        wide = jnp.broadcast_to(v, (3, 4))
        if jnp.ones((1,)) > 0:  # its elements are known
            wide = jnp.sin(wide)
        return wide + 1, jnp.broadcast_to(v, (3, 4)), lax.cond(m.sum() > 0, lambda x: 2 * x, abs, v)

    found = sparsify(f)(M, jnp.asarray(ROW))
    for x, y in zip(found, f(DENSE, jnp.asarray(ROW)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


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


def test_todense_of_a_dense_value_is_the_value_under_every_transform():
    x = jnp.asarray(DENSE)

    def f(x):
        return (jnp.sin(sparse.todense(x)) ** 2).sum()

    np.testing.assert_allclose(effax.jit(f)(x), (np.sin(DENSE) ** 2).sum(), rtol=1e-6)
    np.testing.assert_allclose(effax.jit(effax.grad(f))(x), np.sin(2 * DENSE), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(effax.vmap(f)(x), (np.sin(DENSE) ** 2).sum(1), rtol=1e-6)
    double = effax.linear_transpose(lambda x: 2 * sparse.todense(x), x)
    np.testing.assert_allclose(double(x)[0], 2 * DENSE)
    both = effax.jit(sparsify(f))
    np.testing.assert_allclose(both(M), both(x), rtol=1e-6)


def test_rules_mix_ranks_and_dtypes_whatever_the_user_allows():
    v = jnp.asarray(ROW)

    def f(m, v):
        part = lax.dynamic_slice(m, (0, 1), (2, 2))
        wide = jnp.broadcast_to(v + 1, (3, 4))
        return part, m / wide, m * wide, jnp.where(wide > 1, m, 0), jnp.convolve(m[0], v)

    with effax.numpy_rank_promotion("raise"), effax.numpy_dtype_promotion("strict"):
        found = sparsify(f)(M, v)
    for x, y in zip(found, f(jnp.asarray(DENSE), v), strict=True):
        np.testing.assert_allclose(x.todense(), y, rtol=1e-6)


thrice = extend.Effect("sparsify_thrice", family="tests", typing=lambda x: x)


@extend.expand(thrice)
def _thrice_is_a_product(x):
    return effects.mul(x, 3.0)


def test_an_effect_that_others_define_is_written_out():
    assert sparsify(thrice)(M).nse == M.nse
    np.testing.assert_allclose(effax.jit(sparsify(thrice))(M).todense(), 3 * DENSE)
    found = sparsify(effax.grad(lambda m: thrice(m * m).sum()))(M)
    np.testing.assert_allclose(found.todense(), 6 * DENSE)


_CLIPPED = lax.GatherDimensionNumbers(
    offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
)


@pytest.mark.parametrize("start", [-9, -4, -1, 0, 2, 9])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, i: lax.dynamic_slice(a, (i, 0), (1, 3)),
        lambda a, i: lax.gather(a, i[None, None], _CLIPPED, (1, 4), mode="clip"),
    ],
    ids=["dynamic_slice", "gather"],
)
def test_starts_outside_are_those_of_dense_arrays(function, start):
    """Counted from the end once, or not at all, then moved inside."""
    i = jnp.array(start)
    for f in (sparsify(function), effax.jit(sparsify(function))):
        np.testing.assert_array_equal(f(M, i).todense(), function(jnp.asarray(DENSE), i))
