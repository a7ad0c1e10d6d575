"""Windows over what was padded: XLA folds the one into the other, and one case of it is wrong.

An axis of length 1 that is padded on both sides alike: XLA of jaxlib 0.10.2 gave every window its
element (so does JAX: `jit(lambda x: jnp.cumsum(jnp.pad(x, ((0, 0), (2, 2))), 1))(ones((2, 1)))`).
"""

from itertools import product

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import export, lax


@pytest.mark.parametrize("shape", [(1,), (1, 1), (2, 1), (1, 2), (2, 1, 1), (2, 2)])
def test_cumulative_sums_of_padded_arrays(shape):
    x = np.arange(1.0, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    for axis, pair, reverse in product(range(len(shape)), [(1, 1), (2, 2), (0, 2)], (False, True)):
        widths = [pair if i == axis else (0, 0) for i in range(len(shape))]
        padded = np.pad(x, widths)
        wanted = np.cumsum(np.flip(padded, axis) if reverse else padded, axis)

        def cumulated(x, axis=axis, widths=widths, reverse=reverse):
            return lax.cumsum(jnp.pad(x, widths), axis, reverse=reverse)

        found = effax.jit(cumulated)(x)
        np.testing.assert_array_equal(found, np.flip(wanted, axis) if reverse else wanted)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_windows_with_padding_of_their_own(width):
    x = np.array([[1.0], [2.0]], np.float32)
    size = width + 1

    def sums(x):
        padded = jnp.pad(x, ((0, 0), (width, width)))
        return lax.reduce_window(padded, 0.0, lax.add, (1, size), (1, 1), ((0, 0), (1, 0)))

    padded = np.pad(x, ((0, 0), (width + 1, width)))
    wanted = np.lib.stride_tricks.sliding_window_view(padded, size, 1).sum(-1)
    np.testing.assert_array_equal(effax.jit(sums)(x), wanted)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_derivatives_of_an_element_of_a_cumulative_sum(n):
    x = jnp.arange(1.0, n + 1)
    for i in range(n):
        wanted = 2 * np.diag((np.arange(n) <= i).astype(np.float32))
        found = effax.jit(effax.hessian(lambda x, i=i: jnp.cumsum(x * x)[i]))(x)
        np.testing.assert_array_equal(found, wanted)
        slopes = effax.jit(effax.vmap(effax.grad(lambda x, i=i: jnp.cumsum(x)[i])))(x[None])
        np.testing.assert_array_equal(slopes[0], np.arange(n) <= i)


@pytest.mark.parametrize("config", [(-1, 1, 0), (2, -1, 0), (-1, 2, 3), (1, -2, 0)])
@pytest.mark.parametrize("length", [1, 2])
def test_windows_over_padding_alone(config, length):
    x = np.ones((2, length, 2), np.float32)
    low, high, interior = config
    spread = np.zeros((2, length + (length - 1) * interior, 2), np.float32)
    spread[:, :: interior + 1] = x
    padded = np.pad(spread, ((0, 0), (max(low, 0), max(high, 0)), (0, 0)))
    padded = padded[:, max(-low, 0) : padded.shape[1] - max(-high, 0)]

    def sums(x):
        return lax.cumsum(lax.pad(x, 0.0, [(0, 0, 0), config, (0, 0, 0)]), 1)

    np.testing.assert_array_equal(effax.jit(sums)(x), np.cumsum(padded, 1))


def test_padding_alone_beside_an_unknown_length():
    def cut(x):
        return lax.pad(x, 2.0, [(0, 0, 0), (-1, 3, 0)])

    (b,) = export.symbolic_shape("b")
    exported = export.export(effax.jit(cut))(effax.ShapeDtypeStruct((b, 1), np.float32))
    np.testing.assert_array_equal(
        exported.call(np.ones((4, 1), np.float32)), np.full((4, 3), 2, np.float32)
    )
