"""Seed 001, "JAX, its evolution and motivation": every program, only its import line changed.

The 10000 × 10000 array becomes 500 × 500. The document shows the deep-learning code as pictures
and describes it in words: "a series of dot products and activation functions", a mean-squared
loss, then the same with `jax.numpy`, `grad`, `jit`, `vmap`. It is written out from that.
"""

import itertools

import numpy as np

import effax as jax
import effax.numpy as jnp
from effax import grad, jit, vmap


def fn(x):
    return x + x * x + x * x * x


def test_sum_of_powers_in_numpy_and_jitted():
    x = np.random.randn(500, 500).astype(dtype="float32")
    expected = fn(x)

    jax_fn = jit(fn)
    x = jnp.array(x)
    result = jax_fn(x).block_until_ready()

    assert isinstance(result, jax.Array)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(fn(x), expected, rtol=2e-5, atol=1e-5)


def predict(params, inputs):
    for weights, biases in params:
        outputs = jnp.dot(inputs, weights) + biases
        inputs = jnp.tanh(outputs)
    return outputs


def mse_loss(params, batch):
    inputs, targets = batch
    preds = predict(params, inputs)
    return jnp.mean((preds - targets) ** 2)


def small_network(rng):
    sizes = (3, 4, 2)
    return [
        (rng.normal(size=(m, n)).astype("f4"), rng.normal(size=n).astype("f4"))
        for m, n in itertools.pairwise(sizes)
    ]


def numpy_gradient(params, inputs, targets):
    """The same gradient by hand: two layers, float64."""
    (w1, b1), (w2, b2) = params
    hidden = np.tanh(inputs @ w1 + b1)
    delta = 2 * (hidden @ w2 + b2 - targets) / targets.size
    back = (delta @ w2.T) * (1 - hidden**2)
    return [(inputs.T @ back, back.sum(0)), (hidden.T @ delta, delta.sum(0))]


def test_autograd_of_the_loss():
    rng = np.random.default_rng(0)
    params = small_network(rng)
    batch = rng.normal(size=(8, 3)).astype("f4"), rng.normal(size=(8, 2)).astype("f4")
    expected = numpy_gradient(params, *batch)

    for gradient in (grad(mse_loss), jit(grad(mse_loss))):
        for ours, theirs in zip(gradient(params, batch), expected, strict=True):
            np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-6)


def test_batched_per_example_gradients():
    rng = np.random.default_rng(1)
    params = small_network(rng)
    inputs, targets = rng.normal(size=(8, 3)).astype("f4"), rng.normal(size=(8, 2)).astype("f4")

    per_example = jit(vmap(grad(mse_loss), in_axes=(None, 0)))(params, (inputs, targets))

    for i in range(8):
        expected = numpy_gradient(params, inputs[i : i + 1], targets[i : i + 1])
        for ours, theirs in zip(per_example, expected, strict=True):
            np.testing.assert_allclose(ours[0][i], theirs[0], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(ours[1][i], theirs[1], rtol=1e-4, atol=1e-6)


def test_derivatives_of_derivatives_through_python_control_flow():
    """ "A large subset of Python: loops, ifs, recursion, and derivatives of derivatives."""

    def power(x, n):
        if n == 0:
            return 1.0
        return x * power(x, n - 1)

    def f(x):
        total = 0.0
        for n in range(4):
            if n % 2 == 1:
                total = total + power(x, n)
        return total  # x + x³

    assert float(f(2.0)) == 10.0
    assert float(grad(f)(2.0)) == 13.0
    assert float(grad(grad(f))(2.0)) == 12.0
    assert float(grad(grad(grad(f)))(2.0)) == 6.0
