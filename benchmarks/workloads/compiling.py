"""From a Python function to an executable: programs that are new each time, or found on disk."""

import functools
import itertools
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks import models
from benchmarks.whole_runs import RUNS, kit_of_jax
from benchmarks.workloads.workload import Call
from benchmarks.workloads.workload import workload as any_workload

workload = functools.partial(any_workload, processor=True)
_numbers = itertools.count(1)
SAME = (
    "nearly the same program (331 fusions here and in JAX's, 5 more) goes to the same compiler: "
    "by processor time, alone, 6.9 to 7.5 s to 6.4 to 6.9 for the ResNet, tracing included"
)


def compiled(jax: Any, f: Callable, *args: Any) -> Call:
    """Tracing, lowering and compiling; with another constant each time, so that nothing is found."""

    def call():
        scale = 1.0 + next(_numbers) * 1e-6
        return jax.jit(lambda x, *rest: f(x * scale, *rest)).lower(*args).compile()

    return call


@workload("one operation, jnp.sin of float32[1000]", 1.0)
def compile_sin(jax, jnp, np):
    x = jnp.linspace(0.0, 1.0, 1000)
    call = compiled(jax, jnp.sin, x)
    np.testing.assert_allclose(call()(x), np.sin(np.linspace(0, 1, 1000)), rtol=1e-3)
    return call


def unrolled_transformer(jax: Any, jnp: Any, np: Any, layers: int) -> Call:
    models.assert_gradient(
        jax, np, models.transformer(jax, jnp, 2), *models.transformer_inputs(np, 2)
    )
    loss, (params, x) = models.transformer(jax, jnp, layers), models.transformer_inputs(np, layers)
    return compiled(jax, lambda x, params: jax.value_and_grad(loss)(params, x), x, params)


@workload(
    "12 transformer layers, unrolled, value_and_grad",
    0.35,
    why="one layer takes 3.4 s in either library, 12 take 7.3 here and 15.6 in JAX: what a layer "
    "more costs is 0.35 s to 1.1",
)
def compile_transformer(jax, jnp, np):
    return unrolled_transformer(jax, jnp, np, 12)


@workload("24 transformer layers, unrolled, value_and_grad", 0.35)
def compile_deep_transformer(jax, jnp, np):
    return unrolled_transformer(jax, jnp, np, 24)


@workload("20 steps of leapfrog, unrolled, value_and_grad", 0.35)
def compile_leapfrog(jax, jnp, np):
    loss, (q, w) = models.leapfrog(jax, jnp, 20), models.leapfrog_inputs(np)
    models.assert_gradient(jax, np, models.leapfrog(jax, jnp, 2), q, w)
    return compiled(jax, jax.value_and_grad(loss), q, w)


@workload(
    "30 steps of an LSTM, unrolled, value_and_grad",
    0.35,
    why="2.3 of 2.4 s are XLA's, on 18 functions with 77 products; whole it takes 6.4 with 149, as "
    "in JAX",
)
def compile_lstm(jax, jnp, np):
    loss, (xs, w) = models.lstm(jax, jnp), models.lstm_inputs(np, 30)
    models.assert_gradient(jax, np, lambda w, xs: loss(xs, w), w, xs[:2])
    return compiled(jax, lambda xs, w: jax.value_and_grad(loss, 1)(xs, w), xs, w)


@workload(
    "a network of 50 tanh layers, value_and_grad",
    0.35,
    why="two layers take 0.5 to 0.6 s, 50 take 0.5 to 0.7, in either library: XLA compiles ten "
    "kernels, once for all layers; cut into functions, 0.6 to 0.9",
)
def compile_deep_network(jax, jnp, np):
    loss, (params, x) = models.network(jnp), models.network_inputs(np, 50)
    models.assert_gradient(jax, np, loss, params, x)
    return compiled(jax, lambda x, params: jax.value_and_grad(loss)(params, x), x, params)


def _derivative_of_quotient(order: int, title: str) -> None:
    @workload(title, 1.0, name=f"compile_derivative_{order}")
    def derivative(jax, jnp, np):
        f = models.derivative_of_quotient(jax, jnp, order)
        expected = models.derivative_by_contour(np, 0.7, order)
        np.testing.assert_allclose(jax.jit(f)(0.7), expected, rtol=1e-3)
        return compiled(jax, f, jnp.float32(0.7))


_derivative_of_quotient(3, "the third derivative of sin(x) / (1 + x * x)")
_derivative_of_quotient(6, "its sixth derivative")


def whole_network(jax: Any, jnp: Any, np: Any, name: str) -> Call:
    """A network of `whole_runs`, its loss and gradient."""
    rng = np.random.default_rng(0)
    loss, params, data, _ = RUNS[name][1](kit_of_jax(jax, jnp), rng)
    assert np.isfinite(jax.jit(loss)(params, data))
    x = data.pop("x")

    def f(x, params, data):
        return jax.value_and_grad(loss)(params, {**data, "x": x})

    return compiled(jax, f, x, params, data)


@workload(
    "a ResNet-18, a quarter as wide, value_and_grad",
    1.0,
    why=SAME,
)
def compile_resnet(jax, jnp, np):
    return whole_network(jax, jnp, np, "resnet")


@workload(
    "a U-Net of three levels, value_and_grad",
    1.0,
    why=SAME,
)
def compile_unet(jax, jnp, np):
    return whole_network(jax, jnp, np, "unet")


@workload("the first list(x) of a length, from 50 on", 1.0)
def compile_list(jax, jnp, np):
    lengths = itertools.count(50)
    np.testing.assert_array_equal(list(jnp.arange(3.0)), [0, 1, 2])
    return lambda: list(jnp.zeros(next(lengths)))


@workload("12 transformer layers, each a call of one jitted function", 1.0)
def compile_layers(jax, jnp, np):
    params, x = models.transformer_inputs(np, 12)

    def f(x, params):
        layer = jax.jit(models.transformer(jax, jnp, 1))
        return sum(layer([p], x * float(i)) for i, p in enumerate(params))

    np.testing.assert_allclose(jax.jit(f)(x, params), f(x, params), rtol=1e-3)
    return compiled(jax, f, x, params)


@workload("a training step of an MLP, 3 layers", 1.0)
def compile_mlp_step(jax, jnp, np):
    loss = models.network(jnp)
    params, x = models.network_inputs(np, 3, width=64, rows=32)
    models.assert_gradient(jax, np, loss, params, x)

    def step(x, params):
        slopes = jax.grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)

    return compiled(jax, step, x, params)


@workload("a scan of 100 steps of tanh(x @ w), gradient", 1.0)
def compile_scan(jax, jnp, np):
    (w, _), x = models.network_inputs(np, 1)[0][0], models.network_inputs(np, 1)[1]

    def loss(w, x):
        return jnp.sum(jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=100)[0])

    models.assert_gradient(jax, np, loss, w, x)
    return compiled(jax, lambda x, w: jax.grad(loss)(w, x), x, w)


@workload("an MLP's training step found on disk by a process that has not compiled it", 1.0)
def compile_from_disk(jax, jnp, np):
    loss = models.network(jnp)
    params, x = models.network_inputs(np, 8)
    settings = {
        "jax_compilation_cache_dir": tempfile.mkdtemp(),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": 0,
    }

    def call():
        before = {name: getattr(jax.config, name) for name in settings}
        for name, value in settings.items():
            jax.config.update(name, value)
        jax.clear_caches()
        try:
            return jax.jit(jax.grad(lambda *args: loss(*args))).lower(params, x).compile()
        finally:
            for name, value in before.items():
                jax.config.update(name, value)

    found = call()(params, x)
    np.testing.assert_allclose(call()(params, x)[0][0], found[0][0], rtol=1e-6)
    return call
