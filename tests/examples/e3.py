"""Transforms on the 25 programs of tests/programs/e3.py: alone, and with jit, vmap and grad on
either side.

A transform is given as a function of functions that keeps results: what it tells beside them is
left to the tests of its own. What it must compute is what the program computes without it.
"""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from tests.examples.samples import FOLDER as FOLDER
from tests.examples.samples import load as load
from tests.programs.e3 import PROGRAMS, X, grad_of, refused, vmap_of

NESTINGS = {
    "T": lambda t, f: t(f),
    "jit T": lambda t, f: fx.jit(t(f)),
    "vmap T": lambda t, f: vmap_of(fx, jnp, t(f)),
    "T vmap": lambda t, f: t(vmap_of(fx, jnp, f)),
    "grad T": lambda t, f: grad_of(fx, jnp, t(f)),
    "T grad": lambda t, f: t(grad_of(fx, jnp, f)),
}
PLAIN = {
    "vmap": lambda f: vmap_of(fx, jnp, f),
    "grad": lambda f: grad_of(fx, jnp, f),
}


def names(nesting):
    """The programs that a nesting is defined on."""
    innermost = ("grad",) if "grad" in nesting else ("vmap",)
    return [name for name in PROGRAMS if refused(name, innermost) is None]


def results(transform, name, nesting):
    """Return the results of a program under a nesting with a transform, and without it."""
    with fx.enable_x64(True):
        f = PROGRAMS[name].make(fx, jnp)
        x = jnp.asarray(X)
        found = NESTINGS[nesting](transform, f)(x)
        other = next((PLAIN[w] for w in nesting.split() if w in PLAIN), lambda f: f)
        return np.asarray(found), np.asarray(other(f)(x))


def check(transform, name, nesting):
    """Compare them."""
    found, expected = results(transform, name, nesting)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def everywhere(transform):
    """A test of all nestings: each on every sixth program, and on all of them among the slow tests."""
    cases = []
    for i, nesting in enumerate(NESTINGS):
        for j, name in enumerate(names(nesting)):
            slow = [] if (i + j) % 6 == 0 else [pytest.mark.slow]
            cases.append(pytest.param(nesting, name, marks=slow, id=f"{nesting}-{name}"))

    @pytest.mark.parametrize(("nesting", "name"), cases)
    def test_on_programs(nesting, name):
        check(transform, name, nesting)

    return test_on_programs
