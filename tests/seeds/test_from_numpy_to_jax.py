"""Seed 002, "From NumPy to JAX": arrays, random keys, `jit`, `grad`, `jvp`, `vjp` and `vmap`.

Every program, only its import line changed; `%timeit f(x)` is a call. The rest of the document
(`checkify`, the `minimize` programs, pytrees) is in test_from_numpy_to_jax_errors_and_loops.py.
"""

from functools import partial

import numpy as np
import pytest

import effax as jax
import effax.numpy as jnp


def same(actual, expected):
    """Equal up to float32 rounding, and the same shape."""
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("xp", [np, jnp], ids=["np", "jnp"])
def test_array_creation(xp):
    arr = xp.array([1, 2, 3])
    assert (arr.ndim, arr.shape, arr.tolist()) == (1, (3,), [1, 2, 3])
    same(xp.zeros(3), [0.0, 0.0, 0.0])
    same(xp.ones((2, 3)), [[1.0] * 3] * 2)
    assert xp.zeros(3).dtype == (np.float64 if xp is np else np.float32)


@pytest.mark.parametrize("xp", [np, jnp], ids=["np", "jnp"])
def test_array_arithmetic(xp):
    data = xp.array([1, 2])
    ones = xp.ones_like(data)
    assert (data - ones).tolist() == [0, 1]
    assert (data * ones).tolist() == [1, 2]
    assert (data / ones).tolist() == [1.0, 2.0]
    assert (data / ones).dtype == (np.float64 if xp is np else np.float32)


def test_there_is_no_recarray():
    with pytest.raises(AttributeError, match="recarray"):
        jnp.recarray  # noqa: B018  There is not analogue to numpy.recarray in JAX.


def test_random_state_in_numpy():
    assert np.random.normal(size=(2, 3)).shape == (2, 3)
    rng = np.random.RandomState(42)
    assert not np.array_equal(rng.normal(size=(2, 3)), rng.normal(size=(2, 3)))


def test_random_keys(capsys):
    key = jax.random.PRNGKey(42)
    print(key)
    assert capsys.readouterr().out == "[ 0 42]\n"

    first = jax.random.normal(key, (2, 3))
    again = jax.random.normal(key, (2, 3))
    assert first.tolist() == again.tolist()
    same(first, FIRST)

    key, subkey = jax.random.split(key)
    same(jax.random.normal(subkey, (2, 3)), AFTER_SPLIT)

    key, *subkeys = jax.random.split(key, 9)
    assert len(subkeys) == 8
    for i, subkey in enumerate(subkeys, 1):
        print(f"sample #{i}:", jax.random.normal(subkey))

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"sample #{i}" for i in range(1, 9)]
    same([float(line.split(":")[1]) for line in lines], SAMPLES)


def selu(x, alpha=1.67, lambda_=1.05):
    return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def test_selu():
    inp = np.arange(100.0)
    same(selu(inp), 1.05 * inp)

    inp = jnp.arange(100.0)
    same(selu(inp).block_until_ready(), 1.05 * np.arange(100.0))

    selu_jit = jax.jit(selu)
    inp = jnp.arange(100.0)
    same(selu_jit(inp).block_until_ready(), 1.05 * np.arange(100.0))

    inp = jnp.linspace(-3.0, 0.0, 7)
    same(selu_jit(inp), 1.05 * 1.67 * np.expm1(np.linspace(-3, 0, 7)))


def sgd(params, updates, learning_rate):
    return learning_rate * updates


def weighted(params, updates, l2):
    return params + l2 * updates


def make_sgd(learning_rate=1e-1, l2=1e-5):
    if l2 == 0.0:
        return partial(sgd, learning_rate=learning_rate)

    def fn(params, updates):
        updates = weighted(params, updates, l2)
        updates = sgd(params, updates, learning_rate)
        return updates

    return fn


@pytest.mark.parametrize("l2", [1e-5, 0.0])
def test_composed_optimizer(l2):
    opt_fn = make_sgd(l2=l2)
    params = np.random.normal(size=(1000,))
    updates = np.random.normal(size=(1000,))
    expected = opt_fn(params, updates)

    opt_fn_jit = jax.jit(opt_fn)
    params = jnp.array(params)
    updates = jnp.array(updates)
    result = opt_fn_jit(params, updates).block_until_ready()

    assert result.dtype == np.float32
    same(result, expected)


def objective(params):
    return (params**2).sum()


def objective_grad(params):
    return 2 * params.sum()


def test_gradients(capsys):
    xs = jnp.array([1, 2], jnp.float32)
    same(objective(xs), 5.0)
    same(jax.grad(objective)(xs), [2.0, 4.0])
    same(objective_grad(xs), 6.0)

    value, grad = jax.value_and_grad(objective)(xs)
    print("value:", value)
    print("grad:", grad)
    assert capsys.readouterr().out == "value: 5.0\ngrad: [2. 4.]\n"


def test_second_and_third_derivative():
    xs = jnp.array([1, 2], jnp.float32)
    same(jax.jacobian(jax.grad(objective))(xs), [[2.0, 0.0], [0.0, 2.0]])
    same(jax.jacobian(jax.jacobian(jax.grad(objective)))(xs), np.zeros((2, 2, 2)))
    same(jax.jit(jax.jacobian(jax.jacobian(jax.grad(objective))))(xs), np.zeros((2, 2, 2)))


def test_jvp_and_vjp():
    xs = jnp.array([1, 2], jnp.float32)
    value, tangent = jax.jvp(objective, (xs,), (jnp.array([1.0, -1.0]),))
    same(value, 5.0)
    same(tangent, -2.0)
    value, pullback = jax.vjp(objective, xs)
    same(value, 5.0)
    (cotangent,) = pullback(jnp.float32(3.0))
    same(cotangent, [6.0, 12.0])


def test_vectorisation():
    mat = jnp.diag(jnp.arange(10.0))[:5]
    expected = np.diag(np.arange(10.0))[:5]
    same(mat, expected)
    same(mat.sum(axis=0), expected.sum(axis=0))
    same(jax.vmap(lambda x: x.sum(), in_axes=(0,))(mat), expected.sum(axis=1))
    same(mat.sum(axis=1), expected.sum(axis=1))
    same(jax.vmap(lambda x: x.sum(), in_axes=(1,))(mat), expected.sum(axis=0))


def test_jacobian_from_vmap():
    """The document stops at `jax.vmap(lambda x: jax.grad)`; its sentence is carried out here."""
    xs = jnp.array([1, 2], jnp.float32)
    assert callable(jax.vmap(lambda x: jax.grad))

    gradient = jax.grad(objective)
    _, pullback = jax.vjp(gradient, xs)
    (jacobian,) = jax.vmap(pullback)(jnp.eye(2))
    same(jacobian, jax.jacobian(gradient)(xs))


def test_nested_transformations():
    """`jax.vmap(jax.jit(jax.vmap(jax.grad(...))))`, the document's own example of composition."""
    grid = np.linspace(-2, 2, 12).reshape(3, 4).astype("f4")
    result = jax.vmap(jax.jit(jax.vmap(jax.grad(lambda x: jnp.sin(x) * x))))(grid)
    same(result, np.cos(grid) * grid + np.sin(grid))


# What JAX 0.10 draws for these programs (threefry, `jax_threefry_partitionable` on).
FIRST = np.array([[-0.028304616, 0.46713185, 0.29570296], [0.15354592, -0.12403282, 0.21692315]])
AFTER_SPLIT = np.array([[0.60576403, 0.7990441, -0.908927], [-0.63525754, -1.2226585, -0.83226097]])
SAMPLES = np.array(
    [-0.21089035, -1.8259704, -1.0296261, 0.19937558, 0.16376956, 0.3752015, 0.10951076, 0.91459966]
)
