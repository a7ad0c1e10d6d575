"""Operators of lax: dtypes must agree, Python numbers take the others', shapes agree up to ones."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

X = np.array([1.0, -2.0, 3.0], np.float32)


def test_python_numbers_take_the_dtype_of_the_others():
    found = lax.add(X.astype(np.float16), 2)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, [3, 0, 5])
    assert lax.add(1, 2).weak_type


@pytest.mark.parametrize(
    ("x", "y"),
    [(X, X.astype(np.float16)), (X.astype(np.int32), 2.5), (X, np.int32(1)), (1, 2.0)],
)
def test_dtypes_that_differ_are_refused(x, y):
    with pytest.raises(TypeError, match=r"lax.mul requires arguments to have the same dtypes"):
        lax.mul(x, y)


def test_shapes_agree_up_to_ones():
    assert lax.add(np.ones((1, 3), np.float32), np.ones((2, 1), np.float32)).shape == (2, 3)
    assert lax.add(X, np.float32(1)).shape == (3,)
    with pytest.raises(TypeError, match="incompatible shapes"):
        lax.add(X, np.ones(2, np.float32))
    with pytest.raises(TypeError, match="incompatible shapes"):
        lax.add(X, np.ones((1, 3), np.float32))


def test_powers_of_python_integers_are_exact():
    np.testing.assert_array_equal(lax.pow(X, 3), X**3)
    np.testing.assert_array_equal(effax.grad(lambda x: lax.pow(x, 2))(-3.0), -6.0)
    np.testing.assert_allclose(lax.pow(abs(X), np.array([2, 0, 1], np.int32)), [1, 1, 3])


def test_rounding_of_halves():
    halves = np.array([0.5, 1.5, 2.5, -0.5], np.float32)
    np.testing.assert_array_equal(lax.round(halves), [1, 2, 3, -1])
    even = lax.round(halves, lax.RoundingMethod.TO_NEAREST_EVEN)
    np.testing.assert_array_equal(even, [0, 2, 2, 0])


def test_accuracy_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="accuracy"):
        lax.exp(1.0, accuracy="highest")


@pytest.mark.parametrize(
    ("fold", "start", "wanted"),
    [
        (lax.add, 0.0, 2.0),
        (lax.mul, 1.0, -6.0),
        (lax.max, -np.inf, 3.0),
        (lax.min, np.inf, -2.0),
        (lambda x, y: x + 2 * x * y + y, 0.0, None),
    ],
)
def test_reduce(fold, start, wanted):
    if wanted is None:
        wanted = 0.0
        for x in X:
            wanted = wanted + 2 * wanted * x + x
    assert float(lax.reduce(X, start, fold, (0,))) == pytest.approx(wanted)
    slope = effax.grad(lambda x: lax.reduce(x, start, fold, (0,)))(X)
    step = np.eye(3, dtype=np.float32) * 1e-2
    numeric = [
        (float(lax.reduce(X + s, start, fold, (0,))) - float(lax.reduce(X - s, start, fold, (0,))))
        / 2e-2
        for s in step
    ]
    np.testing.assert_allclose(slope, numeric, atol=1e-2)


def test_reduce_of_several_arrays_at_once():
    def larger(one, other):
        keep = one[0] >= other[0]
        return tuple(lax.select(keep, a, b) for a, b in zip(one, other, strict=True))

    places = np.arange(3, dtype=np.int32)
    value, place = lax.reduce((X, places), (-np.inf, -1), larger, (0,))
    assert (float(value), int(place)) == (3.0, 2)


def test_reduce_of_trees_that_differ_is_refused():
    with pytest.raises(ValueError, match="tree structure"):
        lax.reduce((X, X), 0.0, lax.add, (0,))


@pytest.mark.parametrize("start", [300, 0.5, np.float32(0.5), jnp.array(1)])
def test_an_initial_value_that_the_dtype_does_not_have_is_refused(start):
    x = jnp.ones(3, "int8")
    with pytest.raises(TypeError, match="initial value"):
        lax.reduce(x, start, lax.add, (0,))
    with pytest.raises(TypeError, match="initial value"):
        lax.reduce_window(x, start, lax.add, (2,), (1,), "VALID")
    with pytest.raises(TypeError, match="initial value"):
        effax.jit(lambda s: lax.reduce(x, s, lax.add, (0,)))(jnp.array(0.0))


@pytest.mark.parametrize("start", [1, 1.0, np.int8(1), np.inf])
def test_an_initial_value_that_the_dtype_has_is_converted(start):
    found = lax.reduce(jnp.ones(3), start, lambda x, y: x + y, (0,))
    assert found.dtype == jnp.float32
    assert float(found) == float(start) + 3


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2)]])
def test_windows(padding):
    pads = (
        {"SAME": (0, 1), "VALID": (0, 0)}.get(padding, (1, 2))
        if isinstance(padding, str)
        else (1, 2)
    )
    padded = np.pad(X, pads)
    wanted = padded[:-1] + padded[1:]
    np.testing.assert_array_equal(lax.reduce_window(X, 0.0, lax.add, (2,), padding=padding), wanted)


@pytest.mark.parametrize("fold", [lambda x, y: x - y, lambda x, y: 3 * x + y], ids=["-", "3x+y"])
@pytest.mark.parametrize("padding", ["VALID", [(1, 2)]])
def test_derivatives_of_windows_fold_in_order(fold, padding):
    x = jnp.array([1.0, 2.0, 4.0, 8.0, 16.0])

    def windows(x):
        return lax.reduce_window(x, 0.0, fold, (3,), (1,), padding)

    y, dy = effax.jvp(windows, (x,), (x,))
    np.testing.assert_array_equal(y, windows(x))
    np.testing.assert_array_equal(dy, windows(x))  # it is linear

    def counted(x):  # from an initial value that is no identity
        return lax.reduce_window(x, 1.0, lambda x, y: x + y, (3,), (1,), padding)

    np.testing.assert_array_equal(effax.jvp(counted, (x,), (x,))[0], counted(x))
    np.testing.assert_array_equal(
        effax.vmap(windows)(jnp.stack([x, -x])), [windows(x), -windows(x)]
    )
    np.testing.assert_allclose(
        effax.grad(lambda x: (windows(x) ** 2).sum())(x) @ x, 2 * (y @ y), rtol=1e-5
    )


def test_unknown_padding_is_refused():
    with pytest.raises(RuntimeError, match="Unknown padding type"):
        lax.reduce_window(X, 0.0, lax.add, (2,), padding="SOME")


def test_sort_and_top_k():
    keys, values = lax.sort_key_val(X, np.arange(3, dtype=np.int32))
    np.testing.assert_array_equal(keys, [-2, 1, 3])
    np.testing.assert_array_equal(values, [1, 0, 2])
    values, places = lax.top_k(X, 2)
    np.testing.assert_array_equal(values, [3, 1])
    np.testing.assert_array_equal(places, [2, 0])
    np.testing.assert_array_equal(lax.approx_min_k(X, 1)[0], [-2])


def test_shapes():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(lax.reshape(x, (6,), dimensions=(1, 0)), [0, 3, 1, 4, 2, 5])
    assert lax.collapse(np.ones((2, 3, 4)), 0, 2).shape == (6, 4)
    assert lax.expand_dims(X, (0, -1)).shape == (1, 3, 1)
    assert [p.shape for p in lax.split(x, (1, 2), axis=1)] == [(2, 1), (2, 2)]
    assert lax.broadcast(X, (2,)).shape == (2, 3)
    np.testing.assert_array_equal(lax.pad(X, 0.0, [(1, -1, 0)]), [0, 1, -2])
    with pytest.raises(ValueError, match="not equal to one"):
        lax.squeeze(x, (0,))
    with pytest.raises(ValueError, match="Sum of sizes 2 must be equal to the size of axis 1"):
        lax.split(x, (1, 1), axis=1)


def test_full_and_iota():
    assert lax.full((2,), 3).weak_type
    assert lax.full_like(X, 2, dtype=np.int8).dtype == np.int8
    with pytest.raises(TypeError, match="scalar"):
        lax.full((2,), X)
    np.testing.assert_array_equal(lax.broadcasted_iota(np.int32, (2, 2), 0), [[0, 0], [1, 1]])


def test_under_transforms():
    def f(x):
        y = lax.add(lax.mul(x, 2.0), lax.sin(x))
        return lax.reduce_sum(lax.select(lax.gt(y, 0.0), y, lax.neg(y)), (0,))

    wanted = np.where(2 * X + np.sin(X) > 0, 1, -1) * (2 + np.cos(X))
    np.testing.assert_allclose(effax.grad(f)(X), wanted, rtol=1e-6)
    np.testing.assert_allclose(effax.vmap(effax.jit(f))(np.stack([X, X])), [f(X)] * 2, rtol=1e-6)
