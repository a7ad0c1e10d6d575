"""What is measured: programs that run unchanged under effax and under jax.

A workload is `make(jax, jnp, np) -> call`: it builds its inputs, asserts with NumPy that the
result is right, and returns the function without arguments that is timed. Work of less than a
millisecond is dispatched without waiting (the harness waits once after a series); the rest waits
for each result.
"""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

Call = Callable[[], Any]


class Workload(NamedTuple):
    """`target`: the greatest ratio effax / jax that issue 2 allows, or None where it names none."""

    make: Callable[[Any, Any, Any], Call]
    title: str
    target: float | None


WORKLOADS: dict[str, Workload] = {}


def workload(title: str, target: float | None = None):
    def register(make):
        WORKLOADS[make.__name__] = Workload(make, title, target)
        return make

    return register


def blocking(fn: Callable, *args: Any) -> Call:
    """`fn(*args)`, waiting for the result; a pytree waits for its first leaf's executable."""

    def call():
        result = fn(*args)
        first = result[0] if isinstance(result, tuple) else result
        return first.block_until_ready()

    return call


# ---- dispatch


@workload("eager x + y, float32[3]", 0.8)
def eager_add(jax, jnp, np):
    x, y = jnp.arange(3.0), jnp.ones(3)
    np.testing.assert_array_equal(x + y, [1, 2, 3])
    return lambda: x + y


@workload("eager jnp.sin(x), float32[3]")
def eager_sin(jax, jnp, np):
    x = jnp.arange(3.0)
    np.testing.assert_allclose(jnp.sin(x), np.sin(np.arange(3.0)), rtol=1e-6)
    return lambda: jnp.sin(x)


@workload("eager x[1], float32[3]")
def eager_index(jax, jnp, np):
    x = jnp.arange(3.0)
    assert float(x[1]) == 1.0
    return lambda: x[1]


def cached_call(jax, jnp, np, count: int) -> Call:
    total = jax.jit(lambda *args: sum(args[1:], args[0]))
    args = [jnp.full(3, float(i)) for i in range(count)]
    np.testing.assert_array_equal(total(*args), np.full(3, sum(range(count))))
    return lambda: total(*args)


@workload("cached jit call, 1 argument", 1.1)
def jit_call_1(jax, jnp, np):
    return cached_call(jax, jnp, np, 1)


@workload("cached jit call, 2 arguments", 1.1)
def jit_call_2(jax, jnp, np):
    return cached_call(jax, jnp, np, 2)


@workload("cached jit call, 10 arguments", 1.1)
def jit_call_10(jax, jnp, np):
    return cached_call(jax, jnp, np, 10)


@workload("cached jit call, a dict of 10 arrays")
def jit_call_dict(jax, jnp, np):
    double = jax.jit(lambda tree: {k: v * 2 for k, v in tree.items()})
    tree = {f"w{i}": jnp.full(3, float(i)) for i in range(10)}
    np.testing.assert_array_equal(double(tree)["w7"], [14, 14, 14])
    return lambda: double(tree)["w0"]


# ---- staging and derivatives


def thousand_operations(jnp: Any) -> Callable:
    def f(x, y):
        for _ in range(250):
            x = jnp.sin(x)
            x = x * 0.5
            x = x + y
            x = jnp.tanh(x)
        return x

    return f


@workload("jit(f).lower(), f of 1000 operations", 0.3)
def lower_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)
    text = jax.jit(thousand_operations(jnp)).lower(x, y).as_text()
    assert text.count("stablehlo.tanh") == text.count("stablehlo.sine") == 250
    # A new function each time, so that nothing is found in a cache keyed on the function.
    return lambda: jax.jit(thousand_operations(jnp)).lower(x, y)


@workload("jit(f).lower().as_text(), f of 1000 operations", 0.3)
def lower_text_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)
    return lambda: jax.jit(thousand_operations(jnp)).lower(x, y).as_text()


@workload("jit(grad(f)).lower(), f of 1000 operations")
def lower_grad_1000(jax, jnp, np):
    x, y = jnp.linspace(0.0, 1.0, 8), jnp.ones(8)

    def gradient():
        f = thousand_operations(jnp)
        return jax.jit(jax.grad(lambda x, y: jnp.sum(f(x, y))))

    assert gradient().lower(x, y).as_text().count("stablehlo.cosine") == 250
    return lambda: gradient().lower(x, y)


@workload("un-jitted grad of a scalar function of 20 operations", 0.2)
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


# ---- compiled run time: the seeds' functions, and a training step


@workload("x + x*x + x*x*x, float32[2000, 2000]", 1.05)
def powers(jax, jnp, np):
    def fn(x):
        return x + x * x + x * x * x

    host = np.random.default_rng(0).standard_normal((2000, 2000), "f4")
    jax_fn, x = jax.jit(fn), jnp.array(host)
    np.testing.assert_allclose(jax_fn(x), fn(host), rtol=1e-4, atol=1e-5)
    return blocking(jax_fn, x)


@workload("(x + x*x + 3) * (x*x + x*x.T), float32[1500, 1500]", 1.05)
def transposed(jax, jnp, np):
    def f(x):
        y1 = x + x * x + 3
        y2 = x * x + x * x.T
        return y1 * y2

    host = np.random.default_rng(1).standard_normal((1500, 1500), "f4")
    jax_f, x = jax.jit(f), jnp.array(host)
    np.testing.assert_allclose(jax_f(x), f(host), rtol=1e-4, atol=1e-4)
    return blocking(jax_f, x)


@workload("x*x + x*2, float32[2000, 2000]", 1.05)
def slow_f(jax, jnp, np):
    fast_f, x = jax.jit(lambda x: x * x + x * 2.0), jnp.ones((2000, 2000))
    np.testing.assert_array_equal(fast_f(x)[0, :2], [3, 3])
    return blocking(fast_f, x)


@workload("selu, float32[1000000]", 1.05)
def selu(jax, jnp, np):
    def fn(x, alpha=1.67, lambda_=1.05):
        return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    host = np.linspace(-3, 3, 1_000_000, dtype="f4")
    selu_jit, x = jax.jit(fn), jnp.array(host)
    wide = host.astype("f8")
    expected = 1.05 * np.where(wide > 0, wide, 1.67 * np.expm1(wide))
    np.testing.assert_allclose(selu_jit(x), expected, rtol=1e-5, atol=1e-6)
    return blocking(selu_jit, x)


@workload("sgd with weight decay, float32[1000000]", 1.05)
def sgd(jax, jnp, np):
    opt_fn = jax.jit(lambda params, updates: 1e-1 * (params + 1e-5 * updates))
    params, updates = np.random.default_rng(2).standard_normal((2, 1_000_000), "f4")
    np.testing.assert_allclose(
        opt_fn(params, updates), 0.1 * params + 1e-6 * updates, rtol=1e-4, atol=1e-6
    )
    return blocking(opt_fn, jnp.array(params), jnp.array(updates))


@workload("gradient descent of 20 unrolled steps, float32[1000]", 1.05)
def minimize(jax, jnp, np):
    @jax.jit
    def run(params):
        for _ in range(20):
            value, updates = jax.value_and_grad(lambda p: (p**2).sum())(params)
            params -= 0.1 * (params + 1e-5 * updates)
        return value, params

    x = jnp.ones(1000)
    np.testing.assert_allclose(run(x)[1], np.full(1000, (0.9 - 2e-6) ** 20), rtol=1e-4)
    return blocking(run, x)


@workload("MLP train step, 784-512-512-10, batch 128", 1.05)
def mlp_step(jax, jnp, np):
    sizes = (784, 512, 512, 10)
    rng = np.random.default_rng(3)
    host = [
        ((rng.standard_normal((m, n)) / np.sqrt(m)).astype("f4"), np.zeros(n, "f4"))
        for m, n in itertools.pairwise(sizes)
    ]
    inputs = rng.standard_normal((128, 784)).astype("f4")
    targets = np.eye(10, dtype="f4")[rng.integers(0, 10, 128)]

    def logits(params, x):
        for w, b in params[:-1]:
            x = jnp.maximum(x @ w + b, 0)
        return x @ params[-1][0] + params[-1][1]

    def loss(params, x, y):
        z = logits(params, x)
        z = z - jnp.max(z, axis=1, keepdims=True)
        return -jnp.mean(jnp.sum(y * (z - jnp.log(jnp.sum(jnp.exp(z), 1, keepdims=True))), 1))

    @jax.jit
    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updated = [
            (w - 0.1 * gw, b - 0.1 * gb) for (w, b), (gw, gb) in zip(params, grads, strict=True)
        ]
        return value, updated

    # The last layer's bias, by hand: softmax minus target.
    x = inputs
    for w, b in host[:-1]:
        x = np.maximum(x @ w + b, 0)
    z = x @ host[-1][0] + host[-1][1]
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    params = [(jnp.array(w), jnp.array(b)) for w, b in host]
    args = params, jnp.array(inputs), jnp.array(targets)
    value, updated = step(*args)
    np.testing.assert_allclose(value, -np.mean(np.log((p * targets).sum(1))), rtol=1e-4)
    np.testing.assert_allclose(updated[-1][1], -0.1 * (p - targets).mean(0), rtol=1e-3, atol=1e-6)
    return blocking(step, *args)
