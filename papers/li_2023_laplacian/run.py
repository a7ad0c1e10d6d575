"""The forward Laplacian: the trace of the Hessian, for less than the Hessian's work.

Prints claim, measurement and verdict; `--large` adds times at the size of folx's benchmark.
"""

import importlib
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

import effax as fx
import effax.numpy as jnp

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "transforms"))
example = importlib.import_module("laplacian")


def network(d, width=64, layers=3):
    """A network of d inputs with one output."""
    random = np.random.default_rng(0)
    sizes = [d] + [width] * layers
    weights = [
        (random.normal(size=(n, m)) / np.sqrt(m)).astype(np.float32) for m, n in pairwise(sizes)
    ]

    def f(x):
        for w in weights:
            x = jnp.tanh(w @ x)
        return jnp.sum(x)

    return f


def forward(f):
    return lambda x: example.forward_laplacian(f)(x).sum


def by_hessian(f):
    return lambda x: jnp.trace(fx.hessian(f)(x))


def by_loop(f):
    """Second derivatives along one axis after the other, forward over reverse."""

    def laplacian(x):
        def along(total, v):
            return total + jnp.vdot(v, fx.jvp(fx.grad(f), (x,), (v,))[1]), None

        return fx.lax.scan(along, 0.0 * x[0], jnp.eye(x.size))[0]

    return laplacian


WAYS = {"forward": forward, "hessian": by_hessian, "loop": by_loop}


def flops(g, x):
    """Return XLA's count of operations for the compiled function; a loop's body counts once."""
    return fx.jit(g).lower(x).compile().cost_analysis()["flops"]


def rows(d=32):
    """Claim, measurement, whether it holds."""
    f, x = network(d), jnp.asarray(np.random.default_rng(1).normal(size=d), jnp.float32)
    values = {name: float(fx.jit(way(f))(x)) for name, way in WAYS.items()}
    error = max(abs(v / values["hessian"] - 1) for v in values.values())
    yield "it is the trace of the Hessian", f"relative difference {error:.0e}", error < 1e-4
    work = {name: flops(way(f), x) for name, way in WAYS.items()}
    ratio = work["hessian"] / work["forward"]
    yield (
        "it takes half the work of the Hessian, and less",
        f"{work['hessian']:.3g} and {work['forward']:.3g} operations: {ratio:.2f} times",
        ratio > 1.6,
    )
    per_input = [
        flops(forward(network(n)), jnp.ones(n)) / flops(network(n), jnp.ones(n)) for n in (16, 64)
    ]
    yield (
        "it takes about d + 2 evaluations of f, for d inputs",
        ", ".join(f"d = {n}: {r:.1f}" for n, r in zip((16, 64), per_input, strict=True)),
        all(n < r < 1.4 * (n + 2) for n, r in zip((16, 64), per_input, strict=True)),
    )


def times(d, batch, width):
    """Milliseconds on a batch, compiled."""
    f, x = network(d, width), np.random.default_rng(1).normal(size=(batch, d)).astype(np.float32)
    for name, way in WAYS.items():
        run = fx.jit(fx.vmap(way(f))).lower(x).compile()
        fx.block_until_ready(run(x))
        start = time.perf_counter()
        for _ in range(3):
            fx.block_until_ready(run(x))
        yield f"  d = {d}, {batch} points, {name:8} {(time.perf_counter() - start) / 3e-3:8.1f} ms"


def main():
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print("NOTE  not reproduced: the sparse Jacobians and the quantum chemistry of the paper")
    for line in times(64, 256, 256) if "--large" in sys.argv else times(16, 32, 32):
        print(line)
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
