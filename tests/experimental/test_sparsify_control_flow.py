"""`sparsify` through branches, loops and custom rules: the results are those of dense arrays."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import laws, lax
from effax.experimental import pallas as pl
from effax.experimental import sparse
from effax.experimental.sparse import BCOO, sparsify
from effax.scipy.sparse.linalg import cg
from effax.sharding import PartitionSpec as P

DENSE = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0]], np.float32)
M = BCOO.fromdense(jnp.asarray(DENSE))
ROWS = BCOO.fromdense(jnp.asarray(DENSE), n_batch=1)
FULL = BCOO.fromdense(jnp.asarray(DENSE) + 1)
V = np.arange(1, 5, dtype=np.float32)


@effax.custom_jvp
def square(x):
    return x**2


@square.defjvp
def _square_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return x**2, 3 * t * x  # 3 instead of 2, to tell that the rule is asked


@effax.custom_vjp
def cube(x):
    return x**3


cube.defvjp(lambda x: (x**3, x), lambda x, ct: (2 * ct * x * x,))  # 2 instead of 3


@effax.custom_vjp
def product(m, v):
    return m @ v, (2 * m, v.sum())


def _product_forward(m, v):
    return product(m, v), (m, 2 * m, v)


def _product_backward(residuals, cts):
    m, _, v = residuals
    ct, (by_m, by_sum) = cts
    return 5 * ct[:, None] * v + 7 * sparse.todense(by_m), 3 * ct @ m + by_sum


product.defvjp(_product_forward, _product_backward)


FLOWS = [
    (lambda a: lax.cond(a.sum() > 1, lambda x: x * 2, lambda x: x, a), (M,)),
    (lambda a, v: lax.cond(v[0] > 1, lambda: a @ v, lambda: (a + a) @ v), (M, V)),
    (lambda a: lax.switch(1, [lambda x: x, lambda x: -x, jnp.sin], a), (M,)),
    (lambda a, b: lax.cond(a.sum() > 1, lambda: a, lambda: b), (M, FULL)),
    (lambda a, b: lax.cond(a.sum() < 1, lambda: a, lambda: a + b), (M, FULL)),
    (lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, a))[1], (M,)),
    (lambda a: lax.while_loop(lambda x: x.sum() < 99, lambda x: x + x, a), (M,)),
    (lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[2], c[1]), (0, a, 2 * a))[2],
     (M,)),
    (lambda a: lax.fori_loop(0, 3, lambda i, c: c * (i + 1), a), (M,)),
    (lambda a, v: lax.fori_loop(0, 3, lambda i, v: a.T @ (a @ v) / 9, v), (M, V)),
    (lambda a: lax.scan(lambda c, _: (c * 2, c), a, None, length=3), (M,)),
    (lambda a: lax.scan(lambda c, row: (c + row.sum(), row * c), 0.0, a), (ROWS,)),
    (lambda a, v: lax.scan(lambda c, x: (c, (x * c).sum()), a, v), (M, V)),
    (lambda a, b: lax.scan(lambda c, _: (b + a, c), a, None, length=2), (M, FULL)),
    (lambda a: lax.map(lambda row: row * 2, a), (ROWS,)),
    (lambda a, v: effax.jit(lambda m: (m * 2) @ v)(a), (M, V)),
    (effax.jit(lambda a: lax.cond(a.sum() > 1, effax.jit(jnp.sin), abs, a)), (M,)),
    (square, (M,)),
    (lambda a: lax.fori_loop(0, 2, lambda _, x: square(x), a), (M,)),
    (effax.grad(lambda a: square(a).sum()), (M,)),
    (cube, (M,)),
    (effax.jit(lambda a: cube(2 * a)), (M,)),
    (lambda a: lax.fori_loop(0, 2, lambda _, x: cube(x), a), (M,)),
    (effax.grad(lambda a: cube(a).sum()), (M,)),
    (product, (M, V)),
    (lambda a: lax.scan(lambda c, x: (c, product(a, c * x * V)), a.sum(), V)[1], (M,)),
    (lambda a, v: effax.checkpoint(lambda m: jnp.sin(m) @ v)(a), (M, V)),
]  # fmt: skip


def dense(tree):
    is_sparse = lambda x: isinstance(x, sparse.JAXSparse)  # noqa: E731
    return effax.tree.map(sparse.todense, tree, is_leaf=is_sparse)


def check(found, expected):
    found, expected = effax.tree.leaves(dense(found)), effax.tree.leaves(expected)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
        assert x.dtype == y.dtype


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
@pytest.mark.parametrize(("function", "operands"), FLOWS)
def test_control_flow_on_sparse_arrays_is_that_of_dense_ones(function, operands, transform):
    check(transform(sparsify(function))(*operands), function(*map(dense, operands)))


DIFFERENTIABLE = [x for i, x in enumerate(FLOWS) if i not in (5, 6, 7)]  # while loops


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
@pytest.mark.parametrize(("function", "operands"), DIFFERENTIABLE)
def test_gradients_by_the_elements_are_those_of_dense_arrays(function, operands, transform):
    first, *rest = operands
    weights = np.random.default_rng(0).uniform(0.5, 1.0, 100).astype(np.float32)

    def total(f, x):
        leaves = effax.tree.leaves(dense(f(x, *rest)))
        return sum((x * jnp.asarray(weights[: x.size]).reshape(x.shape)).sum() for x in leaves)

    def of_data(data):
        return total(sparsify(function), first.like(data))

    found = transform(effax.grad(of_data))(first.data)
    rest = list(map(dense, rest))
    by_dense = effax.grad(lambda x: total(function, x))(first.todense())
    expected = sparse.bcoo_extract(first, by_dense).data
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_vmap_around_and_inside():
    many = jnp.stack([M.data, 2 * M.data])

    def doubled(data):
        return sparsify(lambda m: lax.fori_loop(0, 2, lambda _, x: 2 * x, m))(
            M.like(data)
        ).todense()

    check(effax.vmap(doubled)(many), 4 * np.stack([DENSE, 2 * DENSE]))
    looped = effax.vmap(lambda row: lax.fori_loop(0, 2, lambda _, x: 2 * x, row))
    check(sparsify(looped)(ROWS), 4 * DENSE)


@pytest.mark.parametrize("kind", [sparse.BCSR, sparse.COO, sparse.CSR, sparse.CSC])
def test_other_formats_are_carried_too(kind):
    m = kind.fromdense(jnp.asarray(DENSE))

    def f(m):
        m = lax.fori_loop(0, 2, lambda _, x: jnp.sin(x) * 2, m)
        return lax.cond(m.sum() > 0, lambda x: -x, abs, m)

    found = effax.jit(sparsify(f))(m)
    assert type(found) is kind
    check(found, f(jnp.asarray(DENSE)))


def test_branches_of_unlike_results_are_refused():
    def f(x, y):
        return lax.cond(False, lambda x: x[0], lambda x: x[1], (x, y))

    with pytest.raises(
        TypeError, match=r"sparsified true_fun output must have same type .*todense"
    ):
        sparsify(f)(M, DENSE)
    with pytest.raises(TypeError, match="sparsified true_fun output must have same type structure"):
        sparsify(f)(M, sparse.BCSR.fromdense(DENSE))


def test_loops_whose_carry_changes_are_refused():
    with pytest.raises(TypeError, match=r"sparsified body_fun output .*todense"):
        sparsify(lambda a: lax.while_loop(lambda x: True, lambda x: x @ x.T @ DENSE, a))(M)
    grows = lambda a, b: lax.scan(lambda c, _: (c + b, None), a, None, length=9)  # noqa: E731
    with pytest.raises(TypeError, match=r"sparsified scan carry .* nse="):
        sparsify(grows)(M, FULL)
    with pytest.raises(NotImplementedError, match=r"scan and map take a sparse .* n_batch=1"):
        sparsify(lambda a: lax.map(lambda row: 2 * row, a))(M)
    with pytest.raises(NotImplementedError, match=r"scan can't take a BCSR .* n_batch=1"):
        sparsify(lambda a: lax.map(lambda row: 2 * row, a))(sparse.BCSR.fromdense(DENSE))


def test_a_custom_jvp_that_leaves_the_positions_is_refused():
    f = effax.custom_jvp(lambda x: 2 * x)
    f.defjvp(lambda p, t: (2 * p[0], t[0][::-1]))
    check(sparsify(f)(M), 2 * DENSE)
    with pytest.raises(effax.errors.UnsupportedDerivativeError, match="at other positions"):
        effax.grad(lambda data: sparsify(f)(M.like(data)).data.sum())(M.data)


SYMMETRIC = np.array([[4, 1, 0], [1, 3, 0], [0, 0, 2]], np.float32)


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_a_linear_solve_with_a_sparse_matrix_and_its_gradients(transform):
    m, b = BCOO.fromdense(SYMMETRIC), jnp.arange(1.0, 4.0)

    def solved(m, b):
        return cg(lambda x: m @ x, b)[0]

    found = transform(sparsify(solved))(m, b)
    np.testing.assert_allclose(found, np.linalg.solve(SYMMETRIC, b), rtol=1e-4)
    of_data = lambda data, b: (sparsify(solved)(m.like(data), b) ** 2).sum()  # noqa: E731
    by_data, by_b = transform(effax.grad(of_data, (0, 1)))(m.data, b)
    dense_by_m, dense_by_b = effax.grad(lambda m, b: (solved(m, b) ** 2).sum(), (0, 1))(
        jnp.asarray(SYMMETRIC), b
    )
    np.testing.assert_allclose(by_data, sparse.bcoo_extract(m, dense_by_m).data, rtol=1e-3)
    np.testing.assert_allclose(by_b, dense_by_b, rtol=1e-3)


def test_a_linear_solve_of_sparse_vectors_is_refused():
    with pytest.raises(NotImplementedError, match=r"no sparse vectors; .* sparse.todense"):
        sparsify(lambda m: cg(lambda x: m @ x, m[0])[0])(BCOO.fromdense(SYMMETRIC))


@pytest.mark.parametrize("function", [square, cube, jnp.sin])
def test_custom_rules_in_both_modes_around_and_inside(function):
    slope = effax.vmap(effax.grad(function))
    many = jnp.stack([M.data, 2 * M.data])

    def of_data(data):
        return sparsify(function)(M.like(data)).data

    out, moved = effax.jvp(of_data, (M.data,), (M.data,))
    np.testing.assert_allclose(out, function(M.data), rtol=1e-6)
    np.testing.assert_allclose(moved, slope(M.data) * M.data, rtol=1e-6)
    for jacobian in (effax.jacfwd, effax.jacrev):
        np.testing.assert_allclose(np.diag(jacobian(of_data)(M.data)), slope(M.data), rtol=1e-6)
    total = effax.grad(lambda data: of_data(data).sum())
    np.testing.assert_allclose(effax.vmap(total)(many), effax.vmap(slope)(many), rtol=1e-6)
    second = effax.hessian(lambda data: of_data(data).sum())(M.data)
    np.testing.assert_allclose(np.diag(second), effax.vmap(effax.grad(effax.grad(function)))(M.data),
                               rtol=1e-6)  # fmt: skip
    if function is not jnp.sin:  # its slope is dense
        tangent = lambda m: effax.jvp(function, (m,), (2 * m,))  # noqa: E731
        check(sparsify(tangent)(M), tangent(jnp.asarray(DENSE)))
    check(sparsify(effax.vmap(function))(ROWS), function(jnp.asarray(DENSE)))


def test_a_backward_rule_keeps_positions_that_operand_and_result_share():
    n = 1 << 20  # a dense matrix of this size has 4 TiB
    place = jnp.array([[3, 5], [n - 1, n - 1]])
    huge = BCOO((jnp.array([2.0, 4.0]), place), shape=(n, n), unique_indices=True)
    found = effax.jit(effax.grad(lambda x: sparsify(cube)(huge.like(x)).data.sum()))(huge.data)
    np.testing.assert_allclose(found, 2 * huge.data**2)


def test_a_refusal_names_the_innermost_branch_or_loop():
    def f(a):
        body = lambda x: lax.cond(a.sum() > 0, lambda: x, lambda: sparse.todense(x))  # noqa: E731
        return lax.fori_loop(0, 3, lambda _, x: body(x), a)

    with pytest.raises(effax.errors.EffaxError, match=r"^sparsified true_fun output must"):
        sparsify(f)(M)


def test_effects_that_cut_arrays_are_refused():
    def doubled(m):
        def kernel(x, out):
            out[...] = 2 * x[...]

        return pl.pallas_call(kernel, out_shape=effax.typeof(m), interpret=True)(m)

    with pytest.raises(effax.errors.MissingRuleError, match="kernel cuts arrays into parts"):
        sparsify(doubled)(M)
    check(sparsify(lambda m: doubled(sparse.todense(m)))(M), 2 * DENSE)
    mesh = effax.make_mesh((1,), ("i",))
    mapped = effax.shard_map(lambda x: 2 * x, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    with pytest.raises(effax.errors.MissingRuleError, match="shard_map cuts arrays into parts"):
        sparsify(mapped)(M)


def test_the_laws_of_transforms():
    def embed(*xs):
        return [
            BCOO.fromdense(x, nse=x.size)
            if jnp.ndim(x) and jnp.issubdtype(jnp.asarray(x).dtype, jnp.floating)
            else x
            for x in xs
        ]

    names = ["T f = f", "T (call f) = T f", "T (scan f) = T of the loop", "T (g . f) = T g . T f"]
    report = laws.check(sparsify, embed=embed, project=dense, max_examples=12, laws=names)
    assert {verdict.verdict for verdict in report} == {"true"}, str(report)
