"""Calls of jitted functions are found by functions written for their form; none is mistaken."""

import collections
import gc
import pickle
import weakref

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.effects import config

X, Y = jnp.arange(3.0), jnp.ones(3)


def total(*args, scale=1.0, **others):
    """Of all arrays and numbers in trees; statics that are strings count by their length."""
    leaves = effax.tree.leaves((args, others))
    return sum((len(x) if isinstance(x, str) else x for x in leaves), 0.0) * scale


class Counted:
    """A jitted `total` that knows how often it was traced."""

    def __init__(self, **options):
        self.traces = 0

        def function(*args, **keywords):
            self.traces += 1
            return total(*args, **keywords)

        self.jitted = effax.jit(function, **options)

    def check(self, args, keywords, new):
        """The call is right, three times over, and is traced at most so often."""
        before = self.traces
        for _ in range(3):
            found = self.jitted(*args, **keywords)
            np.testing.assert_allclose(found, np.asarray(total(*args, **keywords)), rtol=1e-6)
        assert self.traces <= before + new


def test_forms_alternate():
    f = Counted(static_argnames=("name",))
    calls = [
        ((X,), {}),
        ((X, Y), {}),
        ((X, 2.0), {}),
        ((X, np.ones(3, "f4")), {}),
        ((X, {"b": X, "a": Y}), {}),
        (([X, {"w": Y, "b": X}], (Y, None)), {}),
        (([X, {"w": 1.0, "b": np.ones(3)}], (Y, None)), {}),
        ((X,), {"scale": 2.0}),
        ((X,), {"scale": Y}),
        ((X,), {"name": "abc"}),
        ((X,), {"name": "abcd"}),
        ((X,), {"name": "ab", "scale": Y, "more": {"x": X}}),
        ((X, np.float32(2.0)), {}),
        ((), {"scale": Y}),
        ((X,) * 100, {}),
        ((X,) * 99 + (1.0,), {}),
    ]
    for args, keywords in calls:
        f.check(args, keywords, 1)
    assert f.traces == len(calls) - 1  # an array of NumPy's is of the type of one of ours
    for args, keywords in [*calls, *reversed(calls)]:
        f.check(args, keywords, 0)


def test_what_stands_at_an_argument_may_change():
    f = Counted()
    changing = (X, 2.0, np.ones(3, "f4"), {"a": X}, [X, 1.0], Y, np.arange(3), {"a": 1.0}, True, 3j)
    for x in changing:
        f.check((x, X), {}, 1)
    for x in changing:
        f.check((x, X), {}, 0)


def test_types_are_told_apart():
    f = effax.jit(lambda x: x)
    ones = [jnp.int32(1), jnp.float32(1), 1.0, 1, True, np.float32(1), 1j, np.ones(3, "i4")]
    for _ in range(2):
        assert " ".join(repr(f(x).aval) for x in ones) == (
            "i32[] f32[] f32[]~weak i32[]~weak bool[] f32[] c64[]~weak i32[3]"
        )
    with effax.enable_x64(True):
        assert f(np.ones(3)).dtype == "float64"
    assert f(np.ones(3)).dtype == "float32"
    negative = effax.jit(lambda x: 1 / x)
    assert float(negative(-0.0)) == -np.inf and float(negative(0.0)) == np.inf
    assert float(negative(-0.0)) == -np.inf


@pytest.mark.parametrize("by_name", [False, True])
def test_statics_are_told_apart_by_type_and_value(by_name):
    seen = []

    def function(x, n=None):
        seen.append(n)
        return x

    f = effax.jit(function, static_argnames="n")
    for n in (1, 1.0, True, "1", (1, 2), None, 1, True, 1.0):
        f(X, n=n) if by_name else f(X, n)
    f(X)
    assert [(type(n), n) for n in seen[:6]] == [
        (type(n), n) for n in (1, 1.0, True, "1", (1, 2), None)
    ]
    assert len(seen) == 7  # not given is not None given
    with pytest.raises(ValueError, match="Non-hashable static"):
        f(X, n=[1]) if by_name else f(X, [1])
    with pytest.raises(TypeError, match="abstract array"):
        f("text", n=1)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f(n=1)
    with pytest.raises(TypeError, match="positional argument"):
        f(X, 1, 2)


def test_keys_of_dicts():
    f = effax.jit(lambda d: {k: v * 2 for k, v in d.items()})
    for tree in ({"b": X, "a": Y}, {"a": Y, "b": X}, {"b": X, "a": Y}):
        for _ in range(2):
            found = f(tree)
            assert list(found) == ["a", "b"]
            np.testing.assert_array_equal(found["b"], X * 2)
            np.testing.assert_array_equal(found["a"], Y * 2)
    assert list(f({"b": X})) == list(f({"b": X})) == ["b"]
    assert list(f({"c": X, "a": Y})) == ["a", "c"]
    assert f({}) == f({}) == {}
    for _ in range(2):
        ordered = f(collections.OrderedDict(b=X, a=Y))
        assert type(ordered) is dict
        np.testing.assert_array_equal(ordered["b"], X * 2)
        np.testing.assert_array_equal(f({"b": X, "a": Y})["b"], X * 2)
    with pytest.raises((TypeError, ValueError)):
        f({"a": X, 1: Y})


def test_results_have_their_trees():
    results = [
        lambda x: x,
        lambda x: (x, x + 1),
        lambda x: [x, x + 1],
        lambda x: {"b": x, "a": (x, None)},
        lambda x: {"b": x, "a": x + 1},
        lambda x: (),
        lambda x: None,
        lambda x: ((x,), [x]),
        lambda x: collections.namedtuple("Pair", "a b")(x, x + 1),
    ]
    for function in results:
        f = effax.jit(function)
        for found in (f(X), f(X), f(X)):
            assert str(effax.tree.structure(found)) == str(effax.tree.structure(function(X)))
            for one, other in zip(
                effax.tree.leaves(found), effax.tree.leaves(function(X)), strict=True
            ):
                np.testing.assert_array_equal(one, other)


def test_arrays_of_numpys_are_copied(monkeypatch):
    f = effax.jit(lambda x, y: x + y)
    x, y = np.zeros(64, "f4"), np.ones(64, "f4")
    results = []
    for i in range(5):
        results.append(f(x, y))
        x[:] = i + 1
    for i, found in enumerate(results):
        np.testing.assert_array_equal(found, np.full(64, i + 1.0))
    np.testing.assert_array_equal(f(x[::2], y[::2]), f(x, y)[::2])
    np.testing.assert_array_equal(f(x.reshape(8, 8).T, y.reshape(8, 8)), np.full((8, 8), 6.0))
    swapped = np.arange(3, dtype=">f4")
    for _ in range(3):
        np.testing.assert_array_equal(f(swapped, swapped), 2.0 * np.arange(3))
        with pytest.raises(TypeError, match=r"abstract array|valid effax array type"):
            f(np.array(["a"]), np.array(["b"]))
    monkeypatch.setattr(config, "guarded", config.guarded)  # it would stay, for other tests
    with effax.transfer_guard_host_to_device("disallow_explicit"), pytest.raises(RuntimeError):
        f(x, y)


def test_what_is_donated_is_nobody_elses():
    f = effax.jit(lambda state, x: state + x, donate_argnums=0)
    for _ in range(3):
        state = Y + 0
        np.testing.assert_array_equal(f(state, X), [1, 2, 3])
        assert state.is_deleted()
        with pytest.raises(RuntimeError, match="deleted"):
            f(state, X)
        assert float(f(2.0, 1.0)) == 3.0
        np.testing.assert_array_equal(f(np.ones(3, "f4"), X), [1, 2, 3])


def test_names_that_could_be_mistaken():
    f = Counted()
    odd = [{"class": X}, {"a b": X}, {"__a0": X}, {"__debug__": X}, {"ﬁ": X}, {"call": X}]
    for keywords in [*odd, {"__rest": X, "self": Y}, {"args": X, "find": Y, "type": X}]:
        f.check((Y,), keywords, 1)
        f.check((Y,), keywords, 0)


def test_under_transforms_and_again():
    f = effax.jit(lambda x, n, y=1.0: jnp.sin(x) ** n * y, static_argnums=1)
    for _ in range(3):
        np.testing.assert_allclose(f(X, 2, y=X), np.sin(X) ** 2 * np.asarray(X), rtol=1e-6)
        np.testing.assert_allclose(effax.vmap(lambda x: f(x, 2, y=x))(X), f(X, 2, y=X), rtol=1e-6)
        np.testing.assert_allclose(effax.grad(lambda x: f(x, 2))(1.0), np.sin(2.0), rtol=1e-5)
        np.testing.assert_allclose(effax.jit(lambda x: f(x, 2))(X), f(X, 2), rtol=1e-6)


def test_caches_are_shared_and_cleared():
    f = Counted()
    again = effax.jit(f.jitted.__wrapped__)
    f.check((X, 1.0), {}, 1)
    assert float(again(X, 1.0)[0]) == 1.0 and f.traces == 1
    effax.clear_caches()
    f.check((X, 1.0), {}, 1)
    assert float(again(X, 1.0)[0]) == 1.0 and f.traces == 2


def test_it_goes_when_nobody_has_it():
    held = jnp.arange(5.0)
    f = effax.jit(lambda x: x + held)
    f(X[0]), f(X[0])
    gone = weakref.ref(f)
    gc.disable()
    try:
        del f
        assert gone() is None
    finally:
        gc.enable()
    call = effax.jit(lambda x: x + held).__call__  # the function alone, of a jit that is gone
    for _ in range(3):
        np.testing.assert_array_equal(call(1.0), held + 1)
        np.testing.assert_array_equal(call(X[1]), held + 1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(effax.jit(jnp.sin)))(X), jnp.sin(X))
