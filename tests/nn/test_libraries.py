"""The example libraries: a network learns, and optimisers do what their formulas say."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.example_libraries import optimizers, stax


def test_a_network_learns():
    key = effax.random.key(0)
    x = np.random.default_rng(0).normal(size=(64, 6, 6, 1)).astype(np.float32)
    labels = (x.mean((1, 2, 3)) > 0).astype(np.int32)
    init, apply = stax.serial(
        stax.Conv(4, (3, 3), padding="SAME"),
        stax.BatchNorm(),
        stax.Relu,
        stax.AvgPool((2, 2), strides=(2, 2)),
        stax.Flatten,
        stax.Dense(2),
        stax.LogSoftmax,
    )
    shape, params = init(key, (-1, 6, 6, 1))
    assert shape == (-1, 2)
    assert apply(params, x).shape == (64, 2)

    def loss(params):
        return -jnp.mean(apply(params, x)[jnp.arange(64), labels])

    start, update, get = optimizers.adam(0.05)
    state = start(params)
    step = effax.jit(lambda i, s: update(i, effax.grad(loss)(get(s)), s))
    before = float(loss(params))
    for i in range(30):
        state = step(i, state)
    assert float(loss(get(state))) < 0.3 * before


@pytest.mark.parametrize(
    ("make", "args"),
    [
        ("sgd", (0.1,)),
        ("momentum", (0.05, 0.9)),
        ("nesterov", (0.05, 0.9)),
        ("adagrad", (0.5,)),
        ("rmsprop", (0.05,)),
        ("rmsprop_momentum", (0.02,)),
        ("adam", (0.1,)),
        ("adamax", (0.1,)),
        ("sm3", (0.5,)),
    ],
)
def test_optimisers_find_the_bottom_of_a_bowl(make, args):
    params = {"a": np.array([1.0, -2.0], np.float32), "b": np.ones((2, 2), np.float32)}
    start, update, get = getattr(optimizers, make)(*args)
    state = start(params)
    for i in range(150):
        state = update(i, get(state), state)  # the gradient of half the square
    assert optimizers.l2_norm(get(state)) < 0.3
    packed = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
    np.testing.assert_array_equal(get(packed)["a"], get(state)["a"])


def test_gradients_of_another_tree_are_refused():
    start, update, _ = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match="the gradients must have the tree"):
        update(0, [1.0], start({"a": 1.0}))


def test_dropout_asks_for_a_key():
    _, apply = stax.Dropout(0.5)
    with pytest.raises(ValueError, match="rng=key"):
        apply((), np.ones(3))
    kept = np.asarray(apply((), np.ones(1000, np.float32), rng=effax.random.key(0)))
    assert set(kept) == {0.0, 2.0}


def test_segments_and_what_is_gone():
    data, ids = np.arange(6.0, dtype=np.float32), np.array([0, 1, 1, 3, 9, 0])
    np.testing.assert_array_equal(effax.ops.segment_sum(data, ids, 4), [5, 3, 0, 3])
    np.testing.assert_array_equal(effax.ops.segment_max(data, ids, 4), [5, 2, -np.inf, 3])
    one_for_all = effax.ops.segment_sum(2.0, ids, 4)
    np.testing.assert_array_equal(one_for_all, [4, 4, 0, 2])
    np.testing.assert_array_equal(
        effax.ops.segment_sum(np.float32([[2]]), ids, 4)[:, 0], one_for_all
    )
    slope = effax.grad(lambda d: (effax.ops.segment_sum(d, ids, 4) ** 2).sum())(data)
    np.testing.assert_array_equal(slope, [10, 6, 6, 6, 0, 10])
    with pytest.raises(ValueError, match="num_segments"):
        effax.jit(effax.ops.segment_sum)(data, ids)
    with pytest.raises(AttributeError, match=r"\.at\[idx\]\.add\(y\)"):
        effax.ops.index_add  # noqa: B018


def test_a_tree_as_a_vector():
    tree = {"a": np.ones((2, 2), np.float32), "b": (np.int32(3), 2.0)}
    flat, back = effax.flatten_util.ravel_pytree(tree)
    assert flat.shape == (6,)
    again = back(flat)
    assert again["b"][0].dtype == np.int32
    with pytest.raises(ValueError, match="shape"):
        back(flat[:3])


@pytest.mark.parametrize("second", [np.float32(2), np.int32(2)])
def test_what_takes_vectors_apart_is_equal_for_equal_trees(second):
    """As probdiffeq has it in the structure of what its loops carry; and `jit` in its cache."""
    trees = [{"a": np.full(2, i, np.float32), "b": second} for i in range(2)]
    (first, one), (_, other) = map(effax.flatten_util.ravel_pytree, trees)
    assert one == other and hash(one) == hash(other)
    _, another = effax.flatten_util.ravel_pytree({"a": np.ones(3, np.float32), "b": second})
    assert another != one
    traced = []

    def f(unravel, x):
        traced.append(x)
        return unravel(x)["a"]

    apart = effax.jit(f, static_argnums=0)
    np.testing.assert_array_equal(apart(one, first), apart(other, first))
    assert len(traced) == 1


def test_states_of_optimizers_are_compared_by_what_they_hold():
    state = optimizers.momentum(0.1, 0.9)[0](jnp.zeros(3))
    assert optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state)) == state
