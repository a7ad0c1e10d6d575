"""Eager calls are found by what they were called with: what differs is told apart."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp

HOST = np.arange(12.0, dtype="f4").reshape(3, 4)
INDICES = [
    *(1, -1, True, np.int64(2), np.array(1), slice(None), slice(1, None), slice(None, 1)),
    *(slice(1, 3, 2), slice(np.int64(1), None), None, ..., (), (1,), (1, 2), (-1, -1), (True, 1)),
    *((slice(1, 2), 1), (1, slice(1, 2)), (None, 1), (..., 1), (1, ..., None), [0] and (([0, 1],))),
    *((np.array([0, 2]), 1), (1, np.array([0, 2]))),
]


@pytest.mark.parametrize("again", range(2))
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading_is_numpys_the_second_time_too(index, again):
    x = jnp.array(HOST)
    expected = HOST[index]
    for _ in range(2):
        found = x[index]
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("wrong", [1.0, (1.0, 1), slice(1.0, None), (slice(0, 2.0), 1), "a", [1]])
def test_what_equals_an_index_and_is_none_is_still_refused(wrong):
    x = jnp.array(HOST)
    _ = x[1], x[1, 1], x[1:], x[0:2, 1]
    with pytest.raises((TypeError, IndexError)):
        x[wrong]


def test_a_read_follows_settings_deletion_and_transforms():
    x = jnp.array(HOST)
    x[1], x[1:3]
    with effax.enable_x64(True):
        assert jnp.array(HOST.astype("f8"))[1].dtype == np.float64 and x[1].dtype == np.float32
    with effax.debug_nans(True), pytest.raises(FloatingPointError):
        (x * float("nan"))[1]
    np.testing.assert_array_equal(effax.vmap(lambda row: row[1])(x), HOST[:, 1])
    np.testing.assert_array_equal(effax.grad(lambda v: v[1, 2] * x[1, 2])(x)[1, 2], 6.0)
    np.testing.assert_array_equal(effax.jit(lambda: x[1])(), HOST[1])
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        x[1]


@pytest.mark.parametrize("make, value", [(jnp.zeros, 0), (jnp.ones, 1), (jnp.empty, 0)])
def test_what_is_made_is_new_each_time(make, value):
    for _ in range(2):
        for shape in (3, (3,), (2, 3), ()):
            for dtype in (None, "int32", jnp.bfloat16, np.dtype("bool")):
                made = make(shape, dtype)
                np.testing.assert_array_equal(np.asarray(made, "f4"), np.full(shape, value, "f4"))
                assert made.dtype == np.dtype("float32" if dtype is None else dtype)
    first, second = make(3), make(3)
    first.delete()
    np.testing.assert_array_equal(second, [value] * 3)
    for wrong in ((3.0,), 3.0, (-1,)):
        make((3,)), make(3)
        with pytest.raises((TypeError, ValueError)):
            make(wrong)
    with effax.enable_x64(True):
        assert make(3).dtype == np.float64
    for _ in range(2):
        with pytest.warns(UserWarning, match="float64"):
            make(3, "float64")


def test_reshapes_are_found_by_integers():
    x = jnp.array(HOST)
    for _ in range(2):
        for shape in ((4, 3), (-1,), (2, -1, 2), (12,), (1, 12)):
            np.testing.assert_array_equal(x.reshape(shape), HOST.reshape(shape))
            np.testing.assert_array_equal(x.reshape(*shape), HOST.reshape(*shape))
        np.testing.assert_array_equal(x.reshape(np.int64(4), 3), HOST.reshape(4, 3))
        np.testing.assert_array_equal(x.reshape([4, 3]), HOST.reshape(4, 3))
        np.testing.assert_array_equal(x.reshape(4, 3, order="F"), HOST.reshape(4, 3, order="F"))
        for wrong in ((4.0, 3), (5, 3), (-1, -1), "a"):
            with pytest.raises((TypeError, ValueError)):
                x.reshape(wrong)
    assert x[0, 0].reshape(()).shape == x[0, 0].reshape().shape == ()
    np.testing.assert_array_equal(effax.jit(lambda a: a.reshape(4, 3))(x), HOST.reshape(4, 3))


def test_statics_and_numbers_of_equal_value_are_told_apart():
    x = jnp.arange(4)
    for _ in range(2):
        assert (x * 2).dtype == np.int32 and (x * 2.0).dtype == np.float32
        assert (x + True).dtype == np.int32 and (x * 2j).dtype == np.complex64
        np.testing.assert_array_equal(np.signbit(jnp.float32(1.0) * -0.0), True)
        np.testing.assert_array_equal(np.signbit(jnp.float32(1.0) * 0.0), False)
        assert jnp.sum(x, 0).shape == () and jnp.sum(x, keepdims=True).shape == (1,)
        assert jnp.sum(x, axis=0, keepdims=1).shape == (1,)
        assert jnp.sum(x.reshape(2, 2), axis=(0,)).shape == (2,)
        with pytest.raises(TypeError):
            jnp.sum(x, 0.0)


def test_jitted_calls_are_found_by_statics_names_and_trees():
    calls = []

    def f(x, n, *, scale=1.0, tree=None):
        calls.append(n)
        return x * n * scale if tree is None else {k: v * n for k, v in tree.items()}

    jitted = effax.jit(f, static_argnames=("n",))
    x = jnp.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(x, 2), [0, 2, 4])
        np.testing.assert_array_equal(jitted(x, n=2), [0, 2, 4])
        np.testing.assert_array_equal(jitted(x, n=2.0), [0, 2, 4])
        np.testing.assert_array_equal(jitted(np.arange(3, dtype="f4"), 3), [0, 3, 6])
        np.testing.assert_array_equal(jitted(x, 2, scale=2.0), [0, 4, 8])
        np.testing.assert_array_equal(jitted(x, scale=x, n=2), [0, 2, 8])
        np.testing.assert_array_equal(jitted(n=2, x=x, scale=x), [0, 2, 8])
        np.testing.assert_array_equal(jitted(x, n=2, tree={"a": x, "b": 1.0})["a"], [0, 2, 4])
    assert len(calls) == 8, calls


def test_a_donated_number_is_no_shared_constant():
    step = effax.jit(lambda x, n: (x + n, n * 2), donate_argnums=(0, 1))
    for _ in range(3):
        total, twice = step(jnp.arange(3.0), 2.0)
        np.testing.assert_array_equal(total, [2, 3, 4])
        assert float(twice) == 4.0
    np.testing.assert_array_equal(effax.jit(lambda x, n: x + n)(jnp.arange(3.0), 2.0), [2, 3, 4])


def test_keywords_may_come_in_any_order():
    x, m = jnp.arange(6.0).reshape(2, 3), jnp.array([[True, False, True], [False, True, False]])
    for _ in range(2):
        assert jnp.sum(x, axis=0, where=m, initial=10.0).tolist() == [10, 14, 12]
        assert jnp.sum(x, initial=10.0, where=m, axis=0).tolist() == [10, 14, 12]
        assert jnp.unwrap(jnp.array([0.0, 5, 1, 9]), period=6, discont=4).tolist() == [0, -1, 1, 3]
