"""Products and convolutions against the loops they stand for; functions under names, once traced."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import lax

RNG = np.random.default_rng(0)
SIZES = np.array([2, 0, 3])


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


LHS, RHS = normal(6, 4), normal(3, 4, 5)


def by_group(lhs, rhs):
    rows, start = [], 0
    for n, matrix in zip(SIZES, rhs, strict=True):
        rows.append(lhs[start : start + n] @ matrix)
        start += n
    return np.concatenate([*rows, np.zeros((len(lhs) - start, rhs.shape[-1]), lhs.dtype)])


def test_each_row_meets_the_matrix_of_its_group():
    for function in (lax.ragged_dot, fx.jit(lax.ragged_dot)):
        np.testing.assert_allclose(function(LHS, RHS, SIZES), by_group(LHS, RHS), rtol=1e-5)


def test_its_gradient_is_that_of_the_groups():
    def loss(rhs):
        return (lax.ragged_dot(LHS, rhs, SIZES) ** 2).sum()

    slope = fx.grad(loss)(jnp.asarray(RHS))
    assert float(jnp.abs(slope[1]).max()) == 0
    np.testing.assert_allclose(slope[2], 2 * LHS[2:5].T @ (LHS[2:5] @ RHS[2]), rtol=1e-4)


def test_batches_of_ragged_products():
    many = fx.vmap(lax.ragged_dot, in_axes=(0, None, None))(np.stack([LHS, 2 * LHS]), RHS, SIZES)
    np.testing.assert_allclose(many[1], 2 * by_group(LHS, RHS), rtol=1e-5)


def test_a_contracted_axis_gives_a_product_for_each_group():
    numbers = lax.RaggedDotDimensionNumbers((([1], [0]), ([], [])), [1], [])
    lhs, rhs = normal(3, 5), normal(5, 2)
    found = lax.ragged_dot_general(lhs, rhs, SIZES, numbers)
    parts = [lhs[:, :2] @ rhs[:2], np.zeros((3, 2)), lhs[:, 2:] @ rhs[2:]]
    np.testing.assert_allclose(found, np.stack(parts), rtol=1e-5)


def test_group_sizes_differ_along_the_axes_before_the_ragged_one():
    numbers = lax.RaggedDotDimensionNumbers((([3], [2]), ([2], [1])), [1], [0])
    lhs, rhs = normal(2, 6, 4, 5), normal(3, 4, 5, 7)
    sizes = RNG.multinomial(5, [1 / 3] * 3, (4, 2)).astype(np.int32)
    found = lax.ragged_dot_general(lhs, rhs, sizes, numbers)
    for b in range(4):
        for x in range(2):
            one = lax.ragged_dot(lhs[x, :, b], rhs[:, b], sizes[b, x])
            np.testing.assert_allclose(found[b, x], one, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match=r"shape \(4, 2, 3\), got \(2, 4, 3\)"):
        lax.ragged_dot_general(lhs, rhs, sizes.transpose(1, 0, 2), numbers)


def test_contracted_groups_differ_along_a_batch():
    numbers = lax.RaggedDotDimensionNumbers((([2], [1]), ([0], [0])), [2], [])
    lhs, rhs, sizes = normal(2, 3, 5), normal(2, 5, 4), np.array([[1, 4], [3, 1]])
    found = lax.ragged_dot_general(lhs, rhs, sizes, numbers)
    for b, (n, m) in enumerate(sizes):
        np.testing.assert_allclose(found[0, b], lhs[b, :, :n] @ rhs[b, :n], rtol=1e-5)
        np.testing.assert_allclose(
            found[1, b], lhs[b, :, n : n + m] @ rhs[b, n : n + m], rtol=1e-4, atol=1e-6
        )


def test_a_ragged_product_promotes_no_rank_and_no_dtype():
    with fx.numpy_rank_promotion("raise"), fx.numpy_dtype_promotion("strict"):
        for sizes in (SIZES.astype(np.int8), SIZES.astype(np.uint32)):
            found = lax.ragged_dot(LHS, RHS, sizes)
            np.testing.assert_allclose(found, by_group(LHS, RHS), rtol=1e-5)


def test_what_is_no_ragged_product_is_refused():
    with pytest.raises(TypeError, match="integers of rank at least 1"):
        lax.ragged_dot(LHS, RHS, SIZES.astype(np.float32))
    with pytest.raises(TypeError, match="group dimension size to be 2, got 3"):
        lax.ragged_dot(LHS, RHS, SIZES[:2])
    twice = lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0, 1], [0])
    with pytest.raises(TypeError, match="exactly one lhs ragged dimension"):
        lax.ragged_dot_general(LHS, RHS, SIZES, twice)
    taken = lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [1])
    with pytest.raises(TypeError, match="distinct from contracting and batch"):
        lax.ragged_dot_general(LHS, RHS, SIZES, taken)
    summed = lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [1], [0])
    with pytest.raises(TypeError, match="rhs_group_dimensions must be empty"):
        lax.ragged_dot_general(LHS, RHS, SIZES, summed)
    with pytest.raises(NotImplementedError, match="group_offset"):
        lax.ragged_dot(LHS, RHS, SIZES, group_offset=jnp.array([1]))


NUMBERS = ("NHWC", "HWIO", "NHWC")


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 0), (2, 1)]])
def test_patches_times_a_kernel_are_the_convolution(padding):
    x, kernel = normal(2, 7, 8, 3), normal(2, 3, 3, 5)
    patches = lax.conv_general_dilated_patches(x, (2, 3), (1, 2), padding, None, None, NUMBERS)
    flat = np.moveaxis(kernel, 2, 0).reshape(18, 5)
    found = lax.conv_general_dilated(x, kernel, (1, 2), padding, dimension_numbers=NUMBERS)
    np.testing.assert_allclose(patches @ flat, found, rtol=1e-4, atol=1e-5)
    assert found.shape == lax.conv_general_shape_tuple(
        x.shape, kernel.shape, (1, 2), padding, NUMBERS
    )


def test_a_local_convolution_with_one_kernel_is_a_convolution():
    x, kernel = normal(2, 3, 8), normal(5, 3, 3)
    everywhere = np.repeat(kernel.reshape(5, 9, 1), 6, axis=2)
    found = lax.conv_general_dilated_local(x, everywhere, (1,), "VALID", (3,))
    np.testing.assert_allclose(
        found, lax.conv_general_dilated(x, kernel, (1,), "VALID"), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_the_high_half_of_a_product(dtype):
    info = np.iinfo(dtype)
    x, y = RNG.integers(info.min, info.max, (2, 50), dtype=dtype, endpoint=True)
    with fx.enable_x64(True):
        found = np.asarray(lax.mulhi(x, y)).tolist()
    assert found == [(int(a) * int(b)) >> info.bits for a, b in zip(x, y, strict=True)]


@pytest.mark.cpu
def test_a_function_for_each_platform():
    assert lax.platform_dependent(1.0, cpu=lambda x: x + 1, tpu=lambda x: x) == 2.0
    with pytest.raises(NotImplementedError, match="not found for platform cpu"):
        lax.platform_dependent(1.0, tpu=lambda x: x)


def test_a_composite_is_traced_once_for_its_attributes():
    traced = []

    def decomposition(x, *, n):
        traced.append(n)
        return x * n

    twice = lax.composite(decomposition, "my.multiple")
    assert [float(twice(1.5, n=n)) for n in (2, 2, 2.0, 3)] == [3.0, 3.0, 3.0, 4.5]
    assert traced == [2, 2.0, 3]
    assert [type(n) for n in traced] == [int, float, int]


def test_attributes_of_a_composite_are_numpy_arrays_but_not_arrays():
    scaled = lax.composite(lambda x, *, by: x * by, "my.scaled")
    assert [float(scaled(2.0, by=np.array([n]))[0]) for n in (1.0, 3.0, 1.0)] == [2.0, 6.0, 2.0]
    with pytest.raises(fx.errors.UnexpectedTracerError, match="as a NumPy array"):
        fx.jit(lambda x: scaled(x, by=jnp.ones(1)))(2.0)
