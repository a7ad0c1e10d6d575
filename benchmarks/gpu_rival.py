"""On a GPU: the same programs by effax and by JAX, in alternating fresh processes.

    python -m benchmarks.gpu_rival [--rounds 2] [--only attention]

Prints a table in Markdown: least seconds of the rounds, and their ratio. Each row's program has one
source, which gets the library as `jax`. Exits with 2 where there is no GPU. Kernels of effax's own
(docs/kernels.md) stand beside what JAX has for the same: cuDNN's attention, a norm by XLA.
"""

import argparse
import importlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.models import transformer, transformer_inputs

RNG = np.random.default_rng(0)
Rows = dict[str, Callable[[], Callable[[], Any]]]


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape, "f4")


def operations(jax: Any, jnp: Any) -> Rows:
    """Single operations on arrays that fill the chip, and calls on small ones."""

    def powers(x):
        return x + x * x + x * x * x

    def turned(x):
        return (x + x * x + 3) * (x * x + x * x.T)

    def of(f: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32") -> Any:
        def prepare() -> Callable[[], Any]:
            xs = [jnp.asarray(normal(*shape), dtype) for shape in shapes]
            return lambda: f(*xs)

        return prepare

    jit, square = jax.jit, (4096, 4096)
    spd = jit(lambda x: jnp.linalg.cholesky(x @ x.T + 2000 * jnp.eye(1000)))
    return {
        "eager x + y of 3": of(lambda x, y: x + y, (3,), (3,)),
        "jit call of 3": of(jit(lambda x: x + 1), (3,)),
        "powers 10000^2, eager": of(powers, (10_000, 10_000)),
        "powers 10000^2": of(jit(powers), (10_000, 10_000)),
        "transposed 3000^2": of(jit(turned), (3000, 3000)),
        "dot 8000^2": of(jit(jnp.dot), (8000, 8000), (8000, 8000)),
        "dot 8192^2 bf16": of(jit(jnp.dot), (8192, 8192), (8192, 8192), dtype="bfloat16"),
        "softmax 4096^2": of(jit(jax.nn.softmax), square),
        "softmax 4096^2 bf16": of(jit(jax.nn.softmax), square, dtype="bfloat16"),
        "logsumexp 4096^2": of(jit(lambda x: jax.nn.logsumexp(x, axis=-1)), square),
        "max by columns 4096^2": of(jit(lambda x: x.max(0)), square),
        "argmax 4096^2": of(jit(lambda x: x.argmax(1)), square),
        "cumsum 4096^2": of(jit(lambda x: jnp.cumsum(x, axis=1)), square),
        "sort 10^7": of(jit(jnp.sort), (10_000_000,)),
        "argsort 10^6": of(jit(jnp.argsort), (1_000_000,)),
        "median 10^6": of(jit(jnp.median), (1_000_000,)),
        "sin, grad 10^7": of(jit(jax.grad(lambda x: jnp.sin(x).sum())), (10_000_000,)),
        "normal 10^7": of(
            jit(lambda _: jax.random.normal(jax.random.PRNGKey(0), (10_000_000,))), ()
        ),
        "fft 1024^2": of(jit(lambda x: jnp.fft.fft2(x).real), (1024, 1024)),
        "svd 512^2": of(jit(lambda x: jnp.linalg.svd(x)[1]), (512, 512)),
        "svd 50000x16": of(jit(lambda x: jnp.linalg.svd(x, full_matrices=False)[1]), (50_000, 16)),
        "eigh 512^2": of(jit(lambda x: jnp.linalg.eigh(x + x.T)[0]), (512, 512)),
        "qr 1000^2": of(jit(lambda x: jnp.linalg.qr(x)[1]), (1000, 1000)),
        "solve 1000^2": of(jit(jnp.linalg.solve), (1000, 1000), (1000, 8)),
        "cholesky 1000^2": of(spd, (1000, 1000)),
        "expm 256^2": of(jit(lambda x: jax.scipy.linalg.expm(x / 16)), (256, 256)),
        "scan 1000 steps of tanh(x @ w)": of(
            jit(lambda x, w: jax.lax.scan(lambda x, _: (jnp.tanh(x @ w), None), x, None, 1000)[0]),
            (64, 256),
            (256, 256),
        ),
        "conv 32x128x56x56, 3x3": of(
            jit(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME")),
            (32, 128, 56, 56),
            (128, 128, 3, 3),
        ),
        "depthwise conv 32x128x56x56, 3x3, grad": of(
            jit(
                jax.grad(
                    lambda x, w: (
                        jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=128)
                        ** 2
                    ).sum(),
                    (0, 1),
                )
            ),
            (32, 128, 56, 56),
            (128, 1, 3, 3),
        ),
        "scatter-add 10^6 into 10^5": of(
            jit(lambda x, i: x.at[(i * 1e4).astype("int32")].add(1.0)), (100_000,), (1_000_000,)
        ),
        "gather 10^6 rows of 16": of(
            jit(lambda x, i: x[(jnp.abs(i) * 1e4).astype("int32")]), (100_000, 16), (1_000_000,)
        ),
    }


def training(jax: Any, jnp: Any) -> Rows:
    """Training steps, and what it takes to compile one."""

    def mlp() -> Callable[[], Any]:
        params = [jnp.asarray(normal(1024, 1024) / 32) for _ in range(6)]
        x, y = jnp.asarray(normal(512, 1024)), jnp.asarray(normal(512, 1024))

        def loss(params, x, y):
            for w in params:
                x = jax.nn.gelu(x @ w)
            return jnp.mean((x - y) ** 2)

        @jax.jit
        def step(params):
            grads = jax.grad(loss)(params, x, y)
            return [w - 0.1 * g for w, g in zip(params, grads, strict=True)]

        return lambda: step(params)

    def layers(n: int, compile: bool) -> Callable[[], Callable[[], Any]]:
        def prepare() -> Callable[[], Any]:
            params, x = transformer_inputs(np, n)
            params = jax.tree.map(jnp.asarray, params)
            x = jnp.asarray(x)
            f = jax.value_and_grad(transformer(jax, jnp, n))
            if compile:
                return lambda: jax.jit(lambda p, x: f(p, x)).lower(params, x).compile() and x
            step = jax.jit(f)
            return lambda: step(params, x)

        return prepare

    return {
        "MLP step, 6 x 1024, 512 rows": mlp,
        "12 transformer layers, value_and_grad": layers(12, False),
        "12 transformer layers, compile": layers(12, True),
    }


def kernels(jax: Any, jnp: Any) -> Rows:
    """Attention and a norm; rows that name a kernel of effax's take it where `jax` is effax."""
    ours = jax.__name__ == "effax"
    if ours:
        from effax.experimental.pallas import layers

    def plain(q, k, v):
        x = jnp.einsum("bnth,bnsh->bnts", q, k) / q.shape[-1] ** 0.5
        mask = jnp.tril(jnp.ones(x.shape[-2:], bool))
        return jnp.einsum("bnts,bnsh->bnth", jax.nn.softmax(jnp.where(mask, x, -1e9), -1), v)

    def fused(q, k, v):
        q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
        out = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
        return jnp.swapaxes(out, 1, 2)

    def kernel(q, k, v):
        return layers.attention(q, k, v, is_causal=True) if ours else fused(q, k, v)

    def row(f: Callable[..., Any], shape: tuple[int, ...], gradient: bool) -> Any:
        def prepare() -> Callable[[], Any]:
            xs = [jnp.asarray(normal(*shape), "bfloat16") for _ in range(3)]
            g = jax.grad(lambda *xs: f(*xs).astype("float32").sum(), (0, 1, 2))
            call = jax.jit(g if gradient else f)
            return lambda: call(*xs)

        return prepare

    rows: Rows = {}
    for size in (1024, 4096):
        shape = (4, 16, size, 64)
        for name, f in (
            ("plain", plain),
            ("cuDNN's", fused),
            ("effax's kernel against cuDNN's", kernel),
        ):
            for gradient in (False, True):
                label = f"causal attention {size} bf16, {name}" + (", grad" if gradient else "")
                rows[label] = row(f, shape, gradient)

    def norm(x, w):
        if ours:
            return layers.rms_norm(x, w)
        wide = x.astype("float32")
        size = jnp.sqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
        return (wide / size).astype(x.dtype) * w

    def norms() -> Callable[[], Any]:
        x, w = jnp.asarray(normal(16384, 4096), "bfloat16"), jnp.asarray(normal(4096), "bfloat16")
        call = jax.jit(norm)
        return lambda: call(x, w)

    rows["rms_norm 16384 x 4096 bf16, effax's kernel"] = norms
    return rows


def seconds(jax: Any, call: Callable[[], Any]) -> float:
    """Seconds of a call when as many follow each other as fill 50 ms; the least of 3."""
    jax.block_until_ready(call())
    start = time.perf_counter()
    jax.block_until_ready(call())
    times = min(200, max(1, int(0.05 / (time.perf_counter() - start))))
    least = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(times):
            result = call()
        jax.block_until_ready(result)
        least = min(least, (time.perf_counter() - start) / times)
    return least


def child(library: str, only: str) -> None:
    """Print, a line each, the row's name and its seconds, or what it raised."""
    jax = importlib.import_module(library)
    jnp = importlib.import_module(f"{library}.numpy")
    importlib.import_module(f"{library}.scipy.linalg")
    for table in (operations, training, kernels):
        for name, prepare in table(jax, jnp).items():
            if re.search(only, name):
                try:
                    outcome: Any = seconds(jax, prepare())
                except Exception as error:  # a row that one library refuses is a row of the table
                    outcome = f"{type(error).__name__}: {error}"[:200]
                print(json.dumps([name, outcome]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="rows whose names hold this pattern")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.only)
        return
    import effax

    try:
        print(effax.devices("gpu")[0].device_kind)
    except RuntimeError as error:
        print(f"no GPU here: {error}")
        sys.exit(2)
    found: dict[str, dict[str, Any]] = {}
    for turn in range(options.rounds):
        for library in ("effax", "jax")[:: 1 if turn % 2 == 0 else -1]:
            command = [sys.executable, "-m", "benchmarks.gpu_rival", "--child", library]
            done = subprocess.run(
                [*command, "--only", options.only], capture_output=True, text=True, check=False
            )
            for line in done.stdout.splitlines():
                name, outcome = json.loads(line)
                before = found.setdefault(name, {}).get(library)
                both = [x for x in (before, outcome) if isinstance(x, float)]
                found[name][library] = min(both) if both else outcome
            if done.returncode:
                print(f"{library} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    print("| what | effax | jax | ratio |\n|---|--:|--:|--:|")
    for name, row in found.items():
        ours, theirs = row.get("effax"), row.get("jax")
        told = [f"{x * 1e3:.4g} ms" if isinstance(x, float) else str(x) for x in (ours, theirs)]
        ratio = (
            f"{ours / theirs:.2f}" if isinstance(ours, float) and isinstance(theirs, float) else ""
        )
        print(f"| {name} | {told[0]} | {told[1]} | {ratio} |")


if __name__ == "__main__":
    main()
