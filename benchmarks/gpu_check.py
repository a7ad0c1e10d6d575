"""On a GPU: first that effax computes there what NumPy does, then the seeds' headline ratios.

    python -m benchmarks.gpu_check [--quick]

Prints one JSON object and exits with 1 if a check failed. Without a GPU it says so and exits with
2. Needs the `cuda13` extra. A result must lie on the GPU, not only be right.
"""

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import effax as jax
import effax.numpy as jnp

CHECKS: dict[str, Callable[[], None]] = {}
RNG = np.random.default_rng(0)


def check(fn: Callable[[], None]) -> Callable[[], None]:
    CHECKS[fn.__name__] = fn
    return fn


def on_gpu(actual: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    """`actual` is NumPy's `expected`, and was computed on a GPU."""
    platforms = {device.platform for device in actual.devices()}
    assert platforms <= {"gpu", "cuda"}, f"the result is on {platforms}"
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=rtol, atol=atol)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape, "f4")


@check
def arithmetic():
    x, y = normal(64, 65), normal(64, 65)
    on_gpu(jnp.array(x) + jnp.array(y) * 2 - 1, x + y * 2 - 1)


@check
def transcendental():
    x = normal(1000)
    for name in ("sin", "tanh", "exp", "log1p", "sqrt"):
        positive = np.abs(x)
        on_gpu(getattr(jnp, name)(jnp.array(positive)), getattr(np, name)(positive))


@check
def kernels():
    """Kernels by Triton: attention and its gradient, a norm, parts of a block written in turn."""
    from effax.experimental import pallas as pl
    from effax.experimental.pallas import layers

    q, k, v = (jnp.array(normal(2, 4, 256, 64)) for _ in range(3))

    def plain(q, k, v):
        weights = jax.nn.softmax(jnp.einsum("bnth,bnsh->bnts", q, k) / 8, axis=-1)
        return jnp.einsum("bnts,bnsh->bnth", weights, v)

    def gradient(f):
        return jax.jit(jax.grad(lambda *xs: (f(*xs) ** 2).sum(), (0, 1, 2)))(q, k, v)

    def blocks(q, k, v):
        return layers.attention(q, k, v, block_q=64, block_k=64)

    on_gpu(jax.jit(blocks)(q, k, v), np.asarray(plain(q, k, v)), atol=1e-2)  # products in TF32
    for x, y in zip(gradient(blocks), gradient(plain), strict=True):
        on_gpu(x, np.asarray(y), rtol=1e-2, atol=2e-2)
    x, w = normal(64, 512), normal(512)
    size = np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)
    on_gpu(jax.jit(layers.rms_norm)(jnp.array(x), w), x / size * w)

    def sums(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...]

        @pl.loop(1, 8)
        def _(i: Any) -> None:
            o_ref[i, :] = o_ref[i, :] + o_ref[i - 1, :]

    x = normal(8, 1024)
    call = pl.pallas_call(sums, jax.ShapeDtypeStruct(x.shape, x.dtype))
    on_gpu(jax.jit(call)(jnp.array(x)), np.cumsum(x, axis=0))


@check
def matrices():
    """Decompositions by cuSOLVER and cuSPARSE, put together again."""
    with jax.default_matmul_precision("highest"):
        decompositions()


def decompositions():
    for shape in ((16, 8), (2, 64, 48), (1500, 20), (20, 1500)):
        x = normal(*shape)
        u, s, vh = jnp.linalg.svd(jnp.array(x), full_matrices=False)
        on_gpu((u * s[..., None, :]) @ vh, x, 1e-3, 1e-3)
        q, r = jnp.linalg.qr(jnp.array(x))
        on_gpu(q @ r, x, 1e-3, 1e-3)
    for batch in ((), (3,)):
        x = normal(*batch, 6, 6)
        lu, _, order = jax.lax.linalg.lu(jnp.array(x))
        both = (jnp.tril(lu, -1) + jnp.eye(6)) @ jnp.triu(lu)
        on_gpu(both, np.take_along_axis(x, np.asarray(order)[..., None], -2), 1e-3, 1e-3)
    d, b = 4 + np.abs(normal(9)), normal(9, 2)
    low, high = np.r_[0, normal(8)].astype("f4"), np.r_[normal(8), 0].astype("f4")
    full = np.diag(d) + np.diag(low[1:], -1) + np.diag(high[:-1], 1)
    found = jax.lax.linalg.tridiagonal_solve(*map(jnp.array, (low, d, high, b)))
    on_gpu(found, np.linalg.solve(full, b), 1e-3, 1e-3)
    x = normal(7, 7)
    _, d, e, _ = jax.lax.linalg.tridiagonal(jnp.array(x + x.T))
    form = jnp.diag(d) + jnp.diag(e, 1) + jnp.diag(e, -1)
    on_gpu(jnp.linalg.eigvalsh(form), np.linalg.eigvalsh(x + x.T), 1e-3, 1e-3)


@check
def written_reductions():
    """Reductions by loops of effects, and tridiagonal systems that cuSPARSE does not take."""
    with jax.default_matmul_precision("highest"):
        for lengths in ((8, 5), (5, 8), (3, 6, 6)):
            x = normal(*lengths)
            q, r, order = jax.lax.linalg.qr(jnp.array(x), pivoting=True, full_matrices=False)
            on_gpu(q @ r, np.take_along_axis(x, np.asarray(order)[..., None, :], -1), 1e-3, 1e-3)
            sizes = np.abs(np.diagonal(np.asarray(r), axis1=-2, axis2=-1))
            assert (sizes[..., 1:] <= sizes[..., :-1] * 1.001).all(), sizes
        x = normal(6, 6)
        h, q = jax.scipy.linalg.hessenberg(jnp.array(x), calc_q=True)
        on_gpu(q @ h @ q.T, x, 1e-3, 1e-3)
        for x in (normal(3, 6, 6), normal(5, 5) + 1j * normal(5, 5)):
            t, q = jax.scipy.linalg.schur(jnp.array(x))
            on_gpu(q @ t @ np.asarray(q).conj().swapaxes(-1, -2), x, 1e-3, 1e-3)
    one, b = np.ones(2, "f4"), normal(2, 3)
    found = jax.lax.linalg.tridiagonal_solve(one, jnp.zeros(2), one, jnp.array(b))
    on_gpu(found, b[::-1])
    none, middle = jnp.zeros(3), jnp.array([1.0, 0, 1])
    given = (none, middle, none, jnp.ones((3, 1)))
    on_gpu(jax.lax.linalg.tridiagonal_solve(*given, perturb_singular=True)[:, 0], [1, 2**23, 1])


@check
def general_matrices():
    """Eigenvalues by cuSOLVER, and by LAPACK on the host where left eigenvectors are asked for."""

    def check_right(x: np.ndarray, values: Any, right: Any) -> None:
        values, right = np.asarray(values), np.asarray(right)
        on_gpu(jnp.array(x) @ right, right * values[..., None, :], 1e-3, 1e-3)

    with jax.default_matmul_precision("highest"):
        for lengths in ((6, 6), (3, 6, 6)):
            for x in (normal(*lengths), normal(*lengths) + 1j * normal(*lengths)):
                trace = np.trace(x, axis1=-2, axis2=-1)
                on_gpu(jnp.sum(jnp.linalg.eigvals(jnp.array(x)), -1), trace, 1e-3, 1e-3)
                check_right(x, *jnp.linalg.eig(jnp.array(x)))
                values, left, right = jax.lax.linalg.eig(jnp.array(x))
                check_right(x, values, right)
                check_right(x.conj().swapaxes(-1, -2), np.conj(values), left)
    x = np.stack([np.eye(3, dtype="f4"), np.full((3, 3), np.nan, "f4")])
    wanted = np.array([[1] * 3, [complex(np.nan, np.nan)] * 3])
    on_gpu(jnp.linalg.eigvals(jnp.array(x)), wanted)


@check
def attention():
    """cuDNN's attention and its gradient beside the plain form; the bounds are bfloat16's."""
    q, k, v = (
        jnp.array(normal(2, t, n, 64), "bfloat16") for t, n in ((256, 8), (512, 2), (512, 2))
    )
    bias = jnp.array(normal(1, 8, 256, 512), "bfloat16")
    mask = jnp.array(RNG.random((2, 1, 256, 512)) < 0.8).at[..., 0].set(True)
    counted = np.array([200, 512], "int32")
    cases = (
        {},
        {"is_causal": True, "scale": 0.2},
        {"mask": mask},
        {"bias": bias, "mask": mask},
        {"is_causal": True, "local_window_size": (64, 0)},
        {"key_value_seq_lengths": counted},
    )
    for options in cases:

        def f(how, q, k, v, options=options):
            return jax.nn.dot_product_attention(q, k, v, implementation=how, **options)

        def slopes(how, f=f):
            return jax.grad(lambda *xs: (f(how, *xs).astype("float32") ** 2).sum(), (0, 1, 2))

        for form in (lambda how, f=f: jax.tree_util.Partial(f, how), slopes):
            ours, plain = (jax.jit(form(how))(q, k, v) for how in ("cudnn", "xla"))
            for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
                wide = np.asarray(y, "f4")
                on_gpu(x.astype("float32"), wide, rtol=0.05, atol=0.03 * np.abs(wide).max())
    lanes = [jnp.stack([x, 2 * x, -x]) for x in (q, k, v)]
    ours, plain = (
        jax.jit(
            jax.vmap(lambda *xs, how=how: jax.nn.dot_product_attention(*xs, implementation=how))
        )(*lanes)
        for how in ("cudnn", "xla")
    )
    on_gpu(ours.astype("float32"), np.asarray(plain, "f4"), rtol=0.05, atol=0.05)


@check
def integers():
    """Sorts of integers of 4 bits and convolutions of wide ones, which XLA for GPUs has not."""
    x = RNG.integers(-8, 8, (5, 9)).astype("int8")
    narrow = jnp.array(x).astype("int4")
    on_gpu(jnp.sort(narrow, axis=1).astype("int32"), np.sort(x, axis=1))
    on_gpu(jnp.argmin(narrow, axis=0), x.argmin(0))
    for dtype in ("int8", "uint8", "int16", "int32", "uint32"):
        ends = np.iinfo(dtype)
        x = RNG.integers(ends.min, ends.max, (2, 3, 8, 8), dtype, endpoint=True)
        w = RNG.integers(ends.min, ends.max, (4, 3, 3, 3), dtype, endpoint=True)
        cpu = jax.devices("cpu")[0]
        same = jax.lax.conv(jax.device_put(x, cpu), jax.device_put(w, cpu), (1, 1), "SAME")
        on_gpu(jax.lax.conv(jnp.array(x), jnp.array(w), (1, 1), "SAME"), np.asarray(same), 0, 0)


@check
def folds():
    """Sums that begin at another number than 0; pivots that point outside."""
    on_gpu(jax.lax.reduce(jnp.full(3, 2), 5, jax.lax.add, (0,)), 11)
    on_gpu(jax.lax.reduce_window(jnp.full(3, 2.0), 1.0, jax.lax.add, (2,)), np.full(2, 5.0))
    order = jax.lax.linalg.lu_pivots_to_permutation(jnp.array([9, -3, 2], "int32"), 4)
    on_gpu(order, [1, 3, 2, 0])


@check
def reductions():
    x = normal(37, 411)
    on_gpu(jnp.sum(jnp.array(x), axis=1), x.sum(1), atol=1e-4)
    on_gpu(jnp.max(jnp.array(x), axis=0), x.max(0))
    on_gpu(jnp.argmin(jnp.array(x), axis=1), x.argmin(1))
    on_gpu(jnp.cumsum(jnp.array(x), axis=1), x.cumsum(1), atol=1e-3)


@check
def indexing():
    x, rows = normal(50, 8), np.array([3, 3, 49, 0])
    on_gpu(jnp.array(x)[rows], x[rows])
    expected = x.copy()
    np.add.at(expected, rows, 1)
    on_gpu(jnp.array(x).at[rows].add(1), expected)


@check
def matmul():
    x, y = normal(300, 257), normal(257, 129)
    with jax.default_matmul_precision("highest"):
        on_gpu(jnp.array(x) @ jnp.array(y), x @ y, rtol=1e-3, atol=1e-3)


@check
def jit():
    x = normal(100, 100)
    f = jax.jit(lambda x: x + x * x + x * x * x)
    on_gpu(f(jnp.array(x)), x + x * x + x**3, atol=1e-4)


@check
def grad():
    x = normal(100)
    on_gpu(jax.grad(lambda x: jnp.sum(jnp.sin(x) * x))(jnp.array(x)), np.cos(x) * x + np.sin(x))
    on_gpu(jax.jit(jax.hessian(lambda x: jnp.sum(x**3)))(jnp.array(x)), np.diag(6 * x))


@check
def vmap():
    x, y = normal(32, 20), normal(20)
    on_gpu(jax.vmap(jnp.dot, in_axes=(0, None))(jnp.array(x), jnp.array(y)), x @ y,
           rtol=1e-2, atol=1e-2)  # fmt: skip


@check
def random():
    key = jax.random.PRNGKey(0)
    drawn = jax.random.uniform(key, (1000,))
    cpu = jax.devices("cpu")[0]
    same = jax.random.uniform(jax.device_put(key, cpu), (1000,))
    assert same.devices() == {cpu}
    on_gpu(drawn, np.asarray(same), rtol=0, atol=0)
    numbers = np.asarray(jax.random.normal(key, (100_000,)))
    assert abs(numbers.mean()) < 0.02 and abs(numbers.std() - 1) < 0.02


@check
def sort():
    x = normal(5, 1001)
    on_gpu(jnp.sort(jnp.array(x), axis=1), np.sort(x, axis=1))
    on_gpu(jnp.argsort(jnp.array(x), axis=1), np.argsort(x, axis=1))


@check
def scan():
    x = normal(40)

    def step(c, a):
        c = 0.5 * c + a
        return c, c

    c, expected = 0.0, []
    for a in x:
        c = 0.5 * c + a
        expected.append(c)
    on_gpu(jax.lax.scan(step, 0.0, jnp.array(x))[1], expected)


@check
def while_loop():
    steps = jax.lax.while_loop(lambda c: c[1] < 1e6, lambda c: (c[0] + 1, c[1] * 3), (0, 1.0))[0]
    on_gpu(steps, 13)


@check
def cholesky():
    a = normal(30, 30)
    spd = a @ a.T + 30 * np.eye(30, dtype="f4")
    with jax.default_matmul_precision("highest"):
        on_gpu(jnp.linalg.cholesky(jnp.array(spd)), np.linalg.cholesky(spd), rtol=1e-3, atol=1e-3)
        on_gpu(jnp.linalg.solve(jnp.array(spd), jnp.ones(30)),
               np.linalg.solve(spd, np.ones(30)), rtol=1e-2, atol=1e-4)  # fmt: skip


@check
def fft():
    x = normal(8, 64)
    on_gpu(jnp.fft.fft(jnp.array(x)).real, np.fft.fft(x).real, rtol=1e-3, atol=1e-3)


@check
def train_step():
    w, x, y = normal(8, 1), normal(64, 8), normal(64, 1)

    @jax.jit
    def step(w):
        loss, g = jax.value_and_grad(lambda w: jnp.mean((jnp.array(x) @ w - y) ** 2))(w)
        return loss, w - 0.1 * g

    with jax.default_matmul_precision("highest"):
        expected = w - 0.1 * 2 * x.T @ (x @ w - y) / 64
        on_gpu(step(jnp.array(w))[1], expected, rtol=1e-3, atol=1e-4)


def best(call: Callable[[], Any], repeats: int) -> float:
    """Least seconds of `repeats` calls, after one that warms up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def headlines(scale: float) -> dict[str, Any]:
    """The speeds the seeds claim: their programs at their sizes (times `scale`)."""
    rows: dict[str, Any] = {}

    def fn(x):
        return x + x * x + x * x * x

    def f(x):
        y1 = x + x * x + 3
        y2 = x * x + x * x.T
        return y1 * y2

    # Seed 001 reports 118 and seed 004 77, with NumPy on the host of each.
    for name, program, size in (("powers_10000", fn, 10_000), ("transposed_3000", f, 3000)):
        n = int(size * scale)
        host = normal(n, n)
        x, jitted = jnp.array(host), jax.jit(program)
        np.testing.assert_allclose(
            np.asarray(jitted(x)[:50, :50]), program(host)[:50, :50], rtol=1e-3, atol=1e-3
        )
        numpy_time = best(lambda program=program, host=host: program(host), 3)
        eager = best(lambda program=program, x=x: program(x).block_until_ready(), 10)
        compiled = best(lambda jitted=jitted, x=x: jitted(x).block_until_ready(), 20)
        rows[name] = {
            "size": n,
            "numpy_s": numpy_time,
            "effax_eager_s": eager,
            "effax_jit_s": compiled,
            "numpy_over_eager": numpy_time / eager,
            "numpy_over_jit": numpy_time / compiled,
        }

    # Seed 000: the dot product of 8000 × 8000 returns before it is done.
    n = int(8000 * scale)
    x = jax.random.uniform(jax.random.PRNGKey(0), (n, n), dtype=jnp.float32)
    jnp.dot(x, x).block_until_ready()
    start = time.perf_counter()
    result = jnp.dot(x, x)
    dispatched = time.perf_counter() - start
    result.block_until_ready()
    finished = time.perf_counter() - start
    host = np.asarray(x)
    np.testing.assert_allclose(np.asarray(result[:4]), host[:4] @ host, rtol=2e-2)
    rows["dot_8000"] = {
        "size": n,
        "numpy_s": best(lambda: host @ host, 1),
        "effax_dispatch_s": dispatched,
        "effax_done_s": finished,
    }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the headlines at a tenth of the size")
    options = parser.parse_args()
    try:
        devices = jax.devices("gpu")
    except RuntimeError as error:
        print(
            f"no GPU here: {error}\n(pip install 'effax[cuda13]' on a machine with an NVIDIA GPU)"
        )
        sys.exit(2)

    outcome: dict[str, str] = {}
    for name, run in CHECKS.items():
        try:
            run()
            outcome[name] = "ok"
        except Exception:
            outcome[name] = traceback.format_exc(limit=-4)
    failed = [name for name, text in outcome.items() if text != "ok"]
    report = {
        "device": [str(device) for device in devices],
        "kind": devices[0].device_kind,
        "checks": outcome,
        "failed": failed,
        "headlines": {} if failed else headlines(0.1 if options.quick else 1.0),
    }
    print(json.dumps(report, indent=1))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
