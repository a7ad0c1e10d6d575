"""Small modules of `jax.experimental` and `jax.extend`: callbacks on buffers, solvers, devices."""

import numpy as np
import pytest
import scipy.sparse

import effax
import effax.numpy as jnp
from effax import distributed
from effax.experimental import topologies
from effax.experimental.buffer_callback import ExecutionStage, buffer_callback
from effax.experimental.custom_partitioning import custom_partitioning
from effax.experimental.shard_alike import shard_alike
from effax.experimental.sparse.linalg import lobpcg_standard, spsolve
from effax.extend import backend, random

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize("transform", [lambda f: f, effax.jit])
def test_a_buffer_callback_reads_operands_and_writes_results(transform):
    def both(context, out, x, *, y):
        assert context.stage is ExecutionStage.EXECUTE
        total, double = out
        assert (x.writeable, total.writeable, double.shape, x.ndim) == (False, True, (3,), 1)
        np.asarray(total)[...] = np.asarray(x).sum() + np.asarray(y)
        np.from_dlpack(double)[...] = 2 * np.asarray(x)

    shapes = [effax.ShapeDtypeStruct(s, "float32") for s in ((), (3,))]
    call = buffer_callback(both, shapes)
    total, double = transform(lambda x: call(x, y=jnp.float32(1.0)))(jnp.arange(3.0))
    assert (float(total), double.tolist()) == (4.0, [0.0, 2.0, 4.0])


def test_a_buffer_callback_begins_with_an_operand_and_is_batched():
    def add(context, out, x):
        np.asarray(out)[...] += np.asarray(x)

    types = effax.ShapeDtypeStruct((2,), "float32")
    call = buffer_callback(add, types, input_output_aliases={0: 0}, has_side_effect=True)
    assert call(jnp.ones(2)).tolist() == [2.0, 2.0]
    for method in ("sequential", "broadcast_all", "expand_dims"):
        call = buffer_callback(add, types, input_output_aliases={0: 0}, vmap_method=method)
        assert effax.vmap(call)(jnp.ones((3, 2))).tolist() == [[2.0, 2.0]] * 3


@pytest.mark.parametrize("operator", [False, True])
def test_lobpcg_finds_the_largest_eigenvalues(operator):
    factor = GENERATOR.normal(size=(40, 40)).astype(np.float32)
    matrix = jnp.asarray(factor @ factor.T)
    start = jnp.asarray(GENERATOR.normal(size=(40, 3)).astype(np.float32))
    given = (lambda x: matrix @ x) if operator else matrix
    values, vectors, steps = effax.jit(lambda x: lobpcg_standard(given, x, 200))(start)
    expected = np.linalg.eigvalsh(matrix)[::-1][:3]
    np.testing.assert_allclose(values, expected, rtol=1e-5)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-2)
    assert 0 < steps <= 200


def test_lobpcg_refuses_what_it_can_not_begin_with():
    for start in (jnp.ones(4), jnp.ones((10, 2)), jnp.ones((10, 0))):
        with pytest.raises(ValueError, match="search dim"):
            lobpcg_standard(jnp.eye(10), start)
    for matrix, told in ((jnp.ones((9, 10)), "matrix A"), (jnp.ones((10, 10), int), "same dtypes")):
        with pytest.raises(ValueError, match=told):
            lobpcg_standard(lambda x, m=matrix: m @ x.astype(m.dtype), jnp.ones((10, 1)))


def test_sparse_systems_are_solved_and_differentiated():
    matrix = (scipy.sparse.random(6, 6, 0.4, random_state=1) + 3 * scipy.sparse.eye(6)).tocsr()
    right = GENERATOR.normal(size=6).astype(np.float32)
    data, *places = map(jnp.asarray, (matrix.data, matrix.indices, matrix.indptr))

    def solve(data, right):
        return spsolve(data, *places, right)

    dense = matrix.toarray()
    expected = np.linalg.solve(dense, right)
    np.testing.assert_allclose(effax.jit(solve)(data, right), expected, rtol=1e-4)
    rows = np.repeat(np.arange(6), np.diff(matrix.indptr))
    by_data, by_right = effax.grad(lambda *x: solve(*x).sum(), (0, 1))(data, right)
    adjoint = np.linalg.solve(dense.T, np.ones(6))
    np.testing.assert_allclose(by_right, adjoint, rtol=1e-4)
    wanted = -adjoint[rows] * expected[matrix.indices]
    np.testing.assert_allclose(by_data, wanted, rtol=1e-3, atol=1e-5)
    several = np.stack([right, 2 * right])
    found = effax.vmap(lambda b: solve(data, b))(several)
    np.testing.assert_allclose(found[1], 2 * found[0], rtol=1e-5)


def test_a_custom_partitioning_is_its_function():
    @custom_partitioning
    def double(x):
        return x * 2

    @double.def_partition
    def partition(mesh, args, result):
        raise AssertionError("XLA partitions")

    assert double.partition is partition and double.__name__ == "double"
    assert effax.jit(effax.grad(lambda x: double(x).sum()))(jnp.ones(2)).tolist() == [2.0, 2.0]


def test_arrays_lie_alike():
    assert effax.jit(shard_alike)(jnp.ones(2), jnp.zeros(2))[1].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="shapes must be equal"):
        shard_alike(jnp.ones(2), jnp.ones(3))


def test_one_process_is_initialised_once():
    distributed.initialize(num_processes=1, process_id=0)
    try:
        assert distributed.is_initialized()
        with pytest.raises(RuntimeError, match="only be called once"):
            distributed.initialize(num_processes=1)
    finally:
        distributed.shutdown()
    assert not distributed.is_initialized()


def test_devices_that_are_attached():
    topology = topologies.get_attached_topology("cpu")
    assert topologies.make_mesh(topology, (1,), ("x",)).devices.tolist() == topology.devices[:1]
    assert backend.backends()["cpu"] is backend.get_backend("cpu")
    with effax.default_device(effax.devices()[0]):
        assert backend.get_default_device() is effax.devices()[0]


def test_generators_by_name():
    key = random.seed_with_impl(random.rbg_prng_impl, 3)
    assert (key == effax.random.key(3, impl="rbg")).all()
