"""The methods of ufuncs against NumPy's."""

import copy
import pickle

import numpy as np
import pytest

import effax
import effax.numpy as jnp

random = np.random.default_rng(11)
F = random.normal(size=(4, 3)).astype(np.float32)
N = random.integers(-9, 10, (4, 3)).astype(np.int32)
B = random.integers(0, 2, (4, 3)).astype(bool)
MASK = random.integers(0, 2, (4, 3)).astype(bool)
NAMES = """add multiply subtract maximum minimum logical_and logical_or logical_xor bitwise_and
bitwise_or bitwise_xor logaddexp logaddexp2""".split()  # noqa: SIM905
DIRECTED = ["subtract"]
CASES = [
    (name, x)
    for name in NAMES
    for x in (F, N, B)
    if not (name.startswith("bitwise") and x is F)
    and not (name.startswith("logadd") and x is not F)
    and not (name == "subtract" and x is B)
]
IDS = [f"{name}-{x.dtype}" for name, x in CASES]


def close(found, wanted):
    found = np.asarray(found)
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name, x", CASES, ids=IDS)
def test_reduce(name, x):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    for axis in (0, 1, -1):
        for keepdims in (False, True):
            wanted = theirs.reduce(x, axis=axis, keepdims=keepdims)
            close(ours.reduce(x, axis=axis, keepdims=keepdims), wanted)
    close(effax.jit(ours.reduce)(x), theirs.reduce(x))
    close(effax.vmap(ours.reduce)(x), theirs.reduce(x, axis=1))
    if name in DIRECTED:
        close(ours.reduce(x, axis=None), theirs.reduce(x.ravel()))
        return
    close(ours.reduce(x, axis=None), theirs.reduce(x, axis=None))
    close(ours.reduce(x, axis=(0, 1)), theirs.reduce(x, axis=(0, 1)))
    close(ours.reduce(x, where=MASK, initial=1), theirs.reduce(x, where=MASK, initial=1))


@pytest.mark.parametrize("name, x", CASES, ids=IDS)
def test_accumulate(name, x):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    for axis in (0, 1, -1):
        close(ours.accumulate(x, axis=axis), theirs.accumulate(x, axis=axis))
    close(effax.vmap(ours.accumulate)(x), theirs.accumulate(x, axis=1))


@pytest.mark.parametrize("name, x", CASES, ids=IDS)
def test_outer(name, x):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    close(ours.outer(x, x[0]), theirs.outer(x, x[0]))
    close(ours.outer(x, x[0, 0]), theirs.outer(x, x[0, 0]))


@pytest.mark.parametrize("name, x", CASES, ids=IDS)
def test_reduceat(name, x):
    if name.startswith("logical") and x is not B:
        pytest.skip("the result has the dtype of the array, as in JAX")
    ours, theirs = getattr(jnp, name), getattr(np, name)
    dtype = None if theirs.reduce(x).dtype == x.dtype else x.dtype
    for axis, places in ((0, [0, 2]), (0, [3, 1, 2, 0, 2]), (1, [1, 1, 2])):
        indices = np.array(places)
        wanted = theirs.reduceat(x, indices, axis=axis, dtype=dtype if x.dtype == bool else None)
        close(ours.reduceat(x, indices, axis=axis), wanted.astype(x.dtype))
        close(effax.jit(lambda x, i, a=axis: ours.reduceat(x, i, axis=a))(x, indices), wanted)


@pytest.mark.parametrize("name, x", CASES, ids=IDS)
def test_at(name, x):
    ours, theirs = getattr(jnp, name), getattr(np, name)
    other = x[::-1, 0]
    for indices, b in (
        (np.array([0, 2, 0, 0]), x[:, :1] if x is not B else B[:, :1]),
        ((np.array([1, -1, 1]), np.array([2, 0, 2])), other[:3]),
        (2, other[0]),
        ((slice(None), np.array([1, 1])), x[:, :2]),
    ):
        wanted = x.copy()
        theirs.at(wanted, indices, b)
        found = ours.at(x, indices, b, inplace=False)
        close(np.asarray(found).astype(x.dtype), wanted if found.dtype != bool else wanted != 0)


def test_positions_outside_are_left_out():
    found = jnp.logaddexp.at(np.zeros(3, np.float32), np.array([0, 7]), 0.0, inplace=False)
    close(found, [np.log(2), 0, 0])


def test_a_function_of_one():
    wanted = F.copy()
    np.negative.at(wanted, [0, 2])
    close(jnp.negative.at(F, np.array([0, 2]), inplace=False), wanted)
    for method in ("reduce", "accumulate"):
        with pytest.raises(ValueError, match="binary"):
            getattr(jnp.negative, method)(F)
    with pytest.raises(ValueError, match="binary"):
        jnp.negative.outer(F, F)


def test_dtypes_are_those_of_the_functions():
    small = np.array([100, 100, 7], np.int8)
    assert jnp.add.reduce(small).dtype == np.int32
    assert jnp.add.accumulate(small).dtype == np.int8
    assert jnp.maximum.reduce(small, dtype=np.float32).dtype == np.float32
    assert jnp.subtract.reduce(F, dtype=np.int32).dtype == np.int32
    assert jnp.logical_and.reduce(F).dtype == bool
    assert jnp.logical_and.reduce(B, dtype=np.int32).dtype == np.int32
    assert jnp.multiply.outer(2, 3).weak_type


def test_a_function_of_the_user():
    def gauge(x, y):
        return x + 2 * y

    ours, theirs = jnp.frompyfunc(gauge, 2, 1, identity=0), np.frompyfunc(gauge, 2, 1)
    assert (ours.nin, ours.nout, ours.nargs, ours.identity) == (2, 1, 2, 0)
    close(ours(N, N[0]), N + 2 * N[0])
    close(ours.outer(N[0], N[1]), theirs.outer(N[0], N[1]).astype(int))
    close(ours.accumulate(N), theirs.accumulate(N, dtype=object).astype(int))
    close(ours.reduce(N), 2 * N.sum(0))
    bare = jnp.frompyfunc(gauge, 2, 1)
    close(bare.reduce(N), N[0] + 2 * N[1:].sum(0))
    close(bare.reduce(N, axis=1, keepdims=True), (N[:, 0] + 2 * N[:, 1:].sum(1))[:, None])
    close(bare.at(N, 0, 3, inplace=False)[0], N[0] + 6)
    assert bare == jnp.frompyfunc(gauge, 2, 1) != ours
    assert hash(bare) == hash(jnp.frompyfunc(gauge, 2, 1))


def test_functions_of_more_results():
    both = jnp.frompyfunc(lambda x, y: (x + y, x - y), 2, 2)
    close(both(N, N[0])[1], N - N[0])
    for method in ("reduce", "accumulate"):
        with pytest.raises(ValueError, match="single value"):
            getattr(both, method)(N)


def test_derivatives_go_through():
    wanted = np.where(np.arange(4)[:, None] == 0, 1.0, -1.0) * np.ones(3)
    close(effax.grad(lambda x: jnp.sum(jnp.subtract.reduce(x)))(F), wanted)
    change = effax.grad(lambda x: jnp.logaddexp.reduce(x, axis=None))(F)
    close(change, np.exp(F) / np.exp(F).sum())
    close(effax.grad(lambda x: jnp.sum(jnp.add.reduceat(x, np.array([0, 2]))))(F), np.ones_like(F))


def test_it_is_a_ufunc():
    assert isinstance(jnp.add, jnp.ufunc)
    assert not isinstance(jnp.divide, jnp.ufunc)
    assert repr(jnp.add) == "<jnp.ufunc 'add'>"
    assert jnp.add.__name__ == "add"
    assert pickle.loads(pickle.dumps(jnp.add)) is jnp.add
    assert copy.deepcopy(jnp.maximum) is jnp.maximum
    assert jnp.add.identity == 0
    assert jnp.maximum.identity is None
    assert jnp.add(1, 2, out=None, where=None) == 3


def test_refusals():
    for bad in (
        lambda: jnp.add.reduce(F, out=F),
        lambda: jnp.add(1, 2, out=3),
        lambda: jnp.add(1, 2, where=True),
        lambda: jnp.add.at(F, 0, 1.0),
        lambda: jnp.subtract.reduce(F, axis=(0, 1)),
    ):
        with pytest.raises(NotImplementedError):
            bad()
    for bad in (
        lambda: jnp.maximum.reduce(F, where=MASK),
        lambda: jnp.subtract.reduce(np.zeros(0)),
        lambda: jnp.subtract.accumulate(F, axis=None),
        lambda: jnp.bitwise_and.reduce(F),
        lambda: jnp.add.reduceat(F, 1),
        lambda: jnp.add.reduceat(F, np.array([0.5])),
        lambda: jnp.add.reduceat(F, np.array([0]), axis=None),
        lambda: jnp.add.reduce(3),
    ):
        with pytest.raises(ValueError):
            bad()
    for bad in (
        lambda: jnp.add(1),
        lambda: jnp.add(1, 2, 3),
        lambda: jnp.add.reduce([1, 2]),
        lambda: jnp.add.at(F, 0, inplace=False),
        lambda: jnp.frompyfunc(3, 1, 1),
        lambda: jnp.frompyfunc(abs, "a", 1),
    ):
        with pytest.raises(TypeError):
            bad()


def test_methods_broadcast_by_themselves_where_ranks_must_be_equal():
    a, b = np.arange(8.0).reshape(4, 2), np.arange(3.0)
    with effax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(jnp.subtract.outer(a, b), np.subtract.outer(a, b))
        found = jnp.subtract.reduceat(a, jnp.array([0, 2]))
    np.testing.assert_array_equal(found, np.subtract.reduceat(a, [0, 2]))
