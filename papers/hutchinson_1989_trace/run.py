"""Hutchinson's estimator: the trace of a matrix that is only multiplied by, here a Hessian.

Prints claim, measurement and verdict; `--large` draws more often.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import lax, random

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "transforms"))
from cost import estimate
from seed import repeat, sample, seed

N = 12
Sampler = Callable[[], Any]


def rademacher() -> Any:
    """Signs, each with probability one half."""
    return sample(random.rademacher, (N,), "float32")


def gaussian() -> Any:
    """Standard normal numbers."""
    return sample(random.normal, (N,))


def potential(x: Any) -> Any:
    """Coupled oscillators, with a loop: what a scan accumulates."""

    def step(c: Any, a: Any) -> Any:
        return jnp.tanh(c + a), a * a * c

    _, terms = lax.scan(step, x[0], x)
    return jnp.sum(terms) + jnp.sum(jnp.cos(x[1:] * x[:-1]))


def estimator(sampler: Sampler, draws: int) -> Callable[..., Any]:
    """v' H v for independent v, as a function of a key and x: no key in the program itself."""

    def one(x: Any) -> Any:
        v = sampler()
        return v @ effax.jvp(effax.grad(potential), (x,), (v,))[1]

    return effax.jit(seed(repeat(one, draws)))


def rows(draws: int = 20_000) -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    x = jnp.linspace(-1.0, 1.5, N)
    hessian = np.asarray(effax.hessian(potential)(x), np.float64)
    trace = np.trace(hessian)
    frobenius = np.sum(hessian**2)
    off = frobenius - np.sum(np.diag(hessian) ** 2)
    variances = {"rademacher": 2 * off, "gaussian": 2 * frobenius}
    found = {}
    for sampler in (rademacher, gaussian):
        name = sampler.__name__
        values = np.asarray(estimator(sampler, draws)(random.key(1), x), np.float64)
        error = abs(values.mean() - trace) / np.sqrt(variances[name] / draws)
        found[name] = values.var()
        yield (
            f"E[v' H v] = tr H, v {name}",
            f"{values.mean():.4f}, tr H = {trace:.4f}, {error:.1f} standard errors apart",
            bool(error < 4),
        )
        form = {"rademacher": "2 (|H|² - sum of H_ii²)", "gaussian": "2 |H|²"}[name]
        ratio = found[name] / variances[name]
        yield (
            f"the variance is {form}, v {name}",
            f"{found[name]:.3f}, and {variances[name]:.3f}: ratio {ratio:.3f}",
            bool(abs(ratio - 1) < 0.1),
        )
    yield (
        "signs have less variance than normal numbers",
        ", ".join(f"{name} {v:.3f}" for name, v in found.items()),
        bool(found["rademacher"] < found["gaussian"]),
    )
    one, all_ = (
        estimate(lambda x, v: v @ effax.jvp(effax.grad(potential), (x,), (v,))[1])(x, x)[0],
        estimate(effax.hessian(potential))(x)[0],
    )
    yield (
        "a draw costs as much as one product with H, not n",
        f"{one} operations, and {all_} for the whole of H, n = {N}",
        bool(one * N * 0.4 < all_),
    )


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    results = list(rows(1_000_000 if "--large" in sys.argv else 20_000))
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print("NOTE  not reproduced: the smoothing of splines that the paper estimates traces for")
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
