"""From a Python function to its program: tracing, derivatives, lowering."""

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.workload import workload


def thousand_operations(jnp: Any) -> Callable:
    def f(x, y):
        for _ in range(250):
            x = jnp.sin(x)
            x = x * 0.5
            x = x + y
            x = jnp.tanh(x)
        return x

    return f


@workload("jit(f).lower(), f of 1000 operations", 0.2)
def lower_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)
    text = jax.jit(thousand_operations(jnp)).lower(x, y).as_text()
    assert text.count("stablehlo.tanh") == text.count("stablehlo.sine") == 250
    # A new function each time, so that nothing is found in a cache keyed on the function.
    return lambda: jax.jit(thousand_operations(jnp)).lower(x, y)


@workload("jit(f).lower().as_text(), f of 1000 operations", 0.2)
def lower_text_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)
    return lambda: jax.jit(thousand_operations(jnp)).lower(x, y).as_text()


@workload("jit(grad(f)).lower(), f of 1000 operations", 0.2)
def lower_grad_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)

    def gradient():
        f = thousand_operations(jnp)
        return jax.jit(jax.grad(lambda x, y: jnp.sum(f(x, y))))

    assert gradient().lower(x, y).as_text().count("stablehlo.cosine") == 250
    return lambda: gradient().lower(x, y)


@workload("un-jitted grad of a scalar function of 20 operations", 0.1)
def eager_grad(jax, jnp, np):
    def f(x):
        for _ in range(10):
            x = jnp.sin(x) * 1.5
        return x

    gradient = jax.grad(f)
    x, slope = 0.7, 1.0
    for _ in range(10):
        slope, x = slope * 1.5 * np.cos(x), 1.5 * np.sin(x)
    np.testing.assert_allclose(gradient(0.7), slope, rtol=1e-4)
    x = jnp.float32(0.7)
    return lambda: gradient(x)
