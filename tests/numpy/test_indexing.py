"""`x[...]` and `x.at[...]` against NumPy, and what only effax has: modes, tracing, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import effax
import effax.numpy as jnp
from effax.effects.config import check_static_indices
from effax.effects.errors import NonConcreteBooleanIndexError

X = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)

FORMS = {
    "int": 1,
    "negative int": (-1, -2),
    "numpy int": np.int64(2),
    "slice": (slice(None), slice(1, -1)),
    "steps": (slice(None, None, 2), slice(None, None, -2), slice(4, 0, -3)),
    "empty": slice(2, 1),
    "beyond": slice(-10, 10),
    "new axes": (None, 0, None, ..., None),
    "ellipsis": (..., 1),
    "array": np.array([2, 0, -1]),
    "matrix": (slice(None), np.array([[0, 1], [2, 3]])),
    "two arrays": (np.array([0, 1]), np.array([3, 2])),
    "apart": (np.array([0, 1]), slice(None), np.array([3, 2])),
    "apart by an ellipsis": (np.array([0, 1]), ..., np.array([3, 2])),
    "broadcast": (np.array([[0], [1]]), np.array([3, 2, 1])),
    "together at the end": (slice(1), np.array([0, 1]), np.array([3, 2])),
    "int and array": (0, slice(None), np.array([3, 2])),
    "array of rank 0": (np.array(1), 2),
    "steps and array": (slice(None, None, -2), np.array([3, 0]), slice(1, 4)),
    "new axis between": (np.array([0, 1]), None, np.array([3, 2])),
    "list in a tuple": ([0, 2], slice(1, 3)),
    "mask": X > 30,
    "mask of rows": np.array([True, False, True]),
    "mask of two axes": X[..., 0] > 20,
    "mask and array": (np.array([True, False, True]), np.array([0, 3])),
    "mask in the middle": (slice(None), np.array([True, False, True, False])),
    "true": True,
    "false": False,
    "true and array": (True, np.array([0, 1])),
    "empty array": np.zeros(0, np.int32),
    "nothing": (),
}


@pytest.mark.parametrize("index", FORMS.values(), ids=FORMS.keys())
def test_reading_is_numpys(index):
    expected = X[index]
    np.testing.assert_array_equal(jnp.asarray(X)[index], expected)
    np.testing.assert_array_equal(effax.jit(lambda x: x[index])(X), expected)


@pytest.mark.parametrize("index", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("operation", ["set", "add", "multiply", "max"])
def test_updating_is_numpys(index, operation):
    values = np.random.default_rng(0).normal(size=X[index].shape).astype(np.float32)
    expected = X.copy()
    if operation == "set":
        expected[index] = values
    else:
        ufunc = {"add": np.add, "multiply": np.multiply, "max": np.maximum}[operation]
        ufunc.at(expected, index, values)
    found = getattr(jnp.asarray(X).at[index], operation)(values)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    traced = effax.jit(lambda x, y: getattr(x.at[index], operation)(y))(X, values)
    np.testing.assert_allclose(traced, expected, rtol=1e-5)


def _parts(n: int) -> st.SearchStrategy:
    bound = st.none() | st.integers(-n - 2, n + 2)
    return st.one_of(
        st.integers(-n, n - 1),
        st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1, -3])),
        st.lists(st.integers(-n, n - 1), min_size=2, max_size=2).map(np.array),
        st.just(None),
    )


@given(st.data())
def test_any_mixture_is_numpys(data):
    index, axis = [], 0
    while axis < 3 and data.draw(st.booleans() if index else st.just(True)):
        part = data.draw(_parts(X.shape[axis]))
        axis += part is not None
        index.append(part)
    if data.draw(st.booleans()):
        index.append(...)
    np.testing.assert_array_equal(jnp.asarray(X)[tuple(index)], X[tuple(index)])


def test_one_executable_serves_every_integer():
    from effax.numpy.index_parts import read

    keys = {read((i, slice(0, 2)), X.shape, eager=True)[0] for i in range(-3, 3)}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("index", "options", "expected"),
    [
        (5, {}, 3.0),
        (-9, {}, 1.0),
        (np.array([5]), {}, [3.0]),
        (np.array([5, 0]), {"mode": "fill"}, [np.nan, 1.0]),
        (np.array([5, 0]), {"mode": "fill", "fill_value": 7}, [7.0, 1.0]),
        (5, {"mode": "fill", "fill_value": 7}, 7.0),
        (np.array([5, -9]), {"mode": "clip"}, [3.0, 1.0]),
        (-1, {"wrap_negative_indices": False}, 1.0),
    ],
)
def test_get_outside(index, options, expected):
    x = jnp.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.at[index].get(**options), np.float32(expected))
    traced = effax.jit(lambda x: x.at[index].get(**options))(x)
    np.testing.assert_array_equal(traced, np.float32(expected))


def test_updates_outside_are_dropped_unless_clipped():
    x = jnp.array([1, 2, 3])
    assert x.at[5].set(9).tolist() == [1, 2, 3]
    assert x.at[jnp.array([5, 0])].set(9).tolist() == [9, 2, 3]
    assert x.at[5].set(9, mode="clip").tolist() == [1, 2, 9]
    assert effax.jit(lambda x, i: x.at[i].set(9))(x, 5).tolist() == [1, 2, 3]
    assert effax.jit(lambda x, i: x.at[i].set(9))(x, -1).tolist() == [1, 2, 9]


def test_the_other_updates():
    x = jnp.array([1.0, 2.0, 4.0])
    twice = jnp.array([2, 2])
    assert x.at[twice].subtract(1.0).tolist() == [1, 2, 2]
    assert x.at[twice].divide(2.0).tolist() == [1, 2, 1]
    assert x.at[twice].power(2.0).tolist() == [1, 2, 256]
    assert x.at[twice].apply(lambda v: v + 1).tolist() == [1, 2, 6]
    assert x.at[1].apply(lambda v: -v).tolist() == [1, -2, 4]
    slope = effax.grad(lambda x: x.at[twice].apply(lambda v: v * v).sum())(x.astype(float))
    assert slope.tolist() == [1, 1, 4 * 4.0**3]
    assert x.at[1:].min(3.0).tolist() == [1, 2, 3]


def test_a_traced_mask_updates_but_does_not_select():
    x = jnp.arange(4.0)
    assert effax.jit(lambda x: x.at[x > 1].set(0.0))(x).tolist() == [0, 1, 0, 0]
    with pytest.raises(NonConcreteBooleanIndexError):
        effax.jit(lambda x: x[x > 1])(x)


def test_traced_integers_index_under_every_transform():
    x = jnp.arange(6.0).reshape(2, 3)
    assert effax.jit(lambda i: x[i])(1).tolist() == [3, 4, 5]
    assert effax.vmap(lambda row, i: row[i])(x, jnp.array([2, 0])).tolist() == [2, 3]
    assert effax.grad(lambda x: x[jnp.array([0, 0])].sum())(x).tolist() == [[2, 2, 2], [0, 0, 0]]
    gradient = effax.vmap(effax.grad(lambda row, i: row[i] ** 2), (0, 0))(x, jnp.array([2, 0]))
    assert gradient.tolist() == [[0, 0, 4], [6, 0, 0]]


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        ([0, 1], TypeError, "non-tuple sequence"),
        (0.5, TypeError, "integer or boolean type"),
        (np.ones(2), TypeError, "integer or boolean type"),
        ("a", TypeError, "string indexing"),
        ((0,) * 4, IndexError, "Too many indices: array is 3-dimensional, but 4 were indexed"),
        ((..., ...), IndexError, "single ellipsis"),
        (np.array([True, False]), IndexError, "boolean index did not match"),
        ((np.array([0, 1]), np.array([0, 1, 2])), ValueError, "Incompatible shapes"),
    ],
)
def test_refusals(index, error, words):
    with pytest.raises(error, match=words):
        jnp.asarray(X)[index]
    with pytest.raises(error, match=words):
        jnp.asarray(X).at[index].set(0)


def test_traced_bounds_of_a_slice_are_refused_with_what_to_write():
    with pytest.raises(IndexError, match=r"static integers.*lax\.dynamic_slice"):
        effax.jit(lambda x, n: x[:n])(X, 2)


def test_updates_that_do_not_fit_say_both_shapes():
    with pytest.raises(ValueError, match=r"\(2,\) and requested shape \(4, 5\)"):
        jnp.asarray(X).at[0].set(np.ones(2))
    with pytest.warns(FutureWarning, match="cannot safely cast"):
        jnp.arange(3).at[0].set(1.5)


def test_taking_and_putting():
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    i = np.array([[1], [0], [3]])
    np.testing.assert_array_equal(
        jnp.take_along_axis(x, i, axis=1), np.take_along_axis(x, i, axis=1)
    )
    expected = x.copy()
    np.put_along_axis(expected, i, 9, axis=1)
    np.testing.assert_array_equal(jnp.put_along_axis(x, i, 9, axis=1, inplace=False), expected)
    np.testing.assert_array_equal(jnp.take(x, i, axis=1), np.take(x, i, axis=1))
    with pytest.raises(ValueError, match="immutable"):
        jnp.put(x, 0, 0)
    with pytest.raises(IndexError, match="empty axis"):
        jnp.take(jnp.zeros(0), 0)


def test_choices():
    x = jnp.arange(-3, 4)
    assert jnp.select([x < 0, x > 1], [-x, x * 10], -1).tolist() == [3, 2, 1, -1, -1, 20, 30]
    assert jnp.piecewise(x, [x < 0, x > 1], [lambda v: -v, 5]).tolist() == [3, 2, 1, 0, 0, 5, 5]
    assert jnp.choose(jnp.array([1, 0]), jnp.array([[1, 2], [3, 4]])).tolist() == [3, 2]
    with pytest.raises(ValueError, match="invalid entry"):
        jnp.choose(jnp.array([2]), [1, 2])


def test_vectorize_maps_all_but_core_axes():
    matvec = jnp.vectorize(jnp.dot, signature="(m,n),(n)->(m)")
    a, b = np.ones((5, 1, 2, 3), np.float32), np.ones((4, 3), np.float32)
    np.testing.assert_allclose(matvec(a, b), np.einsum("abmn,bn->abm", a.repeat(4, 1), b))
    with pytest.raises(ValueError, match="inconsistent size for core dimension 'n'"):
        matvec(np.ones((2, 3)), np.ones(4))
    with pytest.raises(ValueError, match="not a valid gufunc signature"):
        jnp.vectorize(jnp.dot, signature="(m,n->m")


@pytest.mark.parametrize(
    "index", [-4, 4, np.s_[:, 4], np.s_[..., -4], np.s_[np.arange(3), 6, None]]
)
def test_known_positions_outside_are_refused_if_asked_for(index):
    x = jnp.zeros((2, 3))
    bounds = "out of bounds for axis [01] with size [23]"
    before = x[index]
    with check_static_indices(True):
        for read in (
            lambda x: x[index],
            effax.jit(lambda x: x[index]),
            lambda x: x.at[index].get(),
        ):
            with pytest.raises(IndexError, match=bounds):
                read(x)
        np.testing.assert_array_equal(x.at[index].get(mode="clip"), before)
        assert x.at[index].set(1).sum() == 0
        assert x[1, -3] == 0
    np.testing.assert_array_equal(x[index], before)


def test_iterating_often_gives_the_same():
    """From the 500th time on a short array is taken apart by one executable."""
    x = jnp.arange(6.0).reshape(3, 2)
    for _ in range(520):
        rows = list(x)
    assert [row.tolist() for row in rows] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert all(row.shape == (2,) and not row.weak_type for row in rows)
    _, second, _ = 2 * x
    assert second.tolist() == [4.0, 6.0]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(jnp.float32(1))
