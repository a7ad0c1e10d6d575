"""Taylor polynomials of a function, by one pass each: how far they reach, and why no further."""

import numpy as np
from _figure import figure
from taylor import series  # pyright: ignore[reportMissingImports]

import effax
import effax.numpy as jnp


def bump(x):
    """A function with poles at i and -i."""
    return jnp.exp(jnp.sin(2 * x)) / (1 + x * x)


def coefficients(f, x, order):
    """The coefficients of f(x + t) by powers of t."""
    y = series(order).transform(f)(series(order)(x, 1.0))
    return jnp.stack([y[k] for k in range(order + 1)])


if __name__ == "__main__":
    with effax.enable_x64():
        found = np.array(effax.jit(coefficients, static_argnums=(0, 2))(bump, 0.0, 32))
        xs = np.linspace(-1.6, 1.6, 400)
        values = np.array(bump(xs))
    with figure(2) as (left, right):
        left.plot(xs, values, "k", linewidth=2)
        for i, order in enumerate((1, 2, 4, 8, 16, 32)):
            near = np.polynomial.polynomial.polyval(xs, found[: order + 1])
            left.plot(xs, near, f"C{i}", label=f"order {order}")
            right.semilogy(xs, abs(near - values) + 1e-16, f"C{i}")
        left.set(ylim=(0, 3), xlabel="x")
        left.legend(fontsize="small")
        for x in (-1, 1):
            right.axvline(x, color="0.8")
        right.set(xlabel="x", ylabel="error", ylim=(1e-16, 10), title="converges between -1 and 1")
