"""The cheap gradient principle: operations of value and gradient, over those of the value.

Prints claim, measurement and verdict; `--large` draws more programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import lax
from effax.laws.generate import drawn
from effax.laws.sketch import Sketch

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "transforms"))
from cost import estimate

BOUND = 5.0
CONSTANT = 8  # what a gradient of an operation or two may take beside


def flops(f: Callable[..., Any], *args: Any) -> int:
    """Operations of `f(*args)`, by its program."""
    return int(estimate(f)(*args)[0])


def both(f: Callable[..., Any], *args: Any) -> tuple[int, int]:
    """Operations of a scalar function, and of its value and gradient."""
    gradient = effax.value_and_grad(f, argnums=tuple(range(len(args))))
    return flops(f, *args), flops(gradient, *args)


def total(sketch: Sketch) -> Callable[..., Any]:
    """The sum of all results of a program."""
    return lambda *xs: sum(jnp.sum(y) for y in sketch(*xs))


def generated(n: int, control: frozenset[str]) -> list[tuple[int, int]]:
    """Operations of random programs and of their gradients."""
    with effax.enable_x64(True):
        return [
            both(total(s), *(np.zeros(t.shape, t.dtype) for t in s.types))
            for s in drawn(n, control=control, max_steps=14, smallest=2)
        ]


def speelpenning(x: Any) -> Any:
    """The product of all elements, one after the other."""
    return lax.scan(lambda c, a: (c * a, None), jnp.ones(()), x)[0]


def network(x: Any) -> Any:
    """Three dense layers with fixed weights."""
    for k in range(3):
        x = jnp.tanh(jnp.cos(jnp.arange(x.size**2.0) + k).reshape(x.size, x.size) @ x)
    return jnp.sum(x * x)


def mixture(x: Any) -> Any:
    """The log-likelihood of a mixture of unit Gaussians with means x."""
    points = jnp.linspace(-3, 3, 50)
    return jnp.sum(effax.nn.logsumexp(-0.5 * (points[:, None] - x) ** 2, axis=1))


def rosenbrock(x: Any) -> Any:
    """Rosenbrock's valley."""
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


FUNCTIONS = {f.__name__: f for f in (speelpenning, network, mixture, rosenbrock)}
CONTROL = frozenset({"call", "remat", "cond", "scan"})


def rows(n: int = 100) -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    sizes = (8, 32, 128)
    ratios = {}
    for name, f in FUNCTIONS.items():
        counts = [both(f, jnp.ones(k)) for k in sizes]
        ratios[name] = [g / v for v, g in counts]
    worst = max(r[-1] for r in ratios.values())
    yield (
        f"ops(f, grad f) <= {BOUND:.0f} ops(f) for Speelpenning, a network, a mixture, Rosenbrock",
        ", ".join(f"{name} {r[-1]:.2f}" for name, r in ratios.items()) + f" (n = {sizes[-1]})",
        worst <= BOUND,
    )
    yield (
        "the ratio does not grow with the number of inputs",
        "; ".join(f"{name} {', '.join(f'{x:.2f}' for x in r)}" for name, r in ratios.items())
        + f" (n = {', '.join(map(str, sizes))})",
        all(r[-1] <= 1.05 * r[0] for r in ratios.values()),
    )
    for label, control in (("straight", frozenset()), ("with control flow", CONTROL)):
        counts = generated(n, control)
        over = [(v, g) for v, g in counts if g > BOUND * v + CONSTANT]
        large = [g / v for v, g in counts if v >= 40]
        yield (
            f"ops(f, grad f) <= {BOUND:.0f} ops(f) + {CONSTANT} on random programs, {label}",
            f"{len(counts) - len(over)} of {len(counts)}; of those with 40 operations or more "
            f"the median is {np.median(large):.2f}, the largest {max(large):.2f}",
            not over,
        )
    forward = [
        flops(effax.jacfwd(network), jnp.ones(k)) / flops(network, jnp.ones(k)) for k in sizes
    ]
    yield (
        "by forward mode the ratio grows with the number of inputs",
        ", ".join(f"{x:.1f}" for x in forward) + f" (network, n = {', '.join(map(str, sizes))})",
        forward[-1] > 0.4 * sizes[-1] and forward[-1] > 3.5 * forward[-2],
    )


VERDICTS = {False: (True, True, True, True, True), True: (True, True, False, True, True)}
"""The README's verdicts on each claim, for the small sample and for `--large`."""


def main() -> int:
    """Print the table; 1 if a verdict is not that of the README."""
    large = "--large" in sys.argv
    results = list(rows(1000 if large else 200))
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(
        "NOTE  not reproduced: the book's weights of operations, moves of memory and elementary "
        "functions among them; while loops"
    )
    return 0 if tuple(holds for *_, holds in results) == VERDICTS[large] else 1


if __name__ == "__main__":
    raise SystemExit(main())
