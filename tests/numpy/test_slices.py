"""`ds` in indices: against Python's slices, and against what JAX gives beyond the ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import ds

A = np.arange(10)
B = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("start", "size", "stride", "expected"),
    [
        (2, 3, None, [2, 3, 4]),
        (0, 10, None, list(range(10))),
        (3, 0, None, []),
        (1, 3, 2, [1, 3, 5]),
        (3, 2, 0, [3, 3]),
        # beyond the ends: recorded of JAX 0.10
        (9, 3, None, [7, 8, 9]),
        (20, 2, None, [8, 9]),
        (-3, 3, None, [7, 8, 9]),
        (-20, 2, None, [0, 1]),
        (5, 3, 3, [5, 8, 9]),
        (20, 2, 2, [9, 9]),
    ],
)
def test_reading(start, size, stride, expected, dynamic):
    at = jnp.int32(start) if dynamic else start
    assert_array_equal(jnp.asarray(A)[ds(at, size, stride)], expected)
    if dynamic:
        read = effax.jit(lambda x, i: x[ds(i, size, stride)])
        assert_array_equal(read(A, start), expected)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("start", "size", "stride", "expected"),
    [
        (2, 3, None, [0, 1, -1, -1, -1, 5, 6, 7, 8, 9]),
        (1, 2, 3, [0, -1, 2, 3, -1, 5, 6, 7, 8, 9]),
        (8, 3, None, list(range(10))),  # a window that does not fit is dropped, as in JAX
        (5, 3, 3, [0, 1, 2, 3, 4, -1, 6, 7, -1, 9]),
    ],
)
def test_writing(start, size, stride, expected, dynamic):
    at = jnp.int32(start) if dynamic else start
    x = jnp.asarray(A)
    assert_array_equal(x.at[ds(at, size, stride)].set(-1), expected)
    changed = np.where(np.array(expected) == -1, A * 3, A)
    assert_array_equal(x.at[ds(at, size, stride)].multiply(3), changed)
    assert_array_equal(x.at[ds(at, size, stride)].apply(lambda v: v * 3), changed)


def test_windows_among_other_parts_of_an_index():
    x, i = jnp.asarray(B), jnp.int32(1)
    rows = jnp.array([0, 1])
    for found, expected in (
        (x[..., ds(i, 2)], B[..., 1:3]),
        (x[0, ds(i, 2)], B[0, 1:3]),
        (x[ds(1, 1), 0], B[1:2, 0]),
        (x[0, ds(i, 2), None], B[0, 1:3, None]),
        (x[rows, ds(i, 2), rows], B[[0, 1], 1:3, [0, 1]]),
        (x[ds(0, 1), ..., ds(i, 3)], B[0:1, ..., 1:4]),
        (x[:, ds(i, 2), ::2], B[:, 1:3, ::2]),
        (x.at[1, ds(i, 2)].get(), B[1, 1:3]),
    ):
        assert_array_equal(found, expected)
    expected = B.copy()
    expected[:, 1:3, 0] = [5, 6]
    assert_array_equal(x.at[:, ds(i, 2), 0].set(jnp.array([5.0, 6.0])), expected)
    expected[0, 1:3, 2:4] += 1
    both = x.at[:, ds(i, 2), 0].set(jnp.array([5.0, 6.0]))
    assert_array_equal(both.at[0, ds(i, 2), ds(i + 1, 2)].add(1), expected)


def test_under_transformations():
    starts = np.arange(3)
    windows = effax.vmap(lambda i: jnp.asarray(A)[ds(i, 2)])(starts)
    assert_array_equal(windows, [[0, 1], [1, 2], [2, 3]])
    x = np.arange(4.0, dtype=np.float32)
    gradient = effax.grad(lambda x, i: jnp.sum(x[ds(i, 2)] ** 2))(x, 1)
    assert_allclose(gradient, [0, 2, 4, 0])
    gradient = effax.grad(lambda x, v: jnp.sum(x.at[ds(1, 2)].set(v) ** 2), (0, 1))(x, x[:2] + 5)
    assert_allclose(gradient[0], [0, 0, 0, 6])
    assert_allclose(gradient[1], [10, 12])
    assert_array_equal(effax.jit(lambda s, x: x[s])(ds(jnp.int32(4), 2), A), [4, 5])
    assert_array_equal(effax.jit(lambda s, x: x[s])(ds(4, 2), A), [4, 5])


def test_references_take_them():
    ref = effax.new_ref(jnp.asarray(A))

    @effax.jit
    def clear(ref, i):
        ref[ds(i, 2)] = jnp.zeros(2, ref.dtype)
        return ref[ds(i - 1, 4)]

    assert_array_equal(clear(ref, 3), [2, 0, 0, 5])
    assert_array_equal(ref[...], [0, 1, 2, 0, 0, 5, 6, 7, 8, 9])
    assert_array_equal(ref.at[ds(5, 4)][ds(1, 2)], [6, 7])

    def sums(x):
        total = effax.new_ref(jnp.zeros(2))

        def add(i, _):
            total[...] += x[ds(2 * i, 2)]

        effax.lax.fori_loop(0, 3, add, None)
        return total[...]

    assert_array_equal(effax.jit(sums)(np.arange(6.0, dtype=np.float32)), [6, 9])


def test_what_it_is():
    assert ds(None) == slice(None)
    assert ds(3) == ds(0, 3) == ds(0, 3, 1)
    assert ds(jnp.int32(1), 2).is_dynamic_start
    for wrong, error in (
        (lambda: ds(1, 2, -1), ValueError),
        (lambda: ds(1, -2), ValueError),
        (lambda: ds(1.5, 2), TypeError),
        (lambda: ds(jnp.arange(2), 2), TypeError),
        (lambda: effax.jit(lambda n: A[ds(1, n)])(2), TypeError),
        (lambda: jnp.asarray(A)[ds(2, 12)], TypeError),
        (lambda: jnp.asarray(A)[0, ds(1, 2)], IndexError),
    ):
        with pytest.raises(error):
            wrong()
