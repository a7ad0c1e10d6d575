"""Sparse arrays with batch and dense axes, against the dense ones they stand for."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax.experimental import sparse
from effax.experimental.sparse import BCOO

RNG = np.random.default_rng(0)


def mostly_zero(*shape):
    x = RNG.normal(size=shape).astype(np.float32)
    return np.where(RNG.random(shape) < 0.5, x, np.float32(0))


def layouts(ndim):
    return [(b, d) for b in range(ndim + 1) for d in range(ndim + 1 - b)]


def padded(x, n_batch, n_dense, extra=2):
    """The elements with unused places, whose data must not count."""
    exact = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    if not exact.n_sparse:
        return exact
    made = BCOO.fromdense(x, n_batch=n_batch, n_dense=n_dense, nse=exact.nse + extra)
    outside = jnp.any(made.indices >= jnp.array(x.shape[n_batch : x.ndim - n_dense]), -1)
    return made.like(jnp.where(outside.reshape(*outside.shape, *(1,) * n_dense), 7.0, made.data))


SHAPE = (3, 4, 5)
M = mostly_zero(*SHAPE)
ALL = {f"{b}-{d}": padded(M, b, d) for b, d in layouts(3)}
each = pytest.mark.parametrize("s", ALL.values(), ids=ALL)
SOME = ("0-0", "1-0", "2-0", "1-1", "0-2", "3-0")
some = pytest.mark.parametrize("s", [ALL[name] for name in SOME], ids=SOME)


def shared():
    """Arrays whose data, indices or both are shared along a batch axis of length 3 or 4."""
    s = ALL["2-0"]
    of_all, of_first, of_second = np.s_[:], np.s_[:1], np.s_[:, :1]
    for of_data, of_indices in [
        *((of_all, of_first), (of_first, of_all), (of_first, of_second), (of_second, of_second)),
    ]:
        yield BCOO((s.data[of_data], s.indices[of_indices]), shape=s.shape)


@each
def test_dense_and_back(s):
    assert_array_equal(s.todense(), M)
    assert_array_equal(effax.jit(sparse.todense)(s), M)
    assert_array_equal(s.sort_indices().todense(), M)
    assert s.sort_indices().indices_sorted
    assert_array_equal(s.sum_duplicates().todense(), M)
    assert_array_equal((s + s).todense(), 2 * M)
    assert_array_equal((s * M[0]).todense(), M * M[0])
    assert_array_equal(sparse.bcoo_extract(s, M).todense(), M)
    for axis in range(s.n_batch):
        again = effax.vmap(lambda x: x.sort_indices(), in_axes=axis, out_axes=axis)(s)
        assert (again.shape, again.n_batch) == (s.shape, s.n_batch)
        assert_array_equal(again.todense(), M)
        lanes = effax.vmap(sparse.todense, in_axes=axis)(s)
        assert_array_equal(lanes, np.moveaxis(M, axis, 0))


@pytest.mark.parametrize("s", list(shared()))
def test_shared_batches(s):
    dense = np.asarray(s.todense())
    data, indices = (np.broadcast_to(x, (3, 4, *x.shape[2:])) for x in (s.data, s.indices))
    assert_array_equal(dense, BCOO((data, indices), shape=SHAPE).todense())
    ordered = s.sort_indices()
    assert ordered.indices.shape == s.indices.shape
    for made in (
        ordered,
        s.sum_duplicates(),
        s.update_layout(n_batch=0),
        s.update_layout(n_batch=1),
        s.update_layout(n_dense=1, on_inefficient=None),
        s.update_layout(n_batch=3, on_inefficient=None),
    ):
        assert_array_equal(made.todense(), dense)
    assert_array_equal((s + ALL["2-0"]).todense(), dense + M)
    assert_array_equal((s * M).todense(), dense * M)
    assert_array_equal((s * s).todense(), dense * dense)


@each
def test_update_layout(s):
    for i in RNG.choice(10, 4, replace=False):
        n_batch, n_dense = layouts(3)[i]
        wanted = {"n_batch": n_batch, "n_dense": n_dense}
        if n_batch > s.n_batch or n_dense > s.n_dense:
            with pytest.raises(sparse.SparseEfficiencyError, match="bcoo_update_layout"):
                s.update_layout(**wanted)
            with pytest.warns(sparse.SparseEfficiencyWarning):
                s.update_layout(**wanted, on_inefficient="warn")
        made = sparse.bcoo_update_layout(s, **wanted, on_inefficient=None)
        assert (made.n_batch, made.n_dense) == (n_batch, n_dense)
        assert_array_equal(made.todense(), M)

    def to_dense(data):
        return s.like(data).update_layout(**wanted, on_inefficient=None).todense()

    expected = effax.grad(lambda x: jnp.sum(s.like(x).todense() ** 2))(s.data)
    assert_allclose(effax.grad(lambda x: jnp.sum(to_dense(x) ** 2))(s.data), expected)


def test_update_layout_refuses():
    s = ALL["1-1"]
    for wrong in ({"n_batch": -1}, {"n_batch": 3}, {"n_dense": 3}, {"on_inefficient": "x"}):
        with pytest.raises(ValueError, match="bcoo_update_layout"):
            s.update_layout(**wrong)


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 4, 1), (3, 1, 5), (4, 5)])
@pytest.mark.parametrize("n_dense", [0, 1])
def test_multiply_sparse(shape, n_dense):
    x = mostly_zero(*shape)
    pairs = list(itertools.product(range(4 - n_dense), range(len(shape) + 1 - n_dense)))
    for b, c in RNG.permutation(pairs)[:3]:
        s, t = padded(M, b, n_dense), padded(x, c, n_dense)
        made = s * t
        assert made.shape == SHAPE
        assert_allclose(made.todense(), M * x)


def test_invalid_ones():
    broken = BCOO.fromdense(M)
    broken.indices = jnp.array([])
    assert repr(broken) == "BCOO(<invalid>)"
    with pytest.raises(NotImplementedError, match="number of dense axes"):
        ALL["0-0"] * ALL["0-1"]
    with pytest.raises(ValueError, match="Invalid BCOO"):
        BCOO((jnp.ones((2, 3)), jnp.zeros((3, 3, 1), int)), shape=(3, 4))
