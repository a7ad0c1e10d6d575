"""Products of block-scaled operands, against their definition in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import lax, nn

F8, E8 = jnp.float8_e4m3fn, jnp.float8_e8m0fnu
KEY = effax.random.key(0)
A = effax.random.normal(KEY, (2, 4, 64)).astype(F8)
B = effax.random.normal(effax.random.key(1), (2, 64, 8)).astype(F8)
SA = jnp.exp2(jnp.arange(16).reshape(2, 4, 2) % 4).astype(E8)
SB = jnp.exp2(jnp.arange(32).reshape(2, 2, 8) % 3).astype(E8)


def wide(x):
    return np.asarray(x.astype("float32"))


def product(a, b, sa, sb):
    a = wide(a) * (1 if sa is None else np.repeat(wide(sa), 32, -1))
    b = wide(b) * (1 if sb is None else np.repeat(wide(sb), 32, -2))
    return a @ b


@pytest.mark.parametrize(("sa", "sb"), [(SA, SB), (None, SB), (SA, None), (None, None)])
def test_scaled_dot(sa, sb):
    expected = product(A, B, sa, sb)
    half = lax.scaled_dot(A, B, lhs_scale=sa, rhs_scale=sb)
    assert half.dtype == jnp.bfloat16
    assert_allclose(wide(half), expected, rtol=0.02, atol=0.5)
    full = lax.scaled_dot(A, B, lhs_scale=sa, rhs_scale=sb, preferred_element_type="float32")
    assert_allclose(full, expected, rtol=1e-5, atol=1e-4)

    def of_matrices(a, b, sa, sb):
        dims = (((1,), (0,)), ((), ()))
        options = {"dimension_numbers": dims, "preferred_element_type": "float32"}
        return lax.scaled_dot(a, b, lhs_scale=sa, rhs_scale=sb, **options)

    axes = (0, 0, None if sa is None else 0, None if sb is None else 0)
    assert_allclose(effax.vmap(of_matrices, axes)(A, B, sa, sb), expected, rtol=1e-5, atol=1e-4)


def test_scaled_dot_that_does_not_fit():
    for sa, sb, a, message in (
        (A, SB, A, "at least 2"),
        (SA[:, :2], SB, A, "LHS dim 1 of size 4"),
        (jnp.ones((2, 4, 3), E8), SB, A, "integer multiple"),
        (SA[0], SB, A, "rank 3, and its scale rank 2"),
        (SA, SB[:, :, :7], A, "RHS dim 2 of size 8"),
        (None, None, A[:, :, :32], "does not match RHS contracting dim"),
        (None, None, A[0], "of the same rank"),
    ):
        with pytest.raises(TypeError, match=message):
            lax.scaled_dot(a, B, lhs_scale=sa, rhs_scale=sb)


def test_scaled_matmul():
    b, sb = jnp.swapaxes(B, 1, 2), jnp.swapaxes(SB, 1, 2)
    expected = product(A, B, SA, SB)
    assert_allclose(nn.scaled_matmul(A, b, SA, sb), expected, rtol=1e-5, atol=1e-4)
    assert nn.scaled_matmul(A, b, SA, sb, jnp.bfloat16).dtype == jnp.bfloat16
    for args, message in (
        ((A[0], b, SA, sb), "3-dimensional"),
        ((A, b[:, :, :32], SA, sb), "matching batch"),
        ((A, b, SA[:, :, :1], sb), "matching batch"),
        ((A, b, SA[:, :2], sb), "scales for blocks"),
    ):
        with pytest.raises(ValueError, match=message):
            nn.scaled_matmul(*args)


def mxfp8(x):
    """Blocks of 32 along the last axis, by the definition: scales 2**ceil(log2(largest / 448))."""
    import ml_dtypes

    blocks = x.reshape(*x.shape[:-1], -1, 32).astype(np.float64)
    largest = np.abs(blocks).max(-1, keepdims=True)
    scale = np.exp2(np.ceil(np.log2(np.where(largest == 0, 448.0, largest) / 448.0)))
    return ((blocks / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) * scale).reshape(
        x.shape
    )


def nvfp4(x, level):
    """Blocks of 16; scales in float8_e4m3fn under one in float32."""
    import ml_dtypes

    blocks = x.reshape(*x.shape[:-1], -1, 16).astype(np.float32)
    wanted = np.abs(blocks).max(-1, keepdims=True) / np.float32(6) / level
    scale = wanted.astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * level
    inside = np.clip(blocks / np.where(scale == 0, 1, scale), -6, 6)
    return (inside.astype(ml_dtypes.float4_e2m1fn).astype(np.float32) * scale).reshape(x.shape)


L = np.random.default_rng(0).normal(size=(3, 32, 64)).astype(np.float32)
R = np.random.default_rng(1).normal(size=(3, 96, 64)).astype(np.float32) * np.float32(100)
DIMS = (((2,), (2,)), ((0,), (0,)))


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_operands_are_rounded_block_by_block(mode):
    level = jnp.array([0.5], "float32") if mode == "nvfp4" else None
    configs = [nn.get_scaled_dot_general_config(mode, level)] * 3

    def scaled(a, b):
        return nn.scaled_dot_general(a, b, DIMS, configs=configs)

    def rounded(x):
        return mxfp8(x) if mode == "mxfp8" else nvfp4(x, np.float32(0.5))

    expected = rounded(L) @ np.swapaxes(rounded(R), 1, 2)
    ct = np.random.default_rng(3).normal(size=expected.shape).astype(np.float32)

    @effax.jit
    def both_passes(a, b, ct):
        y, pull = effax.vjp(scaled, a, b)
        return y, pull(ct)

    out, (left, right) = both_passes(L, R, ct)
    assert_allclose(out, expected, rtol=1e-4, atol=1e-2)
    turned = [rounded(np.swapaxes(x, 1, 2)) for x in (L, R, ct)]
    assert_allclose(left, rounded(ct) @ np.swapaxes(turned[1], 1, 2), rtol=1e-3, atol=0.5)
    assert_allclose(right, turned[2] @ np.swapaxes(turned[0], 1, 2), rtol=1e-3, atol=0.5)


def test_blocks_need_not_fit_and_zeros_are_zeros():
    configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    a, b = np.zeros((2, 40), np.float32), np.ones((3, 40), np.float32)
    a[0, 35] = 2.0
    out = nn.scaled_dot_general(a, b, (((1,), (1,)), ((), ())), configs=configs)
    assert_array_equal(out, [[2, 2, 2], [0, 0, 0]])
    plain = nn.scaled_dot_general(a, b, (((1,), (1,)), ((), ())))
    assert_array_equal(plain, [[2, 2, 2], [0, 0, 0]])


def test_configs():
    config = nn.get_scaled_dot_general_config("nvfp4")
    assert (config.block_size, config.data_type) == (16, jnp.float4_e2m1fn)
    assert float(config.global_scale[0]) == 1.0
    with pytest.raises(ValueError, match="Unsupported mode: foo"):
        nn.get_scaled_dot_general_config("foo")
    with pytest.raises(ValueError, match="must be a scalar"):
        nn.get_scaled_dot_general_config("nvfp4", jnp.ones(2))
    with pytest.raises(ValueError, match="3 configs"):
        nn.scaled_dot_general(L, R, DIMS, configs=[config])
