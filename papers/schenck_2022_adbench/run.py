"""Reverse mode of bulk operations is bulk operations; and what gradients cost on ADBench's functions.

Prints claim, measurement and verdict; `--large` takes larger sizes. Operations are counted in
programs; times are those of compiled functions, and no verdict rests on them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

import effax
import effax.numpy as jnp
from effax import lax
from effax.extend import Program
from effax.nn import logsumexp

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "transforms"))
from cost import estimate

LOOPS = {"while", "scan"}
BOUND = 5.0

# ---------------------------------------------------------------------------- bulk operations


def affine(one: Any, other: Any) -> Any:
    """Two steps of a linear recurrence as one."""
    return one[0] * other[0], one[1] * other[0] + other[1]


BULK: dict[str, Callable[[Any], Any]] = {
    "map": lambda x: jnp.sum(effax.vmap(lambda a: jnp.sin(a) * a)(x)),
    "map of map": lambda x: jnp.sum(effax.vmap(lambda a: effax.vmap(jnp.tanh)(a * x))(x)),
    "reduce +": lambda x: jnp.sum(x) ** 2,
    "reduce max": lambda x: jnp.max(x) ** 2,
    "reduce *": lambda x: jnp.prod(x),
    "scan +": lambda x: jnp.sum(jnp.cumsum(x) ** 2),
    "scan max": lambda x: jnp.sum(lax.cummax(x) ** 2),
    "scan *": lambda x: jnp.sum(jnp.cumprod(x) ** 2),
    "hist +": lambda x: jnp.sum(jnp.zeros(4).at[jnp.arange(x.size) % 4].add(x * x) ** 2),
    "scatter": lambda x: jnp.sum(jnp.zeros(x.size).at[::-1].set(x * x) * x),
    "gather": lambda x: jnp.sum(x[jnp.arange(x.size) // 2] ** 3),
    "scan of a linear recurrence": lambda x: jnp.sum(lax.associative_scan(affine, (x, x * x))[1]),
    "matmul": lambda x: jnp.sum(jnp.tanh(jnp.outer(x, x) @ x)),
}
LOGARITHMIC = {"reduce *", "scan max", "scan *", "scan of a linear recurrence"}


def effects_of(program: Program) -> list[str]:
    """The effects of a program and of those inside it."""
    found = []
    for e in program.equations:
        found.append(e.effect.name)
        for inner in e.programs():
            found += effects_of(inner)
    return found


def gradient_effects(f: Callable[..., Any], n: int) -> list[str]:
    """List the effects in the gradient of a function of n numbers."""
    return effects_of(effax.make_program(effax.grad(f))(np.linspace(0.5, 1.5, n)))


def largest(program: Program) -> int:
    """The elements of the largest array in a program."""
    sizes = [y.type.size for e in program.equations for y in e.outputs]
    inner = [largest(p) for e in program.equations for p in e.programs()]
    return max(sizes + inner, default=0)


def stacked(f: Callable[..., Any], x: Any) -> int:
    """Count the arrays that the forward loop of a gradient keeps, one row for each step."""
    program = effax.make_program(effax.grad(f))(x)
    loop = next(e for e in program.equations if e.effect.name == "scan")
    return len(loop.outputs) - loop.attributes["carry"]


def differences(f: Callable[..., Any], x: Any, u: Any, h: float = 1e-6) -> float:
    """The slope of a function in a direction."""
    return float((f(x + h * u) - f(x - h * u)) / (2 * h))


# -------------------------------------------------------------------------------------- ADBench


def gaussians(p: Any, x: Any) -> Any:
    """The log-likelihood of a mixture of Gaussians, each by a triangular root of its precision."""
    alphas, means, logs, lower = p
    d = x.shape[1]
    rows, columns = np.tril_indices(d, -1)

    def root(log: Any, below: Any) -> Any:
        return jnp.diag(jnp.exp(log)).at[rows, columns].set(below)

    roots = effax.vmap(root)(logs, lower)
    away = x[:, None, :] - means
    squares = jnp.sum(jnp.einsum("kij,nkj->nki", roots, away) ** 2, axis=-1)
    each = logsumexp(alphas + jnp.sum(logs, axis=1) - 0.5 * squares, axis=1)
    return jnp.sum(each) - x.shape[0] * (logsumexp(alphas) + 0.5 * d * np.log(2 * np.pi))


def gmm(p: Any, x: Any, gamma: float = 1.0) -> Any:
    """ADBench's objective: with Wishart's prior, up to its constant."""
    _, _, logs, lower = p
    prior = 0.5 * gamma**2 * (jnp.sum(jnp.exp(logs) ** 2) + jnp.sum(lower**2)) - jnp.sum(logs)
    return gaussians(p, x) - prior


def kmeans(centers: Any, x: Any) -> Any:
    """The squared distances to the nearest centers, added."""
    return jnp.sum(jnp.min(jnp.sum((x[:, None, :] - centers) ** 2, axis=-1), axis=1))


def lstm(p: Any, x: Any) -> Any:
    """The loss of a network with long short-term memory, that predicts the next input."""
    inputs, state, bias, out = p
    h = state.shape[0]

    def step(carry: Any, pair: Any) -> Any:
        now, following = pair
        hidden, cell = carry
        gates = now @ inputs + hidden @ state + bias
        forget, write, read = (effax.nn.sigmoid(gates[i * h : (i + 1) * h]) for i in range(3))
        cell = forget * cell + write * jnp.tanh(gates[3 * h :])
        hidden = read * jnp.tanh(cell)
        predicted = hidden @ out
        return (hidden, cell), jnp.sum((predicted - following) ** 2)

    start = (jnp.zeros(h), jnp.zeros(h))
    _, losses = lax.scan(step, start, (x[:-1], x[1:]))
    return jnp.sum(losses)


def problems(size: int) -> dict[str, tuple[Callable[..., Any], Any, Any]]:
    """Functions, parameters and data."""
    g = np.random.default_rng(0)
    n, d, k, h = 16 * size, 3 + size // 4, 2 + size, 4 + 4 * size
    x = g.normal(size=(n, d))
    mixture = (
        g.normal(size=k),
        g.normal(size=(k, d)),
        0.1 * g.normal(size=(k, d)),
        0.1 * g.normal(size=(k, d * (d - 1) // 2)),
    )
    cells = (
        0.3 * g.normal(size=(d, 4 * h)),
        0.3 * g.normal(size=(h, 4 * h)),
        np.zeros(4 * h),
        0.3 * g.normal(size=(h, d)),
    )
    return {
        "GMM": (gmm, mixture, x),
        "k-means": (kmeans, g.normal(size=(k, d)), x),
        "LSTM": (lstm, cells, x),
    }


def flops(f: Callable[..., Any], *args: Any) -> int:
    """Operations of a call, by its program."""
    return int(estimate(f)(*args)[0])


def milliseconds(f: Callable[..., Any], *args: Any) -> float:
    """The least time of a compiled call."""
    run = effax.jit(f)
    effax.block_until_ready(run(*args))
    times = []
    for _ in range(20):
        start = time.perf_counter()
        effax.block_until_ready(run(*args))
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def sloped(f: Callable[..., Any], p: Any, x: Any) -> bool:
    """Whether the gradient is the slope, in a random direction."""
    g = np.random.default_rng(1)
    u = effax.tree.map(lambda a: g.normal(size=np.shape(a)), p)
    gradient = effax.jit(effax.grad(f))(p, x)
    along = sum(np.vdot(a, b) for a, b in zip(*map(effax.tree.leaves, (gradient, u)), strict=True))
    run = effax.jit(f)

    def line(t: Any) -> Any:
        return run(effax.tree.map(lambda a, b: a + t * b, p, u), x)

    return bool(np.isclose(along, differences(line, 0.0, 1.0), 1e-5))


def rows(size: int = 2, timed: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    with effax.enable_x64(True):
        yield from _bulk()
        yield from _loop()
        yield from _adbench(size, timed)


def _bulk() -> Iterator[tuple[str, str, bool]]:
    small, large = ({k: gradient_effects(f, n) for k, f in BULK.items()} for n in (8, 64))
    loops = [k for k, names in large.items() if LOOPS & set(names)]
    yield (
        "reverse of map, reduce, scan, hist, scatter and gather is bulk operations, without a loop",
        f"{len(BULK)} functions, {min(map(len, large.values()))} to {max(map(len, large.values()))} "
        f"operations at n = 64{'; with a loop: ' + ', '.join(loops) if loops else ''}",
        not loops,
    )
    deep = {k: (len(small[k]), len(large[k])) for k in BULK if len(large[k]) != len(small[k])}
    yield (
        "as many operations for any n; for products and scans by other operators than +, O(log n)",
        f"n = 8 and 64: {len(BULK) - len(deep)} functions the same; "
        + ", ".join(f"{k} {a} and {b}" for k, (a, b) in deep.items()),
        set(deep) <= LOGARITHMIC and all(b < 3 * a for a, b in deep.values()),
    )
    kept = {}
    for name in ("reduce *", "scan *", "reduce max", "hist +"):
        program = effax.make_program(effax.grad(BULK[name]))(np.linspace(0.5, 1.5, 64))
        kept[name] = largest(program) / 64
    yield (
        "no array is larger than O(n)",
        ", ".join(f"{k} {v:.3g} n" for k, v in kept.items()),
        max(kept.values()) <= 2,
    )


def _loop() -> Iterator[tuple[str, str, bool]]:
    def body(c: Any, a: Any) -> Any:
        return jnp.sin(c) * jnp.exp(-c * a) + jnp.tanh(c * c), None

    def plain(x: Any) -> Any:
        return lax.scan(body, 0.1 + 0 * x[0], x)[0]

    def again(x: Any) -> Any:
        return lax.scan(effax.checkpoint(body), 0.1 + 0 * x[0], x)[0]

    x = np.linspace(0.5, 1.5, 16)
    one, other = stacked(plain, x), stacked(again, x)
    yield (
        "a sequential loop keeps its carries; what else it keeps is computed again where so said",
        f"{one} arrays with a row for each step; with checkpoint {other}",
        other < one and np.allclose(effax.grad(plain)(x), effax.grad(again)(x)),
    )


def _adbench(size: int, timed: bool) -> Iterator[tuple[str, str, bool]]:
    cases = problems(size)
    _, (alphas, means, logs, lower), x = cases["GMM"]
    weights = np.exp(alphas - np.logaddexp.reduce(alphas))
    at = np.tril_indices(x.shape[1], -1)
    density = 0.0
    for w, m, q, below in zip(weights, means, logs, lower, strict=True):
        root = np.diag(np.exp(q))
        root[at] = below
        density = density + w * multivariate_normal(m, np.linalg.inv(root.T @ root)).pdf(x)  # pyright: ignore[reportArgumentType]
    found = float(gaussians((alphas, means, logs, lower), x))
    yield (
        "GMM is a mixture of Gaussians",
        f"log-likelihood {found:.6f}, by SciPy {np.log(density).sum():.6f}",
        bool(np.isclose(found, np.log(density).sum(), 1e-10)),
    )
    for name, (f, p, data) in cases.items():
        both = effax.value_and_grad(f)
        one, other = flops(f, p, data), flops(both, p, data)
        clock = ""
        if timed:
            a, b = milliseconds(f, p, data), milliseconds(both, p, data)
            clock = f"; {a:.3f} ms and {b:.3f} ms, {b / a:.1f} times"
        yield (
            f"{name}: value and gradient take at most {BOUND:.0f} times the function's operations",
            f"{other / one:.2f} times, of {one}{clock}; gradient = differences",
            other <= BOUND * one and sloped(f, p, data),
        )
    f, centers, data = cases["k-means"]
    curve = effax.jit(lambda c: effax.jvp(lambda c: effax.grad(f)(c, data), (c,), (c * 0 + 1,))[1])
    nearest = np.argmin(((data[:, None] - centers) ** 2).sum(-1), 1)
    counts = np.bincount(nearest, minlength=len(centers))
    yield (
        "k-means: the Hessian's diagonal by forward of reverse mode",
        f"twice the sizes of the clusters, {counts.tolist()}",
        np.allclose(curve(centers), 2.0 * counts[:, None] + 0 * centers),
    )


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    results = list(rows(16 if "--large" in sys.argv else 4, timed=True))
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(
        "NOTE  not reproduced: ADBench's data sets, GPU times, and the comparison with other tools"
    )
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
