"""Sparse arrays against the dense ones they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as scipy_sparse

import effax
import effax.numpy as jnp
from effax.errors import ConcretizationTypeError
from effax.experimental import sparse
from effax.experimental.sparse import BCOO, BCSR

RNG = np.random.default_rng(0)


def mostly_zero(*shape):
    x = RNG.normal(size=shape).astype(np.float32)
    return np.where(RNG.random(shape) < 0.4, x, np.float32(0))


M = mostly_zero(4, 5)
N = mostly_zero(4, 5)
S, T = BCOO.fromdense(M), BCOO.fromdense(N)
# The same as M, with elements in pieces, out of order, and some outside.
PIECES = BCOO(
    (
        jnp.concatenate([S.data[::-1] * 0.25, S.data * 0.75, jnp.array([7.0, 8.0])]),
        jnp.concatenate([S.indices[::-1], S.indices, jnp.array([[4, 0], [-1, 2]])]),
    ),
    shape=M.shape,
)
BOTH = {"plain": S, "pieces": PIECES}
both = pytest.mark.parametrize("s", BOTH.values(), ids=BOTH)


@pytest.mark.parametrize(("n_batch", "n_dense"), [(0, 0), (1, 1), (2, 1), (0, 3)])
def test_to_sparse_and_back(n_batch, n_dense):
    x = mostly_zero(3, 4, 5)
    made = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    assert (made.n_batch, made.n_dense) == (n_batch, n_dense)
    assert_array_equal(made.todense(), x)
    room = made.nse + 2

    @effax.jit
    def through(x):
        return BCOO.fromdense(x, nse=room, n_batch=n_batch, n_dense=n_dense).todense()

    assert_array_equal(through(x), x)


def test_what_it_is():
    assert repr(S) == f"BCOO(float32[4, 5], nse={np.count_nonzero(M)})"
    assert (S.ndim, S.size, len(S), S.dtype) == (2, 20, 4, jnp.float32)
    assert S.indices_sorted and S.unique_indices
    assert_array_equal(BCOO.fromdense(M, nse=2).data, M[M != 0][:2])
    assert_array_equal(BCOO.from_scipy_sparse(scipy_sparse.coo_matrix(M)).todense(), M)
    assert_array_equal(sparse.todense(S), M)
    assert_array_equal(sparse.todense(M), M)
    assert S.block_until_ready() is S
    assert_array_equal(sparse.eye(3, 5, k=-1).todense(), np.eye(3, 5, k=-1))
    assert_array_equal(sparse.eye(4, 2, k=1, sparse_format="bcsr").todense(), np.eye(4, 2, k=1))
    assert_array_equal(sparse.empty((2, 3), int).todense(), np.zeros((2, 3)))


@pytest.mark.slow
def test_random_positions():
    drawn = sparse.random_bcoo(effax.random.key(0), (6, 7), nse=5, sorted_indices=True)
    assert np.count_nonzero(drawn.todense()) == 5


ROW = np.arange(1.0, 6.0, dtype=np.float32)
CHANGES = (
    (lambda s: s.T, M.T),
    (lambda s: -s, -M),
    (lambda s: s * 2, M * 2),
    (lambda s: 0.5 * s, M / 2),
    (lambda s: s / 4, M / 4),
    (lambda s: s * ROW, M * ROW),
    (lambda s: s * N, M * N),
    (lambda s: N * s, M * N),
    (lambda s: s * T, M * N),
    (lambda s: s + T, M + N),
    (lambda s: s - T, M - N),
    (lambda s: abs(s), abs(M)),
    (lambda s: s**2, M**2),
    (lambda s: s.astype("float16"), M.astype("float16")),
    (lambda s: s.sort_indices(), M),
    (lambda s: s.reshape(2, 10), M.reshape(2, 10)),
    (lambda s: s.reshape((-1,)), M.ravel()),
    (lambda s: s.sum(0), M.sum(0)),
    (lambda s: s.sum((1,)), M.sum(1)),
    (lambda s: s[1], M[1]),
    (lambda s: s[1:3, ::2], M[1:3, ::2]),
    (lambda s: s[..., -1], M[..., -1]),
    (lambda s: s[3:2], M[3:2]),
    (lambda s: sparse.bcoo_concatenate([s, T], dimension=1), np.concatenate([M, N], 1)),
)
"""Operations on a sparse matrix, each beside the same on the dense one."""
once = pytest.mark.parametrize("eager", [False, pytest.param(True, marks=pytest.mark.slow)])


def all_of(functions, s, eager):
    """The functions called one by one, or in one program."""
    if eager:
        return [f(s) for f in functions]
    return effax.jit(lambda s: [f(s) for f in functions])(s)


@once
@pytest.mark.parametrize("s", [S, pytest.param(PIECES, marks=pytest.mark.slow)], ids=BOTH)
def test_elements(s, eager):
    for found, (_, expected) in zip(
        all_of([f for f, _ in CHANGES], s, eager), CHANGES, strict=True
    ):
        assert isinstance(found, BCOO)
        assert found.shape == expected.shape
        assert_allclose(found.todense(), expected, rtol=1e-2 if found.dtype == "float16" else 1e-6)


@pytest.mark.slow
@both
def test_sums(s):
    distinct = s.sum_duplicates()
    assert (distinct.nse, distinct.unique_indices) == (np.count_nonzero(M), True)
    assert_array_equal(distinct.indices, np.argwhere(M))
    assert_allclose(s.sum_duplicates(nse=15).todense(), M, rtol=1e-6)
    assert_allclose(s.sum(), M.sum(), rtol=1e-5)
    assert_allclose(s + N, M + N, rtol=1e-6)
    assert_allclose(N - s, N - M, rtol=1e-6)
    extracted = sparse.bcoo_extract(s, N)
    assert_array_equal(extracted.todense(), np.where(M != 0, N, 0))


V, W, RIGHT, LEFT = mostly_zero(5), mostly_zero(4), mostly_zero(5, 3), mostly_zero(2, 4)
Y = mostly_zero(5, 2, 4)
PRODUCTS = (
    (lambda s: s @ V, M @ V),
    (lambda s: jnp.asarray(W) @ s, W @ M),
    (lambda s: s @ RIGHT, M @ RIGHT),
    (lambda s: jnp.asarray(LEFT) @ s, LEFT @ M),
    (lambda s: LEFT @ s, LEFT @ M),
    (lambda s: (s @ BCOO.fromdense(RIGHT)).todense(), M @ RIGHT),
    (lambda s: effax.vmap(lambda v: s @ v, 1, 1)(RIGHT), M @ RIGHT),
)
CONTRACTIONS = (
    ((((1,), (0,)), ((), ())), "ij,jkl->ikl"),
    ((((0,), (2,)), ((), ())), "ij,kli->jkl"),
    ((((1, 0), (0, 2)), ((), ())), "ij,jki->k"),
    ((((), ()), ((), ())), "ij,klm->ijklm"),
)


@once
@both
def test_products(s, eager):
    functions = [f for f, _ in PRODUCTS]
    for found, (_, expected) in zip(all_of(functions, s, eager), PRODUCTS, strict=True):
        assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    functions = [
        lambda s, dims=dims: sparse.bcoo_dot_general(s, Y, dimension_numbers=dims)
        for dims, _ in CONTRACTIONS
    ]
    for found, (_, text) in zip(all_of(functions, s, eager), CONTRACTIONS, strict=True):
        assert_allclose(found, np.einsum(text, M, Y), rtol=1e-5, atol=1e-6)
    narrow = sparse.bcoo_dot_general(
        s, V, dimension_numbers=(((1,), (0,)), ((), ())), preferred_element_type="float16"
    )
    assert narrow.dtype == jnp.float16


@pytest.mark.slow
def test_batches():
    x, y = mostly_zero(3, 4, 5), mostly_zero(3, 5, 2)
    s = BCOO.fromdense(x, n_batch=1)
    assert_allclose(s @ y, x @ y, rtol=1e-5, atol=1e-6)
    assert_allclose(jnp.asarray(y).mT @ s.transpose((0, 2, 1)), y.mT @ x.mT, rtol=1e-5, atol=1e-6)
    assert_allclose(effax.vmap(lambda s, y: s @ y)(s, y), x @ y, rtol=1e-5, atol=1e-6)
    doubled = effax.vmap(lambda s: s * 2)(s)
    assert doubled.shape == (3, 4, 5)
    assert_array_equal(doubled.todense(), 2 * x)
    assert_array_equal(s.sum_duplicates().todense(), x)
    assert_array_equal((s * x[:1]).todense(), x * x[:1])
    assert_array_equal((s + s).todense(), x + x)
    assert_array_equal(s[1].todense(), x[1])


def test_derivatives():
    v = np.arange(5.0, dtype=np.float32)

    def f(s, v):
        return jnp.sum(jnp.sin(s @ v))

    exact = effax.grad(lambda m, v: jnp.sum(jnp.sin(m @ v)), (0, 1))(M, v)
    of_matrix, of_vector = sparse.grad(f, (0, 1))(S, v)
    assert_allclose(of_matrix.todense(), np.where(M != 0, exact[0], 0), rtol=1e-5)
    assert_allclose(of_vector, exact[1], rtol=1e-5, atol=1e-6)
    value, again = effax.jit(sparse.value_and_grad(f))(PIECES, v)
    assert_allclose(value, f(S, v), rtol=1e-5)
    assert_allclose(again.todense(), of_matrix.todense(), rtol=1e-4, atol=1e-6)
    through, aux = sparse.grad(lambda s: (jnp.sum(s.todense() ** 2), 3), has_aux=True)(S)
    assert aux == 3
    assert_allclose(through.todense(), 2 * M, rtol=1e-5)
    rows = sparse.grad(f)(BCSR.fromdense(M), v)
    assert_allclose(rows.todense(), of_matrix.todense(), rtol=1e-5)
    dense = effax.grad(lambda m: jnp.sum(BCOO.fromdense(m, nse=20).todense() * N))(M)
    assert_array_equal(dense, np.where(M != 0, N, 0))


@pytest.mark.slow
def test_rows():
    r = BCSR.fromdense(M)
    expected = scipy_sparse.csr_matrix(M)
    for found, wanted in (
        (r.data, expected.data),
        (r.indices, expected.indices),
        (r.indptr, expected.indptr),
        (r.todense(), M),
        (r.to_bcoo().todense(), M),
        (BCSR.from_scipy_sparse(expected).todense(), M),
        (BCSR.from_bcoo(PIECES).todense(), M),
        (r.astype(int).todense(), M.astype(int)),
        (sparse.bcsr_todense(sparse.bcsr_fromdense(M, nse=19)), M),
        (effax.jit(lambda r, v: r @ v)(r, np.ones(5)), M.sum(1)),
        (jnp.ones(4) @ r, M.sum(0)),
        ((r @ BCSR.fromdense(M.T)).todense(), M @ M.T),
        (r.sum_duplicates().todense(), M),
    ):
        assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert repr(r) == f"BCSR(float32[4, 5], nse={r.nse})"


def test_refusals():
    three = BCOO.fromdense(mostly_zero(2, 3, 4), n_batch=1)
    for wrong, error in (
        (lambda: np.asarray(S), TypeError),
        (lambda: S == S, NotImplementedError),
        (lambda: S @ np.ones(4), TypeError),
        (lambda: S @ 3.0, TypeError),
        (lambda: S**0, NotImplementedError),
        (lambda: S * np.ones((2, 4, 5)), ValueError),
        (lambda: S * np.ones(4), ValueError),
        (lambda: S + S.T, NotImplementedError),
        (lambda: S * S.T, ValueError),
        (lambda: S[4], IndexError),
        (lambda: S[0, 0, 0], IndexError),
        (lambda: S.reshape(7), TypeError),
        (lambda: three.reshape(24), ValueError),
        (lambda: three.T, NotImplementedError),
        (lambda: S.transpose((0, 0)), ValueError),
        (lambda: BCOO.fromdense(M, n_batch=2, n_dense=1), ValueError),
        (lambda: BCOO((S.data, S.indices), shape=(4,)), ValueError),
        (lambda: BCOO((S.data[:1], S.indices), shape=(4, 5)), ValueError),
        (lambda: BCOO((S.data, S.indices * 1.0), shape=(4, 5)), ValueError),
        (lambda: BCSR((S.data, S.data, S.data), shape=(4, 5)), ValueError),
        (lambda: sparse.eye(2, sparse_format="dia"), ValueError),
        (lambda: sparse.bcoo_extract(S, N.T), ValueError),
        (lambda: effax.jit(BCOO.fromdense)(M), ConcretizationTypeError),
        (lambda: effax.jit(lambda s: s.sum_duplicates())(S), ConcretizationTypeError),
        (lambda: hash(S), TypeError),
    ):
        with pytest.raises(error):
            wrong()


def test_no_rank_and_no_dtype_is_promoted_inside():
    m = np.array([[1.0, 0, 2], [0, 0, 3]], np.float32)
    with effax.numpy_rank_promotion("raise"), effax.numpy_dtype_promotion("strict"):
        for x in (sparse.BCOO.fromdense(m), sparse.BCSR.fromdense(m)):
            np.testing.assert_array_equal(x.todense(), m)
            np.testing.assert_array_equal(x @ m.T, m @ m.T)
        x = sparse.BCOO.fromdense(m)
        np.testing.assert_array_equal((x @ x.T).todense(), m @ m.T)
        np.testing.assert_array_equal(x.sort_indices()[:, 1:].todense(), m[:, 1:])
        np.testing.assert_array_equal(sparse.bcoo_extract(x, m).data, x.data)
        slope = sparse.grad(lambda x: (x.todense() ** 2).sum())(x)
        np.testing.assert_array_equal(slope.data, 2 * x.data)


VECTORS = {"coo": sparse.COO, "csr": sparse.CSR, "csc": sparse.CSC}


@pytest.mark.parametrize("name", VECTORS)
def test_matrices_by_three_vectors(name):
    kind = VECTORS[name]
    made, wanted = kind.fromdense(M), scipy_sparse.csr_matrix(M).asformat(name)
    assert repr(made) == f"{kind.__name__}(float32[4, 5], nse={wanted.nnz})"
    assert type(made).__module__.rpartition(".")[2] == ("coo" if name == "coo" else "csr")
    for part in kind.parts:
        assert_array_equal(getattr(made, part), getattr(wanted, part))
    assert_array_equal(made.todense(), M)
    assert_array_equal(made.T.todense(), M.T)
    v, w, b = (jnp.asarray(RNG.normal(size=s).astype("f")) for s in ((5,), (4,), (5, 3)))
    assert_allclose(effax.jit(lambda m, v: m @ v)(made, v), M @ v, rtol=1e-5)
    assert_allclose(made @ b, M @ b, rtol=1e-5)
    assert_allclose(w @ made, w @ M, rtol=1e-5)
    assert_allclose(effax.vmap(lambda x: made @ x)(b.T).T, M @ b, rtol=1e-5)
    assert_allclose(sparse.todense(made @ made.T), M @ M.T, rtol=1e-5, atol=1e-6)
    slope = sparse.grad(lambda m: jnp.sum((m @ v) ** 2))(made)
    assert type(slope) is kind
    dense = effax.grad(lambda m: jnp.sum((m @ v) ** 2))(M)
    assert_allclose(slope.todense(), np.where(M != 0, dense, 0), rtol=1e-5)
    # With room for more elements than there are, the others are nowhere.
    roomy = effax.jit(lambda m: kind.fromdense(m, nse=12))(
        M * (np.arange(20) % 3 == 0).reshape(4, 5)
    )
    assert roomy.nse == 12
    assert_array_equal(roomy.todense(), M * (np.arange(20) % 3 == 0).reshape(4, 5))
    assert_allclose(roomy @ v, roomy.todense() @ v, rtol=1e-5, atol=1e-6)
    assert_array_equal(sparse.eye(3, 4, 1, sparse_format=name).todense(), np.eye(3, 4, 1))
    assert_array_equal(sparse.empty((2, 3), sparse_format=name).todense(), np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["coo", "csr"])
def test_functions_of_matrices_by_three_vectors(name):
    ask = {k: getattr(sparse, f"{name}_{k}") for k in ("fromdense", "todense", "matvec", "matmat")}
    made = ask["fromdense"](M, nse=20)
    assert type(made) is VECTORS[name]
    assert_array_equal(ask["todense"](made), M)
    v, w = np.arange(5.0, dtype="f"), np.arange(4.0, dtype="f")
    assert_allclose(ask["matvec"](made, v), M @ v, rtol=1e-5)
    assert_allclose(ask["matvec"](made, w, True), M.T @ w, rtol=1e-5)
    assert_allclose(ask["matmat"](made, v[:, None]), (M @ v)[:, None], rtol=1e-5)
    assert_allclose(ask["matmat"](made, w[:, None], transpose=True), (M.T @ w)[:, None], rtol=1e-5)
    with pytest.raises(ValueError, match=f"{name}_matvec: the second operand must be a vector"):
        ask["matvec"](made, M)


def test_vectors_that_are_no_matrix_are_refused():
    with pytest.raises(ValueError, match=r"Invalid CSR: vectors of shapes data .2,., .*indptr .2,"):
        sparse.CSR(([1.0, 2.0], [0, 1], [0, 2]), shape=(2, 2))
    with pytest.raises(ValueError, match="COO must have two axes"):
        sparse.COO(([1.0], [0], [0]), shape=(2,))
    with pytest.raises(NotImplementedError, match=r"takes no axes, got \(0, 1\)"):
        sparse.COO(([1.0], [0], [0]), shape=(2, 2)).transpose((0, 1))


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
@both
def test_jacobians_are_the_dense_ones_at_the_positions(name, s):
    v = jnp.arange(5.0)

    def f(m, v):
        return {"a": jnp.sin(m @ v), "b": (jnp.sum(m @ v), jnp.outer(v, v))}

    ask, dense = getattr(sparse, name), getattr(effax, name)
    found, wanted = ask(f, argnums=(0, 1))(s, v), dense(f, argnums=(0, 1))(jnp.asarray(M), v)
    for one, other in ((found["a"], wanted["a"]), (found["b"][0], wanted["b"][0])):
        assert one[0].shape == other[0].shape
        assert_allclose(one[0].todense(), np.where(M != 0, other[0], 0), rtol=1e-5, atol=1e-6)
        assert_allclose(one[1], other[1], rtol=1e-5)
    assert_array_equal(found["b"][1][0].todense(), np.zeros((5, 5, 4, 5)))
    assert_allclose(found["b"][1][1], wanted["b"][1][1])
    compiled = effax.jit(ask(lambda m: m @ v))(s)
    assert_allclose(compiled.todense(), np.where(M != 0, dense(lambda m: m @ v)(jnp.asarray(M)), 0))
    jacobian, aux = ask(lambda m: (m @ v, "aside"), has_aux=True)(S)
    assert (jacobian.n_batch, jacobian.nse, aux) == (1, S.nse, "aside")
    with pytest.raises(TypeError, match=f"{name}: the function returns a sparse array"):
        ask(lambda m: {"m": m * 2})(S)
    with pytest.raises(NotImplementedError, match=r"Jacobian by a CSR: .*differentiate by a BCOO"):
        ask(lambda m: m @ v)(sparse.CSR.fromdense(M))


def test_gradients_by_sparse_arrays_in_trees():
    parameters = {"w": S, "b": jnp.ones(4)}
    slope = sparse.grad(lambda p: jnp.sum((p["w"] @ jnp.arange(5.0) + p["b"]) ** 2))(parameters)
    dense = effax.grad(lambda p: jnp.sum((p["w"] @ jnp.arange(5.0) + p["b"]) ** 2))(
        {"w": jnp.asarray(M), "b": jnp.ones(4)}
    )
    assert slope["w"].nse == S.nse
    assert_allclose(slope["w"].todense(), np.where(M != 0, dense["w"], 0), rtol=1e-5)
    assert_allclose(slope["b"], dense["b"], rtol=1e-5)


@pytest.mark.parametrize("kinds", [(0, 0), (1, 0), (1, 1), (0, 2)])
@pytest.mark.parametrize("axes", [(), (0,), (1, -1), (0, 1, 2)])
def test_rev(kinds, axes):
    x = mostly_zero(3, 4, 5)
    n_batch, n_dense = kinds
    s = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    found = sparse.bcoo_rev(s, dimensions=axes)
    assert (found.n_batch, found.n_dense) == kinds
    assert_array_equal(found.todense(), np.flip(x, axes))


def test_rev_leaves_outside_what_is_outside():
    assert_allclose(sparse.bcoo_rev(PIECES, dimensions=(0, 1)).todense(), np.flip(M), rtol=1e-6)
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        sparse.bcoo_rev(S, dimensions=(2,))


def test_permutations_may_be_arrays():
    assert_array_equal(sparse.bcoo_transpose(S, permutation=np.array([1, 0])).todense(), M.T)


def test_a_matrix_says_its_shape_and_kind():
    """As ΦFlow asks; what is done to elements is refused."""
    matrix = sparse.BCOO.fromdense(jnp.eye(3)[:2])
    assert jnp.shape(matrix) == (2, 3) and jnp.ndim(matrix) == 2 and jnp.size(matrix) == 6
    assert not jnp.iscomplexobj(matrix) and jnp.isrealobj(matrix)
    with pytest.raises(TypeError, match="sin requires ndarray or scalar"):
        jnp.sin(matrix)


def test_functions_of_a_format_are_in_its_module_too():
    from effax.experimental.sparse import bcoo, bcsr

    assert bcoo.bcoo_dot_general is sparse.bcoo_dot_general
    assert bcsr.bcsr_todense is sparse.bcsr_todense
    with pytest.raises(AttributeError, match=r"sparse\.bcsr' has no attribute 'bcoo_todense'"):
        bcsr.bcoo_todense  # noqa: B018
