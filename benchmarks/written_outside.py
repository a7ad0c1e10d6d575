"""The cost of transforms written on the public surface: times of ours, and their ratio.

    python -m benchmarks.written_outside

Each row is the minimum of many short rounds, the two taken in turns. Un-jitted and traced calls are
the calling thread's own work, and counted in its processor time, which a loaded machine disturbs
less; jitted ones, which XLA's threads run, in wall time.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import effax as fx
import effax.numpy as jnp

sys.path.append(str(Path(__file__).parents[1] / "examples" / "transforms"))

from batch import vmap
from dual import jvp

ROUNDS, SECONDS = 15, 0.03


def straight(x):
    """20 elementwise operations."""
    y = x
    for _ in range(5):
        y = jnp.sin(y) * x + jnp.cos(y)
    return y


def loop(x):
    """A scan of 50 steps, with a product of a matrix and a sum."""
    step = lambda c, _: (jnp.tanh(A @ c) + 0.1 * jnp.sum(x), None)  # noqa: E731
    return fx.lax.scan(step, x, None, length=50)[0]


A = jnp.sin(jnp.arange(64.0)).reshape(8, 8)
X, T = jnp.linspace(0.1, 1, 8), jnp.linspace(1, 2, 8)
PAIRS = {
    "dual.py / jvp": ((fx.jvp, jvp), lambda d, f: lambda x, t: d(f, (x,), (t,)), (X, T)),
    "batch.py / vmap": ((fx.vmap, vmap), lambda m, f: m(f), (jnp.stack([X, T, X * T]),)),
}


def microseconds(clock: Callable[[], float], *calls: Callable[[], object]) -> list[float]:
    """The least time of each, taken in turns."""
    counts = []
    for call in calls:
        call()
        start = clock()
        call()
        counts.append(max(1, int(SECONDS / (clock() - start))))
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for i, (call, count) in enumerate(zip(calls, counts, strict=True)):
            start = clock()
            for _ in range(count):
                fx.block_until_ready(call())
            best[i] = min(best[i], (clock() - start) / count * 1e6)
    return best


def ways(f: Callable[..., object], args: tuple[object, ...]) -> dict[str, Callable[[], object]]:
    """The call un-jitted, traced, and jitted."""
    jitted = fx.jit(f)
    return {
        "un-jitted": lambda: f(*args),
        "traced": lambda: fx.make_program(lambda *xs: f(*xs))(*args) and None,
        "jitted": lambda: jitted(*args),
    }


def main() -> None:
    """Print a row for each."""
    print(
        "| transform | function | way | ours, µs | written outside / ours |\n|---|---|---|---|---|"
    )
    for name, (both, make, args) in PAIRS.items():
        for f in (straight, loop):
            ours, theirs = (ways(make(one, f), args) for one in both)
            for way in ours:
                clock = time.perf_counter if way == "jitted" else time.thread_time
                a, b = microseconds(clock, ours[way], theirs[way])
                print(f"| {name} | {f.__name__} | {way} | {a:.0f} | {b / a:.2f} |")


if __name__ == "__main__":
    main()
