"""References to buffers, functions of a format's arrays, and quotients of sparse arrays."""

import numpy as np
import pytest

import effax.numpy as jnp
from effax.experimental import sparse
from effax.experimental.sparse import transform, util

X = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 5.0]], np.float32)


@pytest.fixture(name="x", params=[sparse.BCOO, sparse.BCSR], ids=["BCOO", "BCSR"])
def sparse_array(request):
    return request.param.fromdense(X)


def test_references_stand_for_arrays(x):
    env = transform.SparsifyEnv()
    values = transform.arrays_to_spvalues(env, {"dense": X, "sparse": x})
    assert values["dense"].is_dense()
    assert values["sparse"].is_bcsr() == isinstance(x, sparse.BCSR)
    assert values["sparse"].is_bcoo() == isinstance(x, sparse.BCOO)
    found = transform.spvalues_to_arrays(env, values)
    np.testing.assert_array_equal(found["dense"], X)
    assert type(found["sparse"]) is type(x)
    np.testing.assert_array_equal(found["sparse"].todense(), X)


def test_values_that_share_positions_are_added_and_multiplied_at_them():
    x = sparse.BCOO.fromdense(X)
    env = transform.SparsifyEnv([x.indices, x.data, 10 * x.data])
    one, two = (env.sparse(X.shape, data_ref=n, indices_ref=0, unique_indices=True) for n in (1, 2))
    for function in (jnp.add, jnp.multiply, jnp.subtract):
        values, tree = transform.sparsify_raw(function)(env, one, two)
        (found,) = transform.spvalues_to_arrays(env, values)
        assert found.nse == x.nse
        assert tree.num_leaves == 1
        np.testing.assert_array_equal(found.todense(), function(X, 10 * X))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"data": np.ones(1)}, "either indices or indices_ref"),
        ({"indices": np.zeros((1, 1), int), "data": 1.0, "data_ref": 0}, "either data or data_ref"),
        ({"data_ref": 0, "indices_ref": 7}, "indices_ref is 7, and there are 1 buffers"),
    ],
)
def test_references_to_nothing_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        transform.SparsifyEnv([np.ones(1)]).sparse((3,), **given)


def test_parts_that_a_value_lacks_are_refused():
    env = transform.SparsifyEnv()
    with pytest.raises(RuntimeError, match="its indices_ref is None"):
        env.indices(env.dense(X))


def test_functions_of_a_formats_arrays_are_beside_its_class():
    data, indices = sparse.bcoo._bcoo_fromdense(X, nse=3)
    facts = util.SparseInfo(X.shape)
    np.testing.assert_array_equal(sparse.bcoo._bcoo_todense(data, indices, spinfo=facts), X)
    np.testing.assert_array_equal(sparse.bcoo._bcoo_extract(indices, jnp.asarray(X)), data)
    columns, starts = sparse.bcsr._bcoo_to_bcsr(indices, shape=X.shape)
    np.testing.assert_array_equal(columns, [1, 0, 2])
    np.testing.assert_array_equal(starts, [0, 1, 3])
    np.testing.assert_array_equal(
        sparse.bcsr._bcsr_to_bcoo(columns, starts, shape=X.shape), indices
    )
    assert util._count_stored_elements(X, n_batch=1) == 2
    with pytest.raises(AttributeError, match="no attribute '_nothing'"):
        sparse.csr._nothing  # noqa: B018


@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (2, 3)])
def test_quotients_are_those_of_the_elements(shape):
    divisor = np.linspace(3, 47, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    found = sparse.todense(sparse.BCOO.fromdense(X) / divisor)
    if shape == X.shape:  # XLA multiplies by the reciprocal of what is broadcast
        np.testing.assert_array_equal(found, X / divisor)
    else:
        np.testing.assert_allclose(found, X / divisor, rtol=2e-7)


def test_quotients_by_numbers_keep_to_strict_promotion():
    from effax import numpy_dtype_promotion

    x = sparse.BCOO.fromdense(jnp.arange(3))
    with numpy_dtype_promotion("strict"):
        np.testing.assert_array_equal((x / 2).data, [0.5, 1.0])
