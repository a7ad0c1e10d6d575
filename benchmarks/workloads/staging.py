"""From a Python function to its program: tracing, derivatives, lowering."""

import functools
from collections.abc import Callable
from typing import Any

from benchmarks import models
from benchmarks.workloads.workload import Call
from benchmarks.workloads.workload import workload as any_workload

workload = functools.partial(any_workload, processor=True)
EQUATIONS = 1000
ABSOLUTE = "the limit is a time of another day's machine, two to three times faster; JAX: 5 to 10 ×"
FEW = 20  # so many are compiled too, to see that they compute what they should


def fresh(f: Callable) -> Callable:
    """The function as one never seen before: nothing is found in a cache keyed on it."""
    return lambda *args: f(*args)


def staged(jax: Any, jnp: Any, np: Any, step: Callable, expected: Callable, word: str) -> Call:
    """Staging `EQUATIONS` steps of one equation each, that print the word."""

    def repeated(step, times, x):
        for _ in range(times):
            x = step(x)
        return x

    x = jnp.linspace(0.5, 1.0, 8)
    found = jax.jit(lambda x: repeated(step, FEW, x))(x)
    np.testing.assert_allclose(found, repeated(expected, FEW, np.linspace(0.5, 1, 8)), rtol=1e-4)

    def call():
        return jax.make_jaxpr(lambda x: repeated(step, EQUATIONS, x))(x)

    assert str(call()).count(f"= {word}") == EQUATIONS
    return call


@workload("staging, an equation: lax.sin", limit=8e-6, per=EQUATIONS, why=ABSOLUTE)
def stage_lax(jax, jnp, np):
    return staged(jax, jnp, np, jax.lax.sin, np.sin, "sin")


@workload("staging, an equation: jnp.sin", limit=8e-6, per=EQUATIONS, why=ABSOLUTE)
def stage_jnp(jax, jnp, np):
    return staged(jax, jnp, np, jnp.sin, np.sin, "sin")


@workload("staging, an equation: x * 0.5", limit=8e-6, per=EQUATIONS, why=ABSOLUTE)
def stage_operator(jax, jnp, np):
    return staged(jax, jnp, np, lambda x: x * 0.5, lambda x: x * 0.5, "mul")


def derived(jax: Any, jnp: Any, np: Any, derivative: Callable) -> Call:
    """Staging a derivative of a chain of equations; `derivative(f)` maps a vector to slopes."""
    x = np.linspace(0.5, 1.0, 8).astype("f4")
    slopes = jax.jit(derivative(models.chain(jax, FEW)))(x)
    np.testing.assert_allclose(slopes, models.chain_value(np, x, FEW)[1], rtol=1e-3, atol=1e-6)
    f, x = models.chain(jax, EQUATIONS), jnp.array(x)
    return lambda: jax.make_jaxpr(derivative(fresh(f)))(x)


@workload("staging jvp, an equation of the function", limit=15e-6, per=EQUATIONS, why=ABSOLUTE)
def stage_jvp(jax, jnp, np):
    def derivative(f):
        return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    return derived(jax, jnp, np, derivative)


@workload("staging grad, an equation of the function", limit=40e-6, per=EQUATIONS)
def stage_grad(jax, jnp, np):
    return derived(jax, jnp, np, lambda f: jax.grad(lambda x: jnp.sum(f(x))))


@workload("staging vmap of grad, an equation of the function", limit=80e-6, per=EQUATIONS)
def stage_vmap_grad(jax, jnp, np):
    return derived(jax, jnp, np, lambda f: jax.vmap(jax.grad(f)))


@workload("lowering, an equation", limit=3e-6, per=EQUATIONS, why=ABSOLUTE)
def lower_equation(jax, jnp, np):
    x = jnp.linspace(0.5, 1.0, 8)
    traced = jax.jit(models.chain(jax, EQUATIONS)).trace(x)
    assert traced.lower().as_text().count("stablehlo.sine") == EQUATIONS // 2
    if jax.__name__ != "jax":
        return traced.lower

    def call():
        jax.clear_caches()  # jax keeps the module of a trace; 2 of some 35 ms
        return traced.lower()

    return call


@workload("jit(f).lower(), f of 1000 operations", 0.2)
def lower_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)
    f = models.thousand_operations(jnp)
    text = jax.jit(f).lower(x, y).as_text()
    assert text.count("stablehlo.tanh") == text.count("stablehlo.sine") == 250
    return lambda: jax.jit(fresh(f)).lower(x, y)


@workload("jit(f).lower().as_text(), f of 1000 operations", 0.2)
def lower_text_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)
    f = models.thousand_operations(jnp)
    return lambda: jax.jit(fresh(f)).lower(x, y).as_text()


@workload("jit(grad(f)).lower(), f of 1000 operations", 0.2)
def lower_grad_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)
    f = models.thousand_operations(jnp)

    def gradient():
        return jax.jit(jax.grad(lambda x, y: jnp.sum(f(x, y))))

    assert gradient().lower(x, y).as_text().count("stablehlo.cosine") == 250
    return lambda: gradient().lower(x, y)


def lowered(jax: Any, np: Any, f: Callable, *args: Any) -> Call:
    """Lowering a function and its gradient, which is looked at first."""
    models.assert_gradient(jax, np, f, *args)
    return lambda: jax.jit(jax.value_and_grad(fresh(f))).lower(*args)


@workload(
    "value_and_grad of 12 transformer layers, lowered",
    0.2,
    why="the search for what is repeated is nine tenths of it, 0.13 s, and halves the compilation",
)
def lower_transformer(jax, jnp, np):
    return lowered(jax, np, models.transformer(jax, jnp, 12), *models.transformer_inputs(np, 12))


@workload(
    "value_and_grad of an MLP of 50 layers, lowered",
    0.2,
    why="0.15 (0.13 to 0.16) by processor time in the same hour, 0.17 on the wall the day before: "
    "the machine was not quiet",
)
def lower_mlp(jax, jnp, np):
    return lowered(jax, np, models.network(jnp), *models.network_inputs(np, 50))


@workload("scan over cond over while over scan, lowered", 0.2)
def lower_control_flow(jax, jnp, np):
    f, flags = models.nested_control_flow(jax, jnp), jnp.array([True, False, True])
    np.testing.assert_array_equal(jax.jit(f)(1.0, flags), 16.0)
    return lambda: jax.jit(fresh(f)).lower(1.0, flags)


@workload("grad of scan over cond over scan, lowered", 0.2)
def lower_control_flow_grad(jax, jnp, np):
    def times_four(x):
        return jax.lax.scan(lambda c, y: (c * y, None), x, jnp.full(2, 2.0))[0]

    def f(x, flags):
        def step(x, flag):
            return jax.lax.cond(flag, times_four, jnp.sin, x), None

        return jax.lax.scan(step, x, flags)[0]

    flags = jnp.array([True, False, True])
    slope = jax.jit(jax.grad(f))(0.1, flags)
    np.testing.assert_allclose(slope, 16 * np.cos(0.4), rtol=1e-5)
    return lambda: jax.jit(jax.grad(fresh(f))).lower(0.1, flags)


@workload("hessian of an MLP of 3 layers, lowered", 0.2)
def lower_hessian(jax, jnp, np):
    params, x = models.network_inputs(np, 3, width=4, rows=2)
    loss = models.network(jnp)

    def of_input(x):
        return loss(params, x)

    found = jax.jit(jax.hessian(of_input))(x)
    gradient, step = jax.jit(jax.grad(of_input)), 1e-2
    for place in (0, 0), (1, 2):
        by = np.zeros_like(x)
        by[place] = step
        column = (gradient(x + by) - gradient(x - by)) / (2 * step)
        np.testing.assert_allclose(found[..., place[0], place[1]], column, rtol=1e-2, atol=1e-4)
    return lambda: jax.jit(jax.hessian(fresh(of_input))).lower(x)


@workload(
    "f(x) * f(x + 1) of jitted f, 12 deep, gradient lowered",
    0.2,
    why="functions are 7 for 3 levels in either library, but each call keeps what its backward "
    "pass needs: 2^12 numbers that the text has to name, as many as the program computes",
)
def lower_shared(jax, jnp, np):
    def deep(levels):
        f = jnp.sin
        for _ in range(levels):
            f = jax.jit(lambda x, f=f: f(x) * f(x + 1))
        return f

    slope = jax.grad(deep(2))(0.5)
    least = (deep(2)(0.501) - deep(2)(0.499)) / 0.002
    np.testing.assert_allclose(slope, least, rtol=1e-2, atol=1e-3)
    return lambda: jax.jit(jax.grad(deep(12))).lower(0.5).as_text()
