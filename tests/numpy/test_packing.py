"""Bits packed into bytes, phases unwrapped, and arrays made by indexing, against NumPy."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp

random = np.random.default_rng(5)
ARRAYS = [random.integers(0, 2, shape).astype(bool) for shape in ((9,), (2, 17), (3, 8, 2), (0,))]
BYTES = random.integers(0, 256, (3, 4)).astype(np.uint8)


@pytest.mark.parametrize("bits", ARRAYS, ids=lambda x: str(x.shape))
@pytest.mark.parametrize("order", ["big", "little"])
def test_packbits(bits, order):
    for axis in (None, *range(-1, bits.ndim)):
        wanted = np.packbits(bits, axis=axis, bitorder=order)
        found = jnp.packbits(bits, axis=axis, bitorder=order)
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(jnp.packbits(bits * 3, axis, order), wanted)


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("count", [None, 0, 5, 30, -3])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unpackbits(order, count, axis):
    wanted = np.unpackbits(BYTES, axis=axis, count=count, bitorder=order)
    found = jnp.unpackbits(BYTES, axis=axis, count=count, bitorder=order)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, wanted)


def test_refused_bits():
    with pytest.raises(ValueError, match="'order' must be"):
        jnp.packbits(ARRAYS[0], bitorder="middle")
    with pytest.raises(ValueError, match="'order' must be"):
        jnp.unpackbits(BYTES, bitorder="middle")
    with pytest.raises(TypeError, match="integer or boolean"):
        jnp.packbits(np.ones(3))
    with pytest.raises(TypeError, match="unsigned byte"):
        jnp.unpackbits(np.ones(3, np.int32))
    with pytest.raises(IndexError):
        jnp.packbits(ARRAYS[0], axis=1)


def test_packing_under_transforms():
    bits = random.integers(0, 2, (4, 9)).astype(bool)
    np.testing.assert_array_equal(
        effax.jit(effax.vmap(jnp.packbits))(bits), np.packbits(bits, axis=1)
    )
    np.testing.assert_array_equal(effax.vmap(jnp.unpackbits)(BYTES), np.unpackbits(BYTES, axis=1))


@pytest.mark.parametrize(
    "phases, options",
    [
        (np.cumsum(random.normal(size=12)).astype(np.float32) * 3, {}),
        (np.array([[0.0, 7.0, 14.5], [6.0, -1.0, 3.0]], np.float32), {"axis": 0}),
        (np.array([[0.0, 7.0, 14.5], [6.0, -1.0, 3.0]], np.float32), {"discont": 6.5}),
        (np.array([0, 1, 7, 8, 0], np.int32), {"period": 4}),
        (np.array([0, 3, 5, 6], np.int32), {"period": 5}),
        (np.array([0, 2, 4, 6], np.int32), {"period": 4.0}),
    ],
)
def test_unwrap(phases, options):
    np.testing.assert_allclose(
        jnp.unwrap(phases, **options), np.unwrap(phases, **options), atol=1e-4
    )


K = np.array([3, 1, 2], np.int32)
F = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.r_[K, 1, 2],
        lambda m: m.r_[1:4, 5.0],
        lambda m: m.r_[0:1:5j],
        lambda m: m.r_[-1:1:6j, [0] * 3, 5, 6],
        lambda m: m.r_["0,2", K, K],
        lambda m: m.r_["0,2,0", K, K],
        lambda m: m.r_["1,2,0", K, K],
        lambda m: m.r_["-1", F, F],
        lambda m: m.r_[F, F],
        lambda m: m.r_[:3],
        lambda m: m.r_[1:10:2],
        lambda m: m.c_[1, 2],
        lambda m: m.c_[K, K * 2.5],
        lambda m: m.c_[F, F],
        lambda m: m.c_[1:6],
        lambda m: m.c_[K[None], K[None], 0, 1],
    ],
)
def test_arrays_made_by_indexing(make):
    found, wanted = np.asarray(make(jnp)), make(np)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_indices_as_values():
    assert jnp.s_[1:2, ..., 3] == np.s_[1:2, ..., 3]
    assert jnp.index_exp[1:2] == (slice(1, 2),)
    with pytest.raises(ValueError, match="directive"):
        jnp.r_["x", K]
