"""Run time of compiled programs: the functions of the seeds, and training steps."""

import itertools

from benchmarks.workloads.workload import blocking, workload


@workload("x + x*x + x*x*x, float32[2000, 2000]", 1.0)
def powers(jax, jnp, np):
    def fn(x):
        return x + x * x + x * x * x

    host = np.random.default_rng(0).standard_normal((2000, 2000), "f4")
    jax_fn, x = jax.jit(fn), jnp.array(host)
    np.testing.assert_allclose(jax_fn(x), fn(host), rtol=1e-4, atol=1e-5)
    return blocking(jax_fn, x)


@workload("(x + x*x + 3) * (x*x + x*x.T), float32[1500, 1500]", 1.0)
def transposed(jax, jnp, np):
    def f(x):
        y1 = x + x * x + 3
        y2 = x * x + x * x.T
        return y1 * y2

    host = np.random.default_rng(1).standard_normal((1500, 1500), "f4")
    jax_f, x = jax.jit(f), jnp.array(host)
    np.testing.assert_allclose(jax_f(x), f(host), rtol=1e-4, atol=1e-4)
    return blocking(jax_f, x)


@workload("x*x + x*2, float32[2000, 2000]", 1.0)
def slow_f(jax, jnp, np):
    fast_f, x = jax.jit(lambda x: x * x + x * 2.0), jnp.ones((2000, 2000))
    np.testing.assert_array_equal(fast_f(x)[0, :2], [3, 3])
    return blocking(fast_f, x)


@workload("selu, float32[1000000]", 1.0)
def selu(jax, jnp, np):
    def fn(x, alpha=1.67, lambda_=1.05):
        return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    host = np.linspace(-3, 3, 1_000_000, dtype="f4")
    selu_jit, x = jax.jit(fn), jnp.array(host)
    wide = host.astype("f8")
    expected = 1.05 * np.where(wide > 0, wide, 1.67 * np.expm1(wide))
    np.testing.assert_allclose(selu_jit(x), expected, rtol=1e-5, atol=1e-6)
    return blocking(selu_jit, x)


@workload("sgd with weight decay, float32[1000000]", 1.0)
def sgd(jax, jnp, np):
    opt_fn = jax.jit(lambda params, updates: 1e-1 * (params + 1e-5 * updates))
    params, updates = np.random.default_rng(2).standard_normal((2, 1_000_000), "f4")
    np.testing.assert_allclose(
        opt_fn(params, updates), 0.1 * params + 1e-6 * updates, rtol=1e-4, atol=1e-6
    )
    return blocking(opt_fn, jnp.array(params), jnp.array(updates))


@workload("gradient descent of 20 unrolled steps, float32[1000]", 1.0)
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


@workload("MLP train step, 784-512-512-10, batch 128", 1.0)
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
