"""Products of sparse arrays with batch and dense axes, against dense products."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import lax
from effax.experimental import sparse
from effax.experimental.sparse import BCOO
from tests.experimental.test_sparse_layouts import (
    ALL,
    M,
    each,
    mostly_zero,
    padded,
    shared,
)

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
RNG = np.random.default_rng(2)
# Of each of the three axes: free, contracted, or a batch axis of the product.
ROLES = [r for r in itertools.product("fcb", repeat=3)]


def numbers(roles, places):
    """The dimension numbers of two operands; the second has axis i at `places[i]`."""
    pairs = [[i for i, r in enumerate(roles) if r == role] for role in "cb"]
    (c, b) = ((axes, [places[i] for i in axes]) for axes in pairs)
    return c, b


@each
def test_dot_general(s):
    y = RNG.normal(size=(5, 3, 4)).astype(np.float32)
    all_dims = [numbers(ROLES[i], (1, 2, 0)) for i in RNG.choice(len(ROLES), 5, replace=False)]

    @effax.jit
    def products(product, x, y):
        pairs = [(product(x, y, d), product(y, x, tuple(p[::-1] for p in d))) for d in all_dims]
        return [z for pair in pairs for z in pair]

    found = products(effax.tree_util.Partial(_sparse_product), s, y)
    wanted = products(effax.tree_util.Partial(lax.dot_general), jnp.asarray(M), y)
    for a, b in zip(found, wanted, strict=True):
        assert_allclose(a, b, **CLOSE)


def _sparse_product(x, y, dims):
    return sparse.bcoo_dot_general(x, y, dimension_numbers=dims)


@pytest.mark.parametrize("roles", ["fcb", "bcc"])
@pytest.mark.parametrize("layout", ["1-0", "1-1"])
def test_derivatives_and_batches_of_dot_general(layout, roles):
    s, y = ALL[layout], RNG.normal(size=M.shape).astype(np.float32)
    dims = numbers(roles, (0, 1, 2))

    def product(data, y):
        return sparse.bcoo_dot_general(s.like(data), y, dimension_numbers=dims)

    def dense(data, y):
        return lax.dot_general(s.like(data).todense(), y, dims)

    for jacobian in (effax.jacfwd, effax.jacrev):
        for found, wanted in zip(
            jacobian(product, (0, 1))(s.data, y), jacobian(dense, (0, 1))(s.data, y), strict=True
        ):
            assert_allclose(found, wanted, **CLOSE)
    many = jnp.stack([s.data, 2 * s.data]), jnp.stack([y, y + 1])
    assert_allclose(effax.vmap(product)(*many), effax.vmap(dense)(*many), **CLOSE)


@pytest.mark.parametrize("s", list(shared()))
def test_shared_batches(s):
    y = RNG.normal(size=(3, 5, 2)).astype(np.float32)
    dense = np.asarray(s.todense())
    assert_allclose(s @ y, dense @ y, **CLOSE)
    assert_allclose(s @ y[0], dense @ y[0], **CLOSE)
    vector = padded(y[0, :, 0], 0, 0)
    assert_allclose((s @ vector).todense(), dense @ y[0, :, 0], **CLOSE)


@pytest.mark.parametrize("n_batch", [0, 1, 2])
@pytest.mark.parametrize("m_batch", [0, 2])
def test_two_sparse_operands(n_batch, m_batch):
    x, y = mostly_zero(3, 4, 5), mostly_zero(4, 3, 5)
    s, t = padded(x, n_batch, 0), padded(y, m_batch, 0)
    places = (1, 0, 2)
    for i in RNG.choice(len(ROLES), 3, replace=False):
        roles = ROLES[i]
        dims = numbers(roles, places)
        unused = any(roles[places[j]] == "f" for j in range(m_batch))
        if unused and any(r == "f" for r in roles[n_batch:]):
            with pytest.raises(ValueError, match="unused batch dims on rhs"):
                sparse.bcoo_dot_general(s, t, dimension_numbers=dims)
            continue
        found = sparse.bcoo_dot_general(s, t, dimension_numbers=dims)
        wanted = lax.dot_general(jnp.asarray(x), jnp.asarray(y), dims)
        assert_allclose(found.todense(), wanted, **CLOSE)
        lengths = found.shape[found.n_batch :]
        assert found.nse <= np.prod(lengths, dtype=int)


def test_room_of_products():
    s, v = padded(M[0], 0, 0), padded(M[0, 0], 0, 0)
    assert (s @ v).nse == 4
    assert (v @ v).nse == 1


SHAPES = [
    *(((5,), (5,)), ((4, 5), (5,)), ((5,), (5, 2)), ((4, 5), (5, 2)), ((4, 5), (3, 5, 2))),
    *(((3, 4, 5), (5, 2)), ((3, 4, 5), (3, 5, 2)), ((3, 4, 5), (1, 5, 2)), ((5,), (3, 5, 2))),
    ((1, 3, 4, 5), (2, 1, 5, 2)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul(left, right):
    x, y = mostly_zero(*left), mostly_zero(*right)
    wanted = x @ y
    for b in range(max(1, len(left) - 1)):
        s = padded(x, b, 0)
        assert_allclose(s @ y, wanted, **CLOSE)
        assert_allclose((s @ padded(y, 0, 0)).todense(), wanted, **CLOSE)
    for b in range(max(1, len(right) - 1)):
        assert_allclose(x @ padded(y, b, 0), wanted, **CLOSE)


def test_batches_that_do_not_fit():
    with pytest.raises(ValueError, match=r"[Ii]ncompatible shapes"):
        ALL["1-0"] @ np.ones((2, 5, 2), np.float32)


def test_sampled_products():
    x, y = mostly_zero(4, 3, 5), mostly_zero(3, 5, 6)
    dims = ([2], [1]), ([1], [0])
    wanted = np.asarray(lax.dot_general(jnp.asarray(x), jnp.asarray(y), dims))
    for n_batch, n_dense in [(0, 0), (1, 0), (1, 1)]:
        at = BCOO.fromdense(mostly_zero(*wanted.shape), n_batch=n_batch, n_dense=n_dense)

        def sampled(x, y, at=at):
            return sparse.bcoo_dot_general_sampled(x, y, at.indices, dimension_numbers=dims)

        def extracted(x, y, at=at):
            return sparse.bcoo_extract(at, lax.dot_general(x, y, dims)).data

        assert_allclose(sampled(x, y), extracted(x, y), **CLOSE)
        assert_allclose(
            effax.grad(lambda x: jnp.sum(sampled(x, y) ** 2))(x),
            effax.grad(lambda x: jnp.sum(extracted(x, y) ** 2))(x),
            **CLOSE,
        )


def test_sampled_vectors():
    x, y = mostly_zero(4), mostly_zero(4, 3)
    at = jnp.array([[1], [0], [1], [7]])
    found = sparse.bcoo_dot_general_sampled(x, y, at, dimension_numbers=(([0], [0]), ([], [])))
    assert_allclose(found, [*(x @ y)[np.array([1, 0, 1])], 0], **CLOSE)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(3, 3)], [(-1, 2)]])
def test_convolutions(padding):
    x, y = mostly_zero(1, 1, 10), mostly_zero(1, 1, 5)
    options = {"window_strides": (1,), "padding": padding}
    wanted = lax.conv_general_dilated(jnp.asarray(x), jnp.asarray(y), **options)
    s, t = padded(x, 2, 0), padded(y, 2, 0)
    for left, right in [(s, t), (s, y), (x, t)]:
        found = sparse.bcoo_conv_general_dilated(left, right, **options)
        assert_allclose(found.todense(), wanted, **CLOSE)
        assert found.n_batch == 2
    with pytest.raises(NotImplementedError, match="window_strides"):
        sparse.bcoo_conv_general_dilated(s, t, window_strides=(2,), padding="SAME")
    assert_array_equal(found.shape, wanted.shape)
