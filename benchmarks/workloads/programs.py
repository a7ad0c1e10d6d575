"""Run time of compiled programs: elementwise chains, loops, and decompositions."""

from benchmarks import models
from benchmarks.workloads.workload import program

PAGES = (
    "XLA is given the same program by both (the optimised HLO of the chain is one fusion); results of megabytes are new pages "
    "at each call, none to 3907 faults by the luck of the heap: in 14 fresh processes of each library x*x + x*2 took 1180 a call "
    "in effax and 1380 in JAX where each result is waited for, 540 and 630 in series, and in one process of each all 3907 "
    "at every call. With keep_freed_memory there are no faults (the row on large results: 0.17)"
)

QUOTIENT = (
    "two kernels, as XLA takes none that divides into several readers: the quotient's, which writes 4 MB, and that of all else; "
    "multiplied by the reciprocal too it is one kernel and 6.5 ms, as in JAX, but a layer norm then keeps half as much again"
)


@program("x + x*x + x*x*x, float32[2000, 2000]", why=PAGES)
def powers(jax, jnp, np):
    def fn(x):
        return x + x * x + x * x * x

    host = np.random.default_rng(0).standard_normal((2000, 2000), "f4")
    jax_fn, x = jax.jit(fn), jnp.array(host)
    np.testing.assert_allclose(jax_fn(x), fn(host), rtol=1e-4, atol=1e-5)
    return (jax_fn, x)


@program("(x + x*x + 3) * (x*x + x*x.T), float32[1500, 1500]", why=PAGES)
def transposed(jax, jnp, np):
    def f(x):
        y1 = x + x * x + 3
        y2 = x * x + x * x.T
        return y1 * y2

    host = np.random.default_rng(1).standard_normal((1500, 1500), "f4")
    jax_f, x = jax.jit(f), jnp.array(host)
    np.testing.assert_allclose(jax_f(x), f(host), rtol=1e-4, atol=1e-4)
    return (jax_f, x)


@program("x*x + x*2, float32[2000, 2000]", why=PAGES)
def slow_f(jax, jnp, np):
    fast_f, x = jax.jit(lambda x: x * x + x * 2.0), jnp.ones((2000, 2000))
    np.testing.assert_array_equal(fast_f(x)[0, :2], [3, 3])
    return (fast_f, x)


@program("selu, float32[1000000]", why=PAGES)
def selu(jax, jnp, np):
    def fn(x, alpha=1.67, lambda_=1.05):
        return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    host = np.linspace(-3, 3, 1_000_000, dtype="f4")
    selu_jit, x = jax.jit(fn), jnp.array(host)
    wide = host.astype("f8")
    expected = 1.05 * np.where(wide > 0, wide, 1.67 * np.expm1(wide))
    np.testing.assert_allclose(selu_jit(x), expected, rtol=1e-5, atol=1e-6)
    return (selu_jit, x)


@program("sgd with weight decay, float32[1000000]", why=PAGES)
def sgd(jax, jnp, np):
    opt_fn = jax.jit(lambda params, updates: 1e-1 * (params + 1e-5 * updates))
    params, updates = np.random.default_rng(2).standard_normal((2, 1_000_000), "f4")
    np.testing.assert_allclose(
        opt_fn(params, updates), 0.1 * params + 1e-6 * updates, rtol=1e-4, atol=1e-6
    )
    return (opt_fn, jnp.array(params), jnp.array(updates))


@program("gradient descent of 20 unrolled steps, float32[1000]")
def minimize(jax, jnp, np):
    @jax.jit
    def run(params):
        for _ in range(20):
            value, updates = jax.value_and_grad(lambda p: (p**2).sum())(params)
            params -= 0.1 * (params + 1e-5 * updates)
        return value, params

    x = jnp.ones(1000)
    np.testing.assert_allclose(run(x)[1], np.full(1000, (0.9 - 2e-6) ** 20), rtol=1e-4)
    return (run, x)


@program("the sixth derivative of sin(x) / (1 + x*x), float32[1000000]", why=QUOTIENT)
def sixth_derivative(jax, jnp, np):
    host = np.linspace(0.5, 2.0, 1_000_000, dtype="f4")
    mapped = jax.jit(jax.vmap(models.derivative_of_quotient(jax, jnp, 6)))
    expected = models.derivative_by_contour(np, host[::1000], 6)
    np.testing.assert_allclose(mapped(host)[::1000], expected, rtol=1e-3, atol=0.05)
    return mapped, jnp.array(host)


@program("x + x*x + x*x*x, float32[10000, 10000]", why=PAGES)
def powers_large(jax, jnp, np):
    host = np.random.default_rng(0).standard_normal((10_000, 10_000), "f4")
    function, x = jax.jit(lambda x: x + x * x + x * x * x), jnp.array(host)
    part = host[:3].astype("f8")
    np.testing.assert_allclose(function(x)[:3], part + part**2 + part**3, rtol=1e-4, atol=1e-5)
    return function, x


@program("(x + x*x + 3) * (x*x + x*x.T), float32[3000, 3000]", why=PAGES)
def transposed_large(jax, jnp, np):
    def f(x):
        return (x + x * x + 3) * (x * x + x * x.T)

    host = np.random.default_rng(1).standard_normal((3000, 3000), "f4")
    jax_f, x = jax.jit(f), jnp.array(host)
    np.testing.assert_allclose(jax_f(x), f(host), rtol=1e-4, atol=1e-4)
    return jax_f, x


@program(
    "scan of 10000 steps, c = 0.99 c + x, float32[8]",
    why="the loop is XLA's in both; a call costs 0.3 µs more, and what runs differ by",
)
def scan_tiny(jax, jnp, np):
    def step(c, x):
        c = 0.99 * c + x
        return c, c[0]

    xs = np.random.default_rng(0).standard_normal((10_000, 8)).astype("f4")
    function = jax.jit(lambda c, xs: jax.lax.scan(step, c, xs))
    expected, c = [], np.zeros(8)
    for x in xs:
        c = 0.99 * c + x
        expected.append(c[0])
    start, found = jnp.zeros(8), jnp.array(xs)
    np.testing.assert_allclose(function(start, found)[1], expected, rtol=1e-3, atol=1e-4)
    return function, start, found


@program(
    "while of 10000 steps, x = cos x",
    why="the loop is XLA's in both; a call costs 0.3 µs more, and what runs differ by",
)
def while_tiny(jax, jnp, np):
    def run(x):
        return jax.lax.while_loop(
            lambda s: s[0] < 10_000, lambda s: (s[0] + 1, jnp.cos(s[1])), (0, x)
        )[1]

    function, x = jax.jit(run), jnp.array(1.0)
    np.testing.assert_allclose(function(x), 0.73908513, rtol=1e-5)
    return function, x


@program(
    "scatter-add of 100000 rows of 16 to 1000",
    why="XLA's loop in both; 0.95 (0.88 to 1.03) the day before",
)
def scatter_add(jax, jnp, np):
    rng = np.random.default_rng(0)
    rows, places = rng.standard_normal((100_000, 16)).astype("f4"), rng.integers(0, 1000, 100_000)
    expected = np.zeros((1000, 16))
    np.add.at(expected, places, rows)
    function = jax.jit(lambda places, rows: jnp.zeros((1000, 16)).at[places].add(rows))
    args = jnp.array(places.astype("i4")), jnp.array(rows)
    np.testing.assert_allclose(function(*args), expected, rtol=1e-3, atol=1e-3)
    return function, *args


@program(
    "Cholesky, float32[500, 500]",
    why="the same call of LAPACK; 0.99 the day before, 1.03 (0.98 to 1.10) by processor time",
)
def cholesky(jax, jnp, np):
    host = np.random.default_rng(0).standard_normal((500, 500)).astype("f4")
    host = host @ host.T / 500 + np.eye(500, dtype="f4")
    function, x = jax.jit(lambda x: jnp.linalg.cholesky(x)), jnp.array(host)
    np.testing.assert_allclose(function(x), np.linalg.cholesky(host), rtol=1e-3, atol=1e-4)
    return function, x


@program("SVD, float32[200, 200]", why="the same call of LAPACK, and what runs differ by")
def svd(jax, jnp, np):
    host = np.random.default_rng(0).standard_normal((200, 200)).astype("f4")
    function, x = jax.jit(lambda x: jnp.linalg.svd(x)), jnp.array(host)
    u, s, vh = map(np.asarray, function(x))
    np.testing.assert_allclose((u * s) @ vh, host, atol=1e-3)
    return function, x


@program(
    "FFT and back, float32[256, 4096]",
    why="XLA is given the same operation by both; within what other runs differ by (2026-11-21)",
)
def fft_back(jax, jnp, np):
    host = np.random.default_rng(0).standard_normal((256, 4096)).astype("f4")
    function, x = jax.jit(lambda x: jnp.fft.irfft(jnp.fft.rfft(x))), jnp.array(host)
    np.testing.assert_allclose(function(x), host, atol=1e-5)
    return function, x
