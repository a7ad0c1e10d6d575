"""`BCSR` arrays with batch and dense axes, and the makers of sparse arrays, against dense arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import lax
from effax.experimental import sparse
from effax.experimental.sparse import BCSR
from tests.experimental.test_sparse_layouts import layouts, mostly_zero

LAYOUTS = [(0, 0), (1, 0), (0, 1), (2, 1)]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def made(n_batch, n_dense, extra=2):
    x = mostly_zero(*(3, 2, 4, 5, 2, 2)[2 - n_batch : 4 + n_dense])
    nse = BCSR.fromdense(x, n_batch=n_batch, n_dense=n_dense).nse + extra
    return x, BCSR.fromdense(x, n_batch=n_batch, n_dense=n_dense, nse=nse)


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
def test_rows(n_batch, n_dense):
    x, r = made(n_batch, n_dense)
    assert (r.n_batch, r.n_dense, r.shape) == (n_batch, n_dense, x.shape)
    assert_array_equal(r.todense(), x)
    again = BCSR.from_bcoo(r.to_bcoo())
    assert_array_equal(again.todense(), x)
    assert_array_equal(again.indptr, r.indptr)
    assert_array_equal(sparse.bcsr_sum_duplicates(r, nse=r.nse).todense(), x)
    assert_array_equal(r[None].todense(), x[None])
    assert r[None].n_batch == n_batch + 1
    both = sparse.bcsr_concatenate([r, r], dimension=-1)
    assert_array_equal(both.todense(), np.concatenate([x, x], -1))
    assert_array_equal(
        BCSR(
            (sparse.bcsr_extract(r.indices, r.indptr, x), r.indices, r.indptr), shape=x.shape
        ).todense(),
        x,
    )
    if n_batch:
        lanes = effax.vmap(lambda r: r.todense(), in_axes=n_batch - 1)(r)
        assert_array_equal(lanes, np.moveaxis(x, n_batch - 1, 0))
    wider = sparse.bcsr_broadcast_in_dim(
        r, shape=(2, *x.shape), broadcast_dimensions=range(1, x.ndim + 1)
    )
    assert_array_equal(wider.todense(), np.broadcast_to(x, (2, *x.shape)))


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
def test_products(n_batch, n_dense):
    x, r = made(n_batch, n_dense)
    y = np.random.default_rng(3).normal(size=x.shape).astype(np.float32)
    dims = ([n_batch + 1], [n_batch + 1]), (list(range(n_batch)), list(range(n_batch)))

    def product(data, y):
        same = BCSR((data, r.indices, r.indptr), shape=r.shape)
        return sparse.bcsr_dot_general(same, y, dimension_numbers=dims)

    wanted = lax.dot_general(jnp.asarray(x), jnp.asarray(y), dims)
    assert_allclose(effax.jit(product)(r.data, y), wanted, **CLOSE)
    found = effax.grad(lambda y: jnp.sum(product(r.data, y) ** 2))(y)
    dense = effax.grad(lambda y: jnp.sum(lax.dot_general(jnp.asarray(x), y, dims) ** 2))(y)
    assert_allclose(found, dense, **CLOSE)


def test_rows_refuse():
    x, r = made(1, 0)
    with pytest.raises(NotImplementedError, match="two sparse axes"):
        BCSR.from_bcoo(r.to_bcoo().update_layout(n_batch=0))
    with pytest.raises(NotImplementedError, match="to_bcoo"):
        r[:, 0]
    with pytest.raises(ValueError, match="Invalid BCSR"):
        BCSR((r.data, r.indices, r.indptr), shape=(3, *x.shape[1:]))
    with pytest.raises(ValueError, match="bcsr_fromdense"):
        BCSR.fromdense(x)


@pytest.mark.parametrize(("n_batch", "n_dense"), layouts(2))
def test_makers(n_batch, n_dense):
    layout = {"n_batch": n_batch, "n_dense": n_dense}
    for rows, columns, k in [(3, 5, 1), (4, 2, -1), (3, 3, 7)]:
        found = sparse.eye(rows, columns, k, **layout)
        dense = np.eye(rows, columns, k, dtype=np.float32)
        assert_array_equal(found.todense(), dense)
        assert found.nse == sparse.BCOO.fromdense(dense, **layout).nse
        assert (found.n_batch, found.n_dense) == (n_batch, n_dense)
    nothing = sparse.empty((3, 4), nse=2, **layout)
    assert (nothing.nse, nothing.n_batch, nothing.n_dense) == (2, n_batch, n_dense)
    assert_array_equal(nothing.todense(), np.zeros((3, 4)))
    drawn = sparse.random_bcoo(
        effax.random.key(0), (6, 5), nse=0.3, minval=1.0, maxval=2.0, **layout
    )
    sizes = (6, 5)[n_batch : 2 - n_dense]
    assert drawn.nse == int(np.ceil(0.3 * np.prod(sizes)))
    per_batch = np.count_nonzero(drawn.todense())
    assert per_batch == drawn.data.size
    for maker in (sparse.eye, lambda n, **layout: sparse.empty((n, n), **layout)):
        with pytest.raises(ValueError, match="n_batch"):
            maker(3, n_batch=2, n_dense=1)
