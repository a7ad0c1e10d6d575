"""References eagerly: read, written, added to, refused. NumPy's arrays are the oracle."""

import copy
import pickle

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.effects.errors import RefError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

INDICES = {
    "all": ...,
    "none": (),
    "integer": 1,
    "negative": -1,
    "integers": (1, 2, 3),
    "slice": slice(0, 1),
    "slices": (slice(None), slice(1, 3), slice(0, 4, 2)),
    "backwards": (slice(None), slice(None, None, -1)),
    "ellipsis": (..., 2),
    "array": np.array([1, 0, 1]),
    "arrays": (np.array([0, 1]), slice(None), np.array([3, 0])),
    "mask": np.array([True, False]),
    "mixed": (1, slice(None), np.array([2, 3])),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("how", ["eager", "jit"])
def test_reads_and_writes_are_numpys(index, how):
    run = effax.jit if how == "jit" else (lambda f: f)
    ref = effax.new_ref(jnp.asarray(X))
    np.testing.assert_array_equal(run(lambda r: r[index])(ref), X[index])
    expected = X.copy()
    value = 100 + np.random.default_rng(0).normal(size=X[index].shape).astype(np.float32)
    run(lambda r, v: r.__setitem__(index, v))(ref, value)
    expected[index] = value
    np.testing.assert_array_equal(ref[...], expected)
    before = run(lambda r, v: effax.ref.swap(r, index, v))(ref, -value)
    np.testing.assert_array_equal(before, expected[index])
    expected[index] = -value
    np.testing.assert_array_equal(ref[...], expected)
    run(lambda r, v: effax.ref.addupdate(r, index, v))(ref, value)
    np.add.at(expected, index, value)
    np.testing.assert_allclose(ref[...], expected, rtol=1e-6)


def test_an_index_known_when_it_runs_is_moved_inside():
    ref = effax.new_ref(jnp.arange(3.0))
    write = effax.jit(lambda r, i: r.__setitem__(i, 9.0))
    read = effax.jit(lambda r, i: r[i])
    for i, inside in [(1, 1), (7, 2), (-1, 2)]:
        write(ref, i)
        assert float(ref[inside]) == 9.0 == float(read(ref, i))
        ref[inside] = 0.0


def test_parts_of_parts():
    ref = effax.new_ref(jnp.asarray(X))
    part = ref.at[1].at[1:]
    assert part.shape == (2, 4) and part.dtype == np.float32 and part.size == 8 and part.ndim == 2
    np.testing.assert_array_equal(part[...], X[1][1:])
    np.testing.assert_array_equal(effax.ref.get(part, 0), X[1][1:][0])
    expected = X.copy()
    part[0] = jnp.ones(4)
    expected[1][1:][0] = 1
    part.set(jnp.zeros(4), 1)
    expected[1][1:][1] = 0
    effax.ref.addupdate(part.at[0], 2, 5.0)
    expected[1][1:][0][2] += 5
    assert float(part.swap(7.0, (0, 0))) == 1.0
    expected[1][1:][0][0] = 7
    np.testing.assert_array_equal(ref[...], expected)


def test_what_a_reference_says_of_itself():
    ref = effax.new_ref(jnp.asarray(X))
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((2, 3, 4), np.float32, 3, 24, 2)
    assert repr(ref.aval) == "Ref{f32[2,3,4]}"
    assert isinstance(ref, effax.Ref) and bool(ref)
    assert ref != effax.new_ref(jnp.asarray(X)) and {ref: 1}[ref] == 1
    assert repr(effax.new_ref(jnp.arange(3))) == "Ref([0, 1, 2], dtype=int32)"
    assert effax.tree.leaves({"a": ref}) == [ref]
    inside = effax.jit(lambda r: (isinstance(r, effax.Ref), r.shape == (2, 3, 4), len(r)))(ref)
    assert [int(x) for x in inside] == [1, 1, 2]


def test_methods_are_the_functions():
    ref = effax.new_ref(jnp.zeros(3))
    ref.set(1.0, 0)
    ref.addupdate(2.0, 0)
    assert float(ref.swap(5.0, 0)) == 3.0
    np.testing.assert_array_equal(ref.get(), [5, 0, 0])
    assert float(ref.get(0)) == 5.0


def test_the_first_value_is_not_changed():
    x, n = jnp.arange(3.0), np.arange(3.0, dtype=np.float32)
    for start in (x, n):
        ref = effax.new_ref(start)
        ref[0] = 9.0
        n[1] = 7.0
        np.testing.assert_array_equal(ref[...], [9, 1, 2])
        n[1] = 1.0
    np.testing.assert_array_equal(x, [0, 1, 2])


@pytest.mark.parametrize("start", [2, 2.0, np.float32(2), np.array(2.0, np.float32)])
def test_what_is_read_is_an_array_whatever_was_given(start):
    def read(x):
        ref = effax.new_ref(start)
        first = ref[...]
        ref[...] = np.asarray(start).astype(first.dtype)
        return first.reshape(1).at[0].add(1), ref[...].astype(np.float32) * x

    for run in (lambda f: f, effax.jit, effax.grad):
        if run is effax.grad:
            assert float(run(lambda x: read(x)[1])(3.0)) == 2.0
            continue
        first, second = run(read)(3.0)
        assert float(first[0]) == 3.0 and float(second) == 6.0


def test_what_was_read_is_not_changed():
    ref = effax.new_ref(jnp.zeros(3))
    bump = effax.jit(lambda r: r.__setitem__(..., r[...] + 1.0))
    seen = []
    for _ in range(4):
        bump(ref)
        bump(ref)
        seen.append(ref[...])
    assert [float(x[0]) for x in seen] == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(
    "start, value",
    [
        (np.float16, 1.5),
        (np.int8, 3),
        (np.uint8, 3),
        (np.float32, np.float64(2.0)),
        (np.complex64, 1j),
        (bool, True),
    ],
)
def test_numbers_take_the_dtype(start, value):
    ref = effax.new_ref(jnp.zeros(2, start))
    ref[0] = value
    assert ref.dtype == start and complex(ref[0]) == complex(value)


def test_weakness_is_the_references():
    weak, strong = effax.new_ref(1.0), effax.new_ref(jnp.float32(1))
    weak[...] = jnp.float32(2)
    strong[...] = 2.0
    assert weak[...].weak_type and not strong[...].weak_type


WRONG_VALUES = [
    (np.int32, 0, 1.5, "Invalid dtype.*int32.*float32"),
    (np.int32, ..., np.ones(3, np.float32), "Invalid dtype"),
    (np.int32, 0, True, "Invalid dtype"),
    (np.float32, 0, 2, "Invalid dtype"),
    (np.float32, 0, np.float16(2), "Invalid dtype"),
    (np.complex64, 0, 1.0, "Invalid dtype"),
    (np.float32, ..., 1.0, "Invalid shape"),
    (np.float32, slice(0, 2), np.ones(3, np.float32), "Invalid shape"),
    (np.float32, 0, np.ones(1, np.float32), "Invalid shape"),
    (np.float32, 7, 1.0, "Out of bound indexer: idx=7, dim=3"),
    (np.float32, (..., -4), 1.0, "Out of bound indexer"),
    (np.float32, (0, 0), 1.0, "must not be longer"),
]


@pytest.mark.parametrize("dtype, index, value, message", WRONG_VALUES)
def test_wrong_values_and_indices_are_refused(dtype, index, value, message):
    ref = effax.new_ref(jnp.zeros(3, dtype))

    def write(ref, value):
        ref[index] = value

    def add(ref, value):
        effax.ref.addupdate(ref, index, value)

    for use in (write, add):
        with pytest.raises(ValueError, match=message):
            use(ref, value)
        with pytest.raises(ValueError, match=message):
            effax.jit(lambda r, use=use: use(r, value))(ref)
    np.testing.assert_array_equal(ref[...], np.zeros(3))


MISUSES = {
    "operator": (lambda r: r + 1.0, TypeError),
    "in place": (lambda r: r.__iadd__(1.0), AttributeError),
    "function": (lambda r: jnp.sin(r), TypeError),
    "function in jit": (lambda r: effax.jit(jnp.sin)(r), TypeError),
    "where": (lambda r: jnp.where(True, r, 1.0), TypeError),
    "array": (lambda r: jnp.asarray(r), TypeError),
    "numpy": (lambda r: np.asarray(r), TypeError),
    "float": (lambda r: float(r), TypeError),
    "iteration": (lambda r: list(r), TypeError),
    "callback": (
        lambda r: effax.pure_callback(lambda x: x, effax.ShapeDtypeStruct((3,), "float32"), r),
        TypeError,
    ),
    "reference to one": (effax.new_ref, ValueError),
    "a reference as value": (lambda r: r.__setitem__(..., effax.new_ref(jnp.ones(3))), TypeError),
    "get of an array": (lambda r: effax.ref.get(r[...], 0), ValueError),
    "set of an array": (lambda r: effax.ref.set(r[...], 0, 1.0), ValueError),
    "freeze of an array": (lambda r: effax.freeze(r[...]), ValueError),
    "a list": (lambda r: effax.new_ref([1, 2]), TypeError),
    "memory space": (lambda r: effax.new_ref(1.0, memory_space="vmem"), NotImplementedError),
    "kind": (lambda r: effax.new_ref(1.0, kind="other"), ValueError),
    "text as index": (lambda r: r["a"], TypeError),
    "device_put": (effax.device_put, TypeError),
}


@pytest.mark.parametrize("use, error", MISUSES.values(), ids=MISUSES)
def test_misuses_are_named(use, error):
    with pytest.raises(error):
        use(effax.new_ref(jnp.zeros(3)))


def test_freeze_and_free():
    ref = effax.new_ref(jnp.arange(3.0))
    ref[0] = 5.0
    np.testing.assert_array_equal(effax.freeze(ref), [5, 1, 2])
    effax.free_ref(ref)
    for use in (
        lambda: ref[...],
        lambda: ref.__setitem__(0, 1.0),
        lambda: effax.freeze(ref),
        lambda: effax.jit(lambda r: r[0])(ref),
    ):
        with pytest.raises(RefError, match="free"):
            use()
    assert "Ref{f32[3]}" in repr(ref)

    @effax.jit
    def freed_inside():
        ref = effax.new_ref(0.0)
        effax.free_ref(ref)
        return ref[...]

    with pytest.raises(RefError, match="free"):
        freed_inside()
    with pytest.raises(RefError, match="where it was made"):
        effax.jit(effax.free_ref)(effax.new_ref(0.0))


def test_empty_ref():
    ref = effax.empty_ref(effax.ShapeDtypeStruct((2,), "int32"))
    ref[...] = jnp.array([1, 2])
    np.testing.assert_array_equal(ref[...], [1, 2])


def test_copies_and_pickles_are_apart():
    ref = effax.new_ref(jnp.zeros(2))
    for other in (copy.copy(ref), copy.deepcopy(ref), pickle.loads(pickle.dumps(ref))):
        other[0] = 1.0
        np.testing.assert_array_equal(ref[...], [0, 0])
        np.testing.assert_array_equal(other[...], [1, 0])


def test_64_bits():
    with effax.enable_x64(True):
        ref = effax.new_ref(jnp.zeros(2, np.float64))
        ref[0] = 1e-300
        effax.jit(lambda r: r.__setitem__(1, r[0]))(ref)
        np.testing.assert_array_equal(ref[...], [1e-300, 1e-300])


def test_all_names_are_in_the_module():
    assert effax.ref.new_ref is effax.new_ref and effax.ref.Ref is effax.Ref
    assert effax.ref.freeze is effax.freeze and effax.ref.free_ref is effax.free_ref
