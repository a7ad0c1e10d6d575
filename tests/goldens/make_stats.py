"""Writes stats.npz: what jax.scipy.stats gives, edges and all, for tests/scipy/test_distributions.py.

    JAX_PLATFORMS=cpu python -m tests.goldens.make_stats     (from the root, in a venv with jax)

An entry is named "distribution.function.dtype" and holds one row for each tuple of parameters.
"""

import itertools
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
inf, nan = np.inf, np.nan

REALS = [-inf, -30, -3, -1, -0.5, -0.0, 0.0, 0.25, 0.5, 1, 1.5, 2, 3, 10, 100, inf, nan]
COUNTS = [-1, 0, 0.5, 1, 2, 3, 5, 20, 150, nan]
PROBABILITIES = [-0.5, 0, 1e-6, 0.1, 0.25, 0.5, 0.9, 1, 1.5, nan]

PLACES = [(0, 1), (1, 2), (-0.5, 0.25), (0, nan), (nan, 1)]
LOCATIONS = [(0,), (1,), (-2,)]


def located(shapes, places):
    return [(*a, *b) for a, b in itertools.product(shapes, places)]


TWO = [(2, 3), (0.5, 0.5), (1, 1), (1, 4), (20, 0.1), (nan, 1)]
ONE = [(1,), (0.5,), (3,), (30,), (nan,)]
CHANCES = [(0,), (0.25,), (0.5,), (1,), (nan,)]

# distribution: (functions of a value, of what values, functions of a probability, parameters)
DISTRIBUTIONS = {
    "norm": ("logpdf pdf cdf logcdf sf logsf", REALS, "ppf isf", PLACES),
    "uniform": ("logpdf pdf cdf", REALS, "ppf", PLACES),
    "expon": ("logpdf pdf cdf logcdf sf logsf", REALS, "ppf", PLACES),
    "cauchy": ("logpdf pdf cdf logcdf sf logsf", REALS, "ppf isf", PLACES),
    "laplace": ("logpdf pdf cdf", REALS, "", PLACES),
    "logistic": ("logpdf pdf cdf sf", REALS, "ppf isf", PLACES),
    "gumbel_l": ("logpdf pdf cdf logcdf sf logsf", REALS, "ppf", PLACES),
    "gumbel_r": ("logpdf pdf cdf logcdf sf logsf", REALS, "ppf", PLACES),
    "gamma": ("logpdf pdf cdf logcdf sf logsf", REALS, "", located(ONE, PLACES)),
    "chi2": ("logpdf pdf cdf logcdf sf logsf", REALS, "", located(ONE, PLACES)),
    "beta": ("logpdf pdf cdf logcdf sf logsf", REALS, "", located(TWO, PLACES)),
    "t": ("logpdf pdf", REALS, "", located(ONE, PLACES)),
    "pareto": ("logpdf pdf cdf logcdf sf logsf", REALS, "ppf", located(ONE, PLACES)),
    "gennorm": ("logpdf pdf cdf", REALS, "", ONE),
    "vonmises": ("logpdf pdf", REALS, "", [(0,), *ONE]),
    "wrapcauchy": ("logpdf pdf", REALS, "", CHANCES),
    "truncnorm": (
        "logpdf pdf cdf logcdf sf logsf",
        REALS,
        "",
        located([(-1, 1), (0, inf), (2, 6), (-8, -3), (-inf, inf), (1, -1)], PLACES[:3]),
    ),
    "bernoulli": ("logpmf pmf", COUNTS, "", located(CHANCES, LOCATIONS)),
    "binom": (
        "logpmf pmf",
        COUNTS,
        "",
        located([(n, *p) for n in (0, 3, 20) for p in CHANCES], LOCATIONS),
    ),
    "nbinom": (
        "logpmf pmf",
        COUNTS,
        "",
        located([(n, *p) for n in (1, 3, 20) for p in CHANCES], LOCATIONS),
    ),
    "geom": ("logpmf pmf", COUNTS, "", located(CHANCES, LOCATIONS)),
    "poisson": ("logpmf pmf cdf", COUNTS, "", located([(0,), *ONE], LOCATIONS)),
    "betabinom": (
        "logpmf pmf",
        COUNTS,
        "",
        located([(n, *ab) for n in (0, 3, 20) for ab in TWO], LOCATIONS),
    ),
}
# Functions whose parameters are not those of their distribution.
OTHERS = {
    "bernoulli.cdf": (COUNTS, [*CHANCES, (-0.5,), (1.5,)]),
    "bernoulli.ppf": (PROBABILITIES, [*CHANCES, (-0.5,), (1.5,)]),
    "poisson.entropy": ([0, 0.1, 1, 5, 12, 50, 99, 150, 1e4, -1, nan], [(0,), (1,)]),
}


def cases():
    """(name, values of the first argument, rows of the others), for each function."""
    for name, (functions, values, inverses, parameters) in DISTRIBUTIONS.items():
        for function in functions.split():
            yield f"{name}.{function}", values, parameters
        for function in inverses.split():
            yield f"{name}.{function}", PROBABILITIES, parameters
    for name, (values, parameters) in OTHERS.items():
        yield name, values, parameters


def arguments(values, parameters, dtype):
    """The arguments as arrays: the first along the last axis, the others along the one before."""
    columns = np.array(parameters, dtype)
    return np.array(values, dtype), *(columns[:, i : i + 1] for i in range(columns.shape[1]))


def replay(stats, name, values, parameters, dtype):
    """The results of one function, with `stats` the module under test."""
    distribution, function = name.split(".")
    called = getattr(getattr(stats, distribution), function)
    return called(*arguments(values, parameters, dtype))


def main():
    import jax
    from jax.scipy import stats

    jax.config.update("jax_enable_x64", True)
    found = {}
    for name, values, parameters in cases():
        for dtype in ("float32", "float64"):
            found[f"{name}.{dtype}"] = np.asarray(replay(stats, name, values, parameters, dtype))
    np.savez_compressed(HERE / "stats.npz", **found)


if __name__ == "__main__":
    main()
