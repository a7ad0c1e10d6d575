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
