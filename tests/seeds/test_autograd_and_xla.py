"""Seed 003, "JAX: Autograd and XLA": every program of the slides, only its import line changed.

5000 × 5000 becomes 500 × 500 and 5000 × 6000 becomes 50 × 60. The optimiser of the `update` slide
is `jax.example_libraries.optimizers`, which the slide only sketches; a small runnable version of
its three functions stands here. The `pmap` slides need eight devices and run in a process of
their own.
"""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy

import effax.numpy as np
from effax import grad, jit, vmap

ROOT = Path(__file__).resolve().parents[2]


def test_gradient_of_tanh(capsys):
    def tanh(x):  # Define a function
        y = np.exp(-2.0 * x)
        return (1.0 - y) / (1.0 + y)

    grad_tanh = grad(tanh)  # Obtain its gradient function
    print(grad_tanh(1.0))  # Evaluate it at x = 1.0

    # The slide prints 0.4199743; the last digit depends on the order of float32 operations.
    assert abs(float(capsys.readouterr().out) - 0.4199743) < 2e-7


def test_jit_as_a_function():
    def slow_f(x):
        # Element-wise ops see a large benefit from fusion
        return x * x + x * 2.0

    x = np.ones((500, 500))
    fast_f = jit(slow_f)
    assert fast_f(x).dtype == numpy.float32
    numpy.testing.assert_array_equal(fast_f(x), numpy.full((500, 500), 3, "f4"))
    numpy.testing.assert_array_equal(slow_f(x), numpy.full((500, 500), 3, "f4"))


def predict(params, inputs):
    weights, bias = params
    return np.dot(inputs, weights) + bias


def loss(params, batch):
    inputs, targets = batch
    return np.mean((predict(params, inputs) - targets) ** 2)


def test_jit_as_a_decorator():
    def opt_init(params):
        return params

    def get_params(opt_state):
        return opt_state

    def opt_update(i, gradient, opt_state):
        step = 0.3 / (1 + 0.01 * i)
        return tuple(p - step * g for p, g in zip(opt_state, gradient, strict=True))

    traced = []

    @jit
    def update(i, opt_state, batch):
        traced.append(i)
        params = get_params(opt_state)
        return opt_update(i, grad(loss)(params, batch), opt_state)

    rng = numpy.random.default_rng(0)
    truth = rng.normal(size=3).astype("f4")

    def make_batches():
        while True:
            inputs = rng.normal(size=(16, 3)).astype("f4")
            yield inputs, inputs @ truth + 0.5

    batches, num_steps = make_batches(), 200
    init_params = (np.zeros(3), np.float32(0))

    opt_state = opt_init(init_params)
    for i in range(num_steps):
        opt_state = update(i, opt_state, next(batches))

    weights, bias = get_params(opt_state)
    numpy.testing.assert_allclose(weights, truth, atol=1e-3)
    numpy.testing.assert_allclose(bias, 0.5, atol=1e-3)
    assert len(traced) == 1  # the step number is a traced value, so one compilation serves all


def test_automatic_vectorisation():
    params = (np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0]))
    input_batch = np.arange(12.0).reshape(4, 3)
    expected = numpy.arange(12.0).reshape(4, 3) @ numpy.arange(6.0).reshape(3, 2) + [1, -1]

    predictions = vmap(partial(predict, params))(input_batch)
    numpy.testing.assert_allclose(predictions, expected)
    # or, alternatively
    predictions = vmap(predict, in_axes=(None, 0))(params, input_batch)
    numpy.testing.assert_allclose(predictions, expected)


ON_EIGHT_DEVICES = """
import numpy

{program}
"""

MATRICES = """
from effax import random, pmap
import effax.numpy as np

# Create 8 random 50 x 60 matrices, one per device
keys = random.split(random.PRNGKey(0), 8)
mats = pmap(lambda key: random.normal(key, (50, 60)))(keys)

# Run a local matmul on each device in parallel (no data transfer)
result = pmap(lambda x: np.dot(x, x.T))(mats)  # result.shape is (8, 50, 50)

# Compute the mean on each device in parallel and print the result
print(pmap(np.mean)(result))

host = numpy.asarray(mats, "f8")
for key, drawn in zip(keys, host):
    numpy.testing.assert_array_equal(random.normal(key, (50, 60)), drawn.astype("f4"))
assert result.shape == (8, 50, 50)
assert len(result.devices()) == 8
numpy.testing.assert_allclose(result, host @ host.swapaxes(1, 2), rtol=1e-4, atol=1e-4)
numpy.testing.assert_allclose(
    pmap(np.mean)(result), (host @ host.swapaxes(1, 2)).mean((1, 2)), rtol=1e-3, atol=1e-4
)
"""

COLLECTIVE = """
from effax import pmap
import effax.numpy as np
from functools import partial
from effax import lax

@partial(pmap, axis_name='i')
def normalize(x):
  return x / lax.psum(x, 'i')

print(normalize(np.arange(4.)))
"""


def on_eight_devices(program: str) -> str:
    """The output of `program` in a fresh process where the host counts as eight devices."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-c", ON_EIGHT_DEVICES.format(program=program)],
        env={**os.environ, "XLA_FLAGS": flags.strip(), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_matrix_product_on_each_device():
    assert on_eight_devices(MATRICES).count("\n") >= 1


def test_collective_communication():
    printed = on_eight_devices(COLLECTIVE).strip()
    values = [float(word) for word in printed.strip("[]").split()]
    numpy.testing.assert_allclose(values, [0.0, 0.16666667, 0.33333334, 0.5], rtol=1e-6)
