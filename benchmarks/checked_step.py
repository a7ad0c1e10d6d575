"""The cost of checkify on a training step: a network of 784-512-512-10 units, 128 rows, compiled.

python benchmarks/checked_step.py [effax | jax]
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

SIZES = (784, 512, 512, 10)
ROWS = 128
ROUNDS = 60
SETS = ("user_checks", "nan_checks", "index_checks", "float_checks", "all_checks")


def steps(name: str) -> tuple[dict[str, Callable[..., Any]], tuple[Any, ...], Any]:
    """Compiled steps, plain and checked, their arguments, and the library."""
    fx = importlib.import_module(name)
    jnp = importlib.import_module(f"{name}.numpy")
    checkify = importlib.import_module(f"{name}.experimental.checkify")
    generator = np.random.default_rng(0)

    def array(*shape: int) -> Any:
        return jnp.asarray(generator.normal(size=shape).astype(np.float32) * 0.05)

    def loss(params: Any, x: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            x = fx.nn.relu(x @ w + b)
        w, b = params[-1]
        return -jnp.mean(fx.nn.log_softmax(x @ w + b)[jnp.arange(ROWS), y])

    def step(params: Any, x: Any, y: Any) -> Any:
        value, slope = fx.value_and_grad(loss)(params, x, y)
        checkify.debug_check(value < 100, "loss {}", value)
        return value, fx.tree.map(lambda p, g: p - 0.01 * g, params, slope)

    params = [(array(a, b), jnp.zeros(b)) for a, b in pairwise(SIZES)]
    labels = jnp.asarray(generator.integers(0, 10, ROWS).astype(np.int32))
    found = {"plain": fx.jit(step)}
    for kind in SETS:
        found[kind] = fx.jit(checkify.checkify(step, errors=getattr(checkify, kind)))
    return found, (params, array(ROWS, SIZES[0]), labels), fx


def main() -> None:
    """Print the least time of each, and what checking adds."""
    found, args, fx = steps(sys.argv[1] if len(sys.argv) > 1 else "effax")
    best = dict.fromkeys(found, float("inf"))
    for _ in range(ROUNDS + 1):
        for name, f in found.items():
            start = time.perf_counter()
            fx.block_until_ready(f(*args))
            best[name] = min(best[name], time.perf_counter() - start)
    for name, seconds in best.items():
        print(f"{name:13} {seconds * 1e3:7.3f} ms {(seconds / best['plain'] - 1) * 100:+6.1f} %")


if __name__ == "__main__":
    main()
