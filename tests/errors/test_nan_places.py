"""`debug_nans` tells the line that asked, also of what was compiled for another line."""

import re

import numpy as np
import pytest

import effax
import effax.nn as nn
import effax.numpy as jnp
import effax.scipy as jsp
from effax import lax

# Each pair asks for the same in two places, which share what is compiled.
_PAIRS = {
    "effect": (
        lambda: lax.log(jnp.array(-1.0)),
        lambda: lax.log(jnp.array(-1.0)),
    ),
    "function": (
        lambda: jnp.log(-1.0),
        lambda: jnp.log(-1.0),
    ),
    "function of several effects": (
        lambda: jnp.std(jnp.array([1.0, jnp.inf])),
        lambda: jnp.std(jnp.array([1.0, jnp.inf])),
    ),
    "function with a rule": (
        lambda: nn.softmax(jnp.array([1.0, jnp.inf])),
        lambda: nn.softmax(jnp.array([1.0, jnp.inf])),
    ),
    "inside jit": (
        lambda: effax.jit(lambda x: 1 + jnp.log(x))(-1.0),
        lambda: effax.jit(lambda x: 2 * jnp.log(x))(-1.0),
    ),
    "inside a branch": (
        lambda: lax.cond(True, lambda x: jnp.log(x), jnp.sin, -1.0),
        lambda: lax.cond(True, lambda x: jnp.log(x), jnp.sin, -1.0),
    ),
    "a loop": (
        lambda: lax.scan(lambda c, _: (jnp.log(c), c), -1.0, None, 2),
        lambda: lax.scan(lambda c, _: (jnp.log(c), c), -1.0, None, 2),
    ),
    "the derivative": (
        lambda: effax.grad(jnp.log)(-1.0),
        lambda: effax.grad(jnp.log)(-1.0),
    ),
    "a decomposition": (
        lambda: jnp.linalg.inv(jnp.zeros((2, 2))),
        lambda: jnp.linalg.inv(jnp.zeros((2, 2))),
    ),
}


@pytest.mark.parametrize("what", _PAIRS)
def test_line_is_that_of_the_call(what) -> None:
    for asking in (*_PAIRS[what], *_PAIRS[what]):
        with effax.debug_nans(True), pytest.raises(FloatingPointError) as raised:
            asking()
        line = asking.__code__.co_firstlineno
        assert re.search(rf"test_nan_places\.py:{line} ", str(raised.value)), str(raised.value)


def test_line_inside_a_jitted_function_is_its_own() -> None:
    @effax.jit
    def inner(x):
        return jnp.log(x)

    for asking in (lambda: inner(-1.0), lambda: effax.jit(lambda x: inner(x) + 1)(-1.0)):
        with effax.debug_nans(True), pytest.raises(FloatingPointError, match=r"\(.*inner\)"):
            asking()


@pytest.mark.parametrize("transform", [effax.jit, effax.vmap, effax.jacfwd])
def test_functions_are_whole_at_compile_time_too(transform):
    """As e3nn's constants are computed: NaNs that a function makes and drops are its own affair."""

    def f(x):
        with effax.ensure_compile_time_eval():
            known = jnp.linspace(0.0, 1.0, 5) + jnp.median(jnp.arange(5.0))
        return x + known.sum()

    with effax.debug_nans(True):
        found = transform(f)(jnp.ones(2))
    np.testing.assert_allclose(found, transform(lambda x: x + 12.5)(jnp.ones(2)))


def test_a_nan_at_compile_time_is_found():
    def f(x):
        with effax.ensure_compile_time_eval():
            return x + jnp.log(jnp.array(-1.0))

    with effax.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        effax.jit(f)(1.0)


TRANSFORMS = {
    "vmap": lambda f: effax.vmap(f)(jnp.array([0.2, 0.7])),
    "jvp": lambda f: effax.jvp(f, (0.7,), (1.0,)),
    "vmap of grad": lambda f: effax.vmap(effax.grad(lambda x: f(x).sum()))(jnp.array([0.2, 0.7])),
}
DROPS = {
    "linspace": lambda x: jnp.linspace(-x, x, 3),
    "median": lambda x: jnp.median(jnp.stack([x, 2 * x])),
    "var": lambda x: jnp.var(jnp.stack([x, 2 * x])),
    "geomspace": lambda x: jnp.geomspace(x, 1.0, 3),
    "ndtri": jsp.special.ndtri,
    "gamma": lambda x: jsp.stats.gamma.logpdf(x, x),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", DROPS)
def test_what_a_function_makes_and_drops_is_none_of_the_users(name, transform):
    """As dLux sets it for its tests: of a function only the results are looked at."""
    plain = TRANSFORMS[transform](DROPS[name])
    with effax.debug_nans(True):
        looked_at = TRANSFORMS[transform](DROPS[name])
    for x, y in zip(effax.tree.leaves(looked_at), effax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_a_function_gives_is_looked_at_under_transforms(transform):
    with effax.debug_nans(True), pytest.raises(FloatingPointError, match="test_nan_places"):
        TRANSFORMS[transform](lambda x: jnp.median(jnp.stack([x, jnp.log(x - 1)])))


def test_lengths_that_depend_on_elements_are_looked_at_under_transforms():
    with effax.debug_nans(True):
        found = effax.vmap(lambda x: x + jnp.nonzero(jnp.array([0, 1, 1]))[0].sum())(jnp.ones(2))
    assert found.tolist() == [4, 4]
