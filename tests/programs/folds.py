"""Folds and their derivatives, written for any library of JAX's API: (function of an array, array)."""

from functools import partial

import numpy as np

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
ZEROS = X.copy()
ZEROS[1, 2] = ZEROS[2, 2] = 0.0
TIES = np.round(X)
WINDOWS = (
    {"window_dimensions": (2, 2), "window_strides": (1, 1), "padding": "VALID"},
    {"window_dimensions": (2, 3), "window_strides": (1, 2), "padding": "SAME"},
    {
        "window_dimensions": (2, 2),
        "window_strides": (2, 1),
        "padding": ((1, 0), (0, 2)),
        "base_dilation": (1, 2),
    },
)


def functions(fx, jnp):
    """By name: a fold, and what it is tried on."""
    lax = fx.lax
    found = {}
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        for reverse in (False, True):
            values = {"x": X, "ties": TIES} if name in ("cummax", "cummin") else {"x": X}
            values |= {"zeros": ZEROS} if name == "cumprod" else {}
            for kind, x in values.items():
                axis = 1 if kind == "x" else 0
                options = {"axis": axis, "reverse": reverse}
                found[f"{name} {options} {kind}"] = partial(getattr(lax, name), **options), x
    folds = {
        "add": (lax.add, 0.0),
        "mul": (lax.mul, 1.0),
        "max": (lax.max, -np.inf),
        "min": (lax.min, np.inf),
        "own": (lambda a, b: a + b + 0.1 * a * b, 0.0),
        "logaddexp": (jnp.logaddexp, -np.inf),
    }
    for name, (fold, init) in folds.items():
        x = ZEROS if name == "mul" else X
        start = np.float32(init)
        found[f"reduce {name}"] = lambda x, f=fold, i=start: lax.reduce(x, i, f, (1,)), x
        for i, options in enumerate(WINDOWS if name in ("add", "max", "min") else ()):
            found[f"reduce_window {name} {i}"] = (
                lambda x, f=fold, i=start, o=options: lax.reduce_window(x, i, f, **o),
                TIES if name == "max" else X,
            )
    return found


def answers(fx, jnp, f, x):
    """The value of a fold, derivatives of first and second order, and those of a batch."""

    def total(x):
        return (f(x) ** 2).sum()

    def steep(x):
        return (fx.grad(total)(x) ** 2).sum()

    rows = jnp.stack([x, 2 * x], 1)
    return [
        f(x),
        fx.jvp(f, (x,), (jnp.cos(x),))[1],
        fx.grad(total)(x),
        fx.jvp(fx.grad(total), (x,), (jnp.cos(x),))[1],
        fx.grad(steep)(x),
        fx.vmap(f, in_axes=1, out_axes=1)(rows),
        fx.vmap(fx.grad(total), in_axes=1)(rows),
    ]
