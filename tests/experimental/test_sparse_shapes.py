"""Shapes and parts of sparse arrays with batch and dense axes, against dense arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import lax
from effax.experimental import sparse
from tests.experimental.test_sparse_layouts import ALL, RNG, M, mostly_zero, padded, shared, some


def agree(function, s, dense):
    """A function of a sparse array has the result, and the derivative, of the dense one."""
    made = function(s)
    assert_allclose(made.todense(), dense(M), rtol=1e-5, atol=1e-6)
    weight = jnp.asarray(np.random.default_rng(1).normal(size=made.shape))
    found = effax.grad(lambda x: jnp.sum(function(s.like(x)).todense() * weight))(s.data)
    wanted = effax.grad(lambda x: jnp.sum(dense(s.like(x).todense()) * weight))(s.data)
    assert_allclose(found, wanted, rtol=1e-5)
    return made


@some
def test_reduce_sum_and_rev(s):
    for axes in [(0, -1), (1,)]:
        agree(
            lambda x, axes=axes: sparse.bcoo_reduce_sum(x, axes=axes),
            s,
            lambda x, axes=axes: x.sum(axes),
        )
    agree(lambda x: sparse.bcoo_rev(x, dimensions=(0, 2)), s, lambda x: x[::-1, :, ::-1])


@some
def test_slices_have_no_more_room_than_positions(s):
    box = {"start_indices": (0, 1, 1), "limit_indices": (2, 3, 5), "strides": (1, 1, 3)}
    cut = agree(lambda x: sparse.bcoo_slice(x, **box), s, lambda x: x[:2, 1:3, 1:5:3])
    starts = (-2, jnp.array(1), 9)
    moved = agree(
        lambda x: sparse.bcoo_dynamic_slice(x, starts, (2, 3, 2)), s, lambda x: x[1:3, 1:4, 3:5]
    )
    for made in (cut, moved):
        assert (made.n_batch, made.n_dense) == (s.n_batch, s.n_dense)
        lengths = made.shape[made.n_batch : made.ndim - made.n_dense]
        assert made.nse <= np.prod(lengths, dtype=int)


INDICES = (
    *(np.s_[None], np.s_[:, None], np.s_[:, :, None], np.s_[..., None], np.s_[1], np.s_[:, 1]),
    *(np.s_[..., 1], np.s_[::-1], np.s_[2:0:-2], np.s_[:0], np.s_[None, 0, None, 1:3]),
    *(np.array([0, 2]), [0, -1], np.s_[np.array([[0], [2]]), :, np.array([1, 1])]),
    *(np.s_[np.array([[0], [2]]), 1:], np.s_[:2, np.array([True, False, True, False])]),
    np.s_[None, 0, np.array([[2]])],
)


@some
def test_indices(s):
    for i in RNG.choice(len(INDICES), 6, replace=False):
        index = INDICES[i]
        assert_array_equal(s[index].todense(), M[index], err_msg=str(index))
    assert_array_equal(effax.jit(lambda s, i: s[:, i])(s, jnp.array(2)).todense(), M[:, 2])
    with pytest.raises(IndexError, match="out of bounds"):
        s[3]
    with pytest.raises(NotImplementedError, match="got 'a'"):
        s["a"]


def test_gather():
    numbers = lax.GatherDimensionNumbers((0, 2), (1,), (1, 2))
    starts = jnp.array([[0, 1], [3, 2], [1, 0]])
    sizes = (3, 1, 2)
    expected = lax.gather(jnp.asarray(M), starts, numbers, sizes)
    for name in ("0-0", "1-1", "0-2", "3-0"):
        s = ALL[name]
        assert_array_equal(sparse.bcoo_gather(s, starts, numbers, sizes).todense(), expected)
    with pytest.raises(NotImplementedError, match="mode"):
        sparse.bcoo_gather(s, starts, numbers, sizes, mode="fill")


@some
def test_broadcast_in_dim(s):
    first = s.n_batch if s.n_batch < 3 else None
    assert s[None].n_batch == s.n_batch + 1
    assert s[:, None].n_batch == s.n_batch + (s.n_batch >= 1)
    assert s[:, :, None].n_batch == s.n_batch + (s.n_batch >= 2)
    for shape, axes in [((3, 2, 4, 5, 2), (0, 2, 3))]:
        function = lambda x, shape=shape, axes=axes: sparse.bcoo_broadcast_in_dim(  # noqa: E731
            x, shape=shape, broadcast_dimensions=axes
        )
        dense = lambda x, shape=shape, axes=axes: lax.broadcast_in_dim(  # noqa: E731
            jnp.asarray(x), shape, axes
        )
        agree(function, s, dense)
    one = s[:, :1] if first != 1 else s[:1]
    made = sparse.bcoo_broadcast_in_dim(one, shape=M.shape, broadcast_dimensions=(0, 1, 2))
    assert_array_equal(made.todense(), np.broadcast_to(one.todense(), M.shape))
    with pytest.raises(ValueError, match="bcoo_broadcast_in_dim"):
        sparse.bcoo_broadcast_in_dim(s, shape=(3, 4), broadcast_dimensions=(0, 1, 2))


@pytest.mark.parametrize("dimension", [0, -1])
@some
def test_concatenate(s, dimension):
    x = mostly_zero(3, 4, 5)
    other = padded(x, s.n_batch, s.n_dense, extra=1)
    agree(
        lambda y: sparse.bcoo_concatenate([y, other, y], dimension=dimension),
        s,
        lambda y: jnp.concatenate([y, x, y], dimension),
    )


@pytest.mark.parametrize(
    ("n_batch", "n_dense", "shape"),
    [
        *((0, 0, (5, -1)), (0, 0, (1, 60)), (1, 0, (3, 10, 2)), (1, 0, (1, 3, 20))),
        *((2, 0, (6, 2, 5)), (2, 0, (12, 1, 5)), (3, 0, (60,)), (0, 1, (2, 6, 5, 1))),
        *((1, 1, (3, 2, 2, 5)), (0, 2, (1, 3, 20)), (1, 2, (3, 5, 4)), (0, 3, (60,))),
    ],
)
def test_reshape(n_batch, n_dense, shape):
    made = agree(
        lambda x: x.reshape(*shape), ALL[f"{n_batch}-{n_dense}"], lambda x: x.reshape(shape)
    )
    assert (made.n_dense > 0) == (n_dense > 0)


def test_reshape_after_a_permutation():
    order = (1, 0, 2)
    found = sparse.bcoo_reshape(ALL["2-0"], new_sizes=(2, 6, 5), dimensions=order)
    assert_array_equal(found.todense(), M.transpose(order).reshape(2, 6, 5))
    with pytest.raises(ValueError, match="cannot mix batch and sparse dimensions"):
        ALL["1-0"].reshape(2, 6, 5)
    with pytest.raises(ValueError, match="cannot mix sparse and dense dimensions"):
        ALL["0-1"].reshape(3, 20)
    with pytest.raises(NotImplementedError, match="broadcasted batch dimensions"):
        list(shared())[1].reshape(12, 5)


def test_transpose_keeps_the_order_of_positions():
    s = ALL["2-0"]
    assert s.transpose((1, 0, 2)).indices_sorted
    assert not ALL["1-0"].transpose((0, 2, 1)).indices_sorted


@pytest.mark.parametrize("s", list(shared()))
def test_shared_batches(s):
    dense = np.asarray(s.todense())
    assert_array_equal(s[1:, :2, 1:].todense(), dense[1:, :2, 1:])
    assert_array_equal(s[::-1, 0].todense(), dense[::-1, 0])
    assert_array_equal(s[None].todense(), dense[None])
    assert_allclose(sparse.bcoo_reduce_sum(s, axes=(0,)).todense(), dense.sum(0), rtol=1e-5)
    assert_array_equal(s.transpose((1, 0, 2)).todense(), dense.transpose(1, 0, 2))
    both = sparse.bcoo_concatenate([s, ALL["2-0"]], dimension=0)
    assert_array_equal(both.todense(), np.concatenate([dense, M]))
