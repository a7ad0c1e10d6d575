"""Taylor mode: polynomial work for higher derivatives, where nested forward mode's is exponential.

Prints claim, measurement and verdict; `--large` adds times of compiled derivatives.
"""

import sys
import time

import numpy as np

import effax as fx
import effax.numpy as jnp
from effax.effects.program import count_equations
from effax.experimental.jet import jet

WEIGHTS = np.random.default_rng(0).normal(size=(3, 8, 8)) / np.sqrt(8)


def composition(x):
    """The elementary functions that the paper writes out."""
    return jnp.sin(jnp.cos(jnp.exp(-jnp.sin(x))))


def network(x):
    """Three layers, of one input."""
    h = x * jnp.ones(8)
    for w in WEIGHTS.astype(np.float32):
        h = jnp.tanh(w @ h)
    return jnp.sum(h)


FUNCTIONS = {"sin(cos(exp(-sin)))": composition, "3 layers": network}
ORDERS = range(1, 8)


def nested(f, order):
    """The derivative of an order, by as many nested forward modes."""
    for _ in range(order):
        f = (lambda g: lambda x: fx.jvp(g, (x,), (jnp.ones_like(x),))[1])(f)
    return f


def taylor(f, order):
    """The same, as the last coefficient of one Taylor series."""
    return lambda x: jet(f, (x,), ([1.0] + [0.0] * (order - 1),))[1][-1]


def sizes(mode, f):
    """Count the equations of the derivative of each order."""
    return [count_equations(fx.make_program(mode(f, k))(0.5)) for k in ORDERS]


def rows():
    """Claim, measurement, whether it holds."""
    counts = {name: (sizes(nested, f), sizes(taylor, f)) for name, f in FUNCTIONS.items()}
    growth = {name: a[-1] / a[-2] for name, (a, _) in counts.items()}
    yield (
        "nested forward mode takes work exponential in the order",
        f"equations, orders 1 to 7: {', '.join(f'{n}: {a}' for n, (a, _) in counts.items())}",
        all(g > 1.9 for g in growth.values()),
    )
    third = {name: np.abs(np.diff(b, 3)).max() for name, (_, b) in counts.items()}
    yield (
        "Taylor mode takes work polynomial in it: quadratic",
        f"equations, orders 1 to 7: {', '.join(f'{n}: {b}' for n, (_, b) in counts.items())}",
        all(t <= 2 for t in third.values()),
    )
    with fx.enable_x64(True):
        error = max(
            abs(1 - taylor(f, k)(0.5) / nested(f, k)(0.5))
            for f in FUNCTIONS.values()
            for k in ORDERS
        )
    yield "both give the same derivatives", f"relative difference {error:.0e}", error < 1e-9


def times(f, orders):
    """Milliseconds to trace, compile and run."""
    for k in orders:
        for name, mode in (("nested", nested), ("Taylor", taylor)):
            start = time.perf_counter()
            compiled = fx.jit(mode(f, k)).lower(0.5).compile()
            built, start = time.perf_counter() - start, time.perf_counter()
            for _ in range(100):
                fx.block_until_ready(compiled(0.5))
            run = (time.perf_counter() - start) / 100
            yield f"  order {k} {name}: {built * 1e3:8.0f} ms to build, {run * 1e6:7.0f} us to run"


def main():
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print("NOTE  the paper's times (of neural ODEs) are not reproduced; here, of three layers:")
    for line in times(network, (2, 4, 6, 7) if "--large" in sys.argv else (2, 4)):
        print(line)
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
