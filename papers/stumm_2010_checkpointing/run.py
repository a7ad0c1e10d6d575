"""Online checkpointing: what reverse mode through `while_loop(..., checkpoints=c)` costs.

Prints claim, measurement and verdict; `--large` adds the longer loops to the table of times.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from math import comb
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import lax


@cache
def least(n: int, c: int) -> int:
    """The fewest advances that reverse n steps with c slots, by trying every place to store."""
    if n <= 1:
        return 0
    if c == 1:
        return n * (n - 1) // 2
    return min(m + least(n - m, c - 1) + least(m, c) for m in range(1, n))


def repetitions(n: int, c: int) -> int:
    """The least t with n <= binomial(c + t, t)."""
    return next(t for t in range(n + 1) if n <= comb(c + t, t))


def formula(n: int, c: int) -> int:
    """Griewank & Walther's closed form of `least`."""
    t = repetitions(n, c)
    return t * n - comb(c + t, t - 1) if t else 0


def counter(c: int) -> Callable[[int], Counter[int]]:
    """Count how often each step is advanced in the gradient of a loop with c slots."""
    seen: list[int] = []

    def f(x: Any, n: Any) -> Any:
        def body(s: Any) -> Any:
            effax.debug.callback(lambda i: seen.append(int(i)), s[0])
            return s[0] + 1, jnp.sin(s[1])

        return lax.while_loop(lambda s: s[0] < n, body, (0, x), checkpoints=c)[1]

    gradient = effax.jit(effax.grad(f))

    def count(n: int) -> Counter[int]:
        seen.clear()
        effax.block_until_ready(gradient(0.5, n))
        effax.effects_barrier()
        return Counter({i: k - 1 for i, k in Counter(seen).items()})  # one is the pull back

    return count


def counts() -> dict[tuple[int, int], Counter[int]]:
    """Measured advances, by slots and length."""
    found = {}
    for c in (1, 2, 3, 4, 5):
        count = counter(c)
        for n in (1, 2, 3, 4, 5, 6, 8, 10, 13, 15, 20, 21, 28, 35, 56, 70):
            found[c, n] = count(n)
    return found


def temporary_bytes(size: int, c: int) -> int:
    """Return the gradient's memory beside arguments and results, for a carry of `size` f32."""

    def f(x: Any, n: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, y: jnp.sin(y) * 1.01, x, checkpoints=c).sum()

    compiled = effax.jit(effax.grad(f)).lower(np.zeros(size, np.float32), 10).compile()
    return int(compiled.memory_analysis().temp_size_in_bytes)


def rows() -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    measured = counts()
    wrong = [(n, c) for n in range(1, 61) for c in range(1, 7) if least(n, c) != formula(n, c)]
    yield (
        "Griewank & Walther 2000: with n known, t n - binomial(c + t, t - 1) advances are the least",
        f"{len(wrong)} differences from exhaustive search, n <= 60, c <= 6",
        not wrong,
    )
    short = {k: v for k, v in measured.items() if 1 < k[1] <= (k[0] + 1) * (k[0] + 2) // 2}
    extra = {v.total() - formula(n, c) for (c, n), v in short.items()}
    yield (
        "Stumm & Walther 2010: without knowing n, as few while n <= (c + 1)(c + 2) / 2",
        f"{sorted(extra)} more in {len(short)} gradients: the last step, which shows the end",
        extra == {1},
    )
    often = {k: max(v.values()) for k, v in measured.items()}
    over = [k for k, most in often.items() if most > max(repetitions(k[1], k[0]), 1)]
    yield (
        "Wang, Moin & Iaccarino 2009: no step is advanced more than t times, for any n",
        f"{len(over)} of {len(often)} gradients with more; most: {max(often.values())}",
        not over,
    )
    sizes = {c: temporary_bytes(10_000, c) for c in (2, 4, 8, 16)}
    slopes = [(sizes[2 * c] - sizes[c]) / (c * 40_000) for c in (2, 4, 8)]
    yield (
        "memory is O(c), whatever n",
        "states of memory for each slot more: " + ", ".join(f"{s:.2f}" for s in slopes),
        all(s <= 1.1 for s in slopes),
    )


def beyond(measured: dict[tuple[int, int], Counter[int]]) -> float:
    """The worst ratio to the least, for lengths beyond Stumm & Walther's."""
    return max(v.total() / (formula(n, c) + 1) for (c, n), v in measured.items() if n > 1)


def table(lengths: tuple[int, ...], size: int = 10_000) -> Iterator[str]:
    """Seconds and temporary bytes against the number of steps, beside a scan that stores all."""

    def step(y: Any) -> Any:
        return jnp.sin(y) * 1.01

    x = np.linspace(0.0, 1.0, size, dtype=np.float32)
    for n in lengths:
        for c in (2, 8, 32, 0):

            def f(x: Any, n: Any, c: int = c, steps: int = n) -> Any:
                if c:
                    return lax.fori_loop(0, n, lambda i, y: step(y), x, checkpoints=c).sum()
                return lax.fori_loop(0, steps, lambda i, y: step(y), x).sum()

            compiled = effax.jit(effax.grad(f)).lower(x, n).compile()
            memory = compiled.memory_analysis().temp_size_in_bytes / 1e6
            seconds = min(_timed(compiled, x, n) for _ in range(3))
            kind = f"{c:3d} slots" if c else "all stored"
            bound = f"{formula(n, c) + 1:8d}" if c else f"{n:8d}"
            yield f"  {n:6d} {kind:>10} {bound} advances at least {seconds * 1e3:9.2f} ms {memory:8.2f} MB"


def _timed(compiled: Any, *args: Any) -> float:
    start = time.perf_counter()
    effax.block_until_ready(compiled(*args))
    return time.perf_counter() - start


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(f"NOTE  longer loops: at most {beyond(counts()):.2f} times the least (no claim)")
    print("NOTE  not reproduced: Stumm & Walther's own algorithms for longer loops")
    print("time and memory, a carry of 10000 f32:")
    for line in table((100, 1000, 10_000) if "--large" in sys.argv else (100, 400)):
        print(line)
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
