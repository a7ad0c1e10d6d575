"""Derivatives and batches of functions that no one jitted, on small values."""

import itertools
from collections.abc import Callable
from typing import Any

from benchmarks.workloads.workload import Call, blocking, workload

TARGET = 0.1
WITHIN = {"autograd": 2.0}


def tangent_of_product(np: Any, x: float) -> float:
    """The derivative of `sin(x) * x`."""
    return np.cos(x) * x + np.sin(x)


def autograd_of(nth: int) -> Callable[[], Call]:
    """HIPS autograd's n-th derivative of `sin(x) * x` at 0.7."""

    def make() -> Call:
        import autograd
        import autograd.numpy as anp

        def f(x):
            return anp.sin(x) * x

        for _ in range(nth):
            f = autograd.grad(f)
        return lambda: f(0.7)

    return make


@workload("grad of sin(x) * x", TARGET, within=WITHIN, autograd=autograd_of(1))
def grad_product(jax, jnp, np):
    gradient = jax.grad(lambda x: jnp.sin(x) * x)
    np.testing.assert_allclose(gradient(0.7), tangent_of_product(np, 0.7), rtol=1e-6)
    x = jnp.float32(0.7)
    return lambda: gradient(x)


@workload(
    "grad of grad of sin(x) * x",
    TARGET,
    within=WITHIN,
    autograd=autograd_of(2),
    why="of 170 to 200 µs, by cProfile: the inner gradient's forward mode with recording a third, its "
    "walk backwards a quarter (noting the seven effects of both, a fifth of all, included), the "
    "compiled program that is run in the end 5 µs, trees, checks and entry points of two gradients "
    "a third",
)
def grad_grad_product(jax, jnp, np):
    curvature = jax.grad(jax.grad(lambda x: jnp.sin(x) * x))
    np.testing.assert_allclose(curvature(0.7), 2 * np.cos(0.7) - 0.7 * np.sin(0.7), rtol=1e-5)
    x = jnp.float32(0.7)
    return lambda: curvature(x)


@workload(
    "jvp of sin(x) * x",
    TARGET,
    why="of 31 µs the two rules' executables of two results take 11 (the runtime's alone), what "
    "`jvp` does for a function that does nothing (trees, checks, the handler) 7, and 6 for each "
    "effect go to the library's function, the handler and its rule. Put off and compiled whole, as "
    "gradients are, it would be no less: noting the effects and finding the program took grad 30",
)
def jvp_product(jax, jnp, np):
    x = jnp.float32(0.7)

    def call():
        return jax.jvp(lambda x: jnp.sin(x) * x, (x,), (x,))[1]

    np.testing.assert_allclose(call(), 0.7 * tangent_of_product(np, 0.7), rtol=1e-6)
    return call


@workload(
    "vmap of sin(x) * x, float32[10]",
    TARGET,
    why="of 86 µs `vmap` of a function that does nothing takes 20, and each of two effects a launch, "
    "12 to 17 where it is called eagerly",
)
def vmap_product(jax, jnp, np):
    lanes = jax.vmap(lambda x: jnp.sin(x) * x)
    x = jnp.linspace(0.0, 1.0, 10)
    np.testing.assert_allclose(lanes(x), np.sin(x) * np.asarray(x), rtol=1e-5)
    return lambda: lanes(x)


def autograd_chain() -> Call:
    import autograd
    import autograd.numpy as anp

    gradient = autograd.grad(lambda x: twenty(anp, x))
    return lambda: gradient(0.7)


def twenty(library: Any, x: Any) -> Any:
    """20 operations on a scalar."""
    for _ in range(10):
        x = library.sin(x) * 1.5
    return x


@workload(
    "grad of a scalar function of 20 operations", TARGET, within=WITHIN, autograd=autograd_chain
)
def grad_chain(jax, jnp, np):
    gradient = jax.grad(lambda x: twenty(jnp, x))
    x, slope = 0.7, 1.0
    for _ in range(10):
        slope, x = slope * 1.5 * np.cos(x), 1.5 * np.sin(x)
    np.testing.assert_allclose(gradient(0.7), slope, rtol=1e-4)
    x = jnp.float32(0.7)
    return lambda: gradient(x)


SIZES = (16, 32, 32, 4)


def mlp_inputs(np: Any) -> tuple[list[tuple[Any, Any]], Any, Any]:
    """Layers' weights and biases, inputs and targets of a batch of 8, as NumPy's arrays."""
    rng = np.random.default_rng(0)
    layers = [
        (rng.standard_normal((m, n)).astype("f4") / m**0.5, np.zeros(n, "f4"))
        for m, n in itertools.pairwise(SIZES)
    ]
    x, y = rng.standard_normal((8, SIZES[0])), rng.standard_normal((8, SIZES[-1]))
    return layers, x.astype("f4"), y.astype("f4")


def mlp_loss(library: Any, layers: Any, x: Any, y: Any) -> Any:
    """Mean squared error of a network with `tanh` between its layers."""
    for w, b in layers[:-1]:
        x = library.tanh(library.dot(x, w) + b)
    w, b = layers[-1]
    return library.mean((library.dot(x, w) + b - y) ** 2)


def autograd_mlp() -> Call:
    import autograd
    import autograd.numpy as anp
    import numpy

    layers, x, y = mlp_inputs(numpy)
    step = autograd.value_and_grad(lambda layers: mlp_loss(anp, layers, x, y))
    return lambda: step(layers)


@workload("value_and_grad of an MLP of 3 layers", TARGET, within=WITHIN, autograd=autograd_mlp)
def mlp_value_and_grad(jax, jnp, np):
    layers, x, y = mlp_inputs(np)
    step = jax.value_and_grad(lambda layers, x, y: mlp_loss(jnp, layers, x, y))
    value, gradient = step(layers, x, y)
    np.testing.assert_allclose(value, mlp_loss(np, layers, x, y), rtol=1e-5)
    direction = [(np.cos(w), np.cos(b + 1)) for w, b in layers]

    def moved(t):
        return [
            (w.astype("f8") + t * dw, b.astype("f8") + t * db)
            for (w, b), (dw, db) in zip(layers, direction, strict=True)
        ]

    slope = sum(
        np.vdot(g, d)
        for pair, way in zip(gradient, direction, strict=True)
        for g, d in zip(pair, way, strict=True)
    )
    rise = mlp_loss(np, moved(1e-4), x, y) - mlp_loss(np, moved(-1e-4), x, y)
    np.testing.assert_allclose(slope, rise / 2e-4, rtol=1e-4)
    layers = [(jnp.array(w), jnp.array(b)) for w, b in layers]
    return blocking(step, layers, jnp.array(x), jnp.array(y))
