"""Stored residuals: nothing is computed again for nothing, and no more is stored than by JAX."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.api.derivatives.residuals import saved_residuals
from tests.programs.residuals import N, T, nbytes, programs

GOLDENS = Path(__file__).parent.parent / "goldens"
JAX = json.loads((GOLDENS / "residuals.json").read_text())["bytes"]
PROGRAMS = programs(effax, jnp)
OURS = {
    "rnn": 11648,
    "masked": 4128,
    "invariant": 6464,
    "converts": 3264,
    "counted": 9800,
    "clipped": 7464,
    "branches": 9664,
    "relu mlp": 10048,
    "layer norm": 6864,
    "attention": 19604,
    "inverses": 6400,
    "damped": 3200,
    "by sums": 54400,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_stored(name):
    f, *args = PROGRAMS[name]
    found = nbytes(saved_residuals(effax.jit(f), *args))
    assert found <= JAX[name]
    assert found <= OURS[name]


def test_derivatives_of_a_quotient_divide_no_more():
    """All but the quotient multiply by one reciprocal, whatever the order."""
    f = lambda x: jnp.sin(x) / (1.0 + x * x)  # noqa: E731
    for _ in range(4):
        f = effax.grad(f)
    divisions = [e for e in effax.make_jaxpr(f)(0.7).eqns if e.primitive.name == "div"]
    assert len({str(e.invars[1]) for e in divisions}) == 1
    assert (
        len([e for e in divisions if not isinstance(e.invars[0], effax.extend.core.Literal)]) == 1
    )


QUICK = ("masked", "invariant", "counted", "branches")


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in PROGRAMS
        if name != "converts"  # that is of bfloat16
    ],
)
def test_what_is_computed_again_is_right(name):
    """Gradients go through the halves of the split program, directional derivatives do not."""
    f, *args = PROGRAMS[name]
    gradient = effax.grad(effax.jit(f), argnums=tuple(range(len(args))))(*args)
    u = [np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype) for x in args]
    slope = effax.jvp(f, tuple(args), tuple(u))[1]
    dots = sum(np.vdot(np.asarray(g, np.float64), d) for g, d in zip(gradient, u, strict=True))
    np.testing.assert_allclose(dots, slope, rtol=1e-3, atol=1e-3)


def stacked(f, *args):
    """The residuals that have the axis of the steps."""
    return [t.shape for t, _ in saved_residuals(f, *args) if t.shape[:1] == (T,)]


W = np.linspace(0.1, 1.0, N).astype(np.float32)
XS = np.ones((T, N), np.float32)


def scanned(step):
    return lambda w, xs: lax.scan(lambda c, x: (step(c, x, w), ()), jnp.ones(N), xs)[0].sum()


CASES = {
    "the same in every step": (lambda c, x, w: c * jnp.exp(w), []),
    "a chain of such": (lambda c, x, w: c * jnp.exp(jnp.sin(w[0]) * jnp.arange(N)), []),
    "a known number": (lambda c, x, w: c * (jnp.arange(N) * 2.0 + 1.0), []),
    "a mask of an iota": (lambda c, x, w: jnp.where(jnp.arange(N) > 3, c, c * 2), []),
    "a comparison of a constant": (lambda c, x, w: jnp.where(w > 0.5, c * w[0], c), [(T, N)]),
    "a broadcast": (lambda c, x, w: c * x.max(), [(T,)]),
    "linear in the carry": (lambda c, x, w: 2.0 * c + x, []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_stacked(name):
    step, expected = CASES[name]

    def of_carry(xs):
        return lambda c: lax.scan(lambda c, x: (step(c, x, W), ()), c, xs)[0].sum()

    if name == "a comparison of a constant":
        assert stacked(lambda w: scanned(step)(w, XS), W) == expected
    else:
        assert stacked(of_carry(XS), np.ones(N, np.float32)) == expected


def test_hoisting_leaves_a_loop_of_no_steps_alone():
    """The logarithm of zero has no derivative, but it is not done."""

    def f(w):
        return lax.scan(lambda c, x: (c + jnp.log(w) * x, ()), w, jnp.zeros(0))[0]

    assert float(effax.grad(f)(0.0)) == 1.0


@pytest.mark.cpu
def test_compiled_loops_do_invariant_work_once():
    """XLA moves the invariant work: the product is not among the calls of the compiled loop."""

    def f(w, n):
        def step(state):
            i, x = state
            return i + 1, x + (w @ w)[0]

        return lax.while_loop(lambda state: state[0] < n, step, (0, w[0]))[1]

    text = effax.jit(f).lower(np.ones((8, 8), np.float32), 3).compile().as_text()
    parts = text.split("\n\n")
    product = next(part for part in parts if " dot(" in part)
    name = product.strip().split()[0]
    call = re.compile(rf"={re.escape(name)}(?![\w.])")
    callers = [part.strip().split()[0] for part in parts if call.search(part)]
    assert callers == ["ENTRY"] or name == "ENTRY"


def test_a_checked_step_stays_in_the_loop():
    from effax.experimental import checkify

    def f(w, xs):
        def step(c, x):
            checkify.check(w > 0, "w must be positive")
            return c * w + x, None

        return lax.scan(step, 0.0, xs)[0]

    error, gradient = checkify.checkify(effax.grad(f))(-1.0, jnp.ones(3))
    assert "w must be positive" in error.get()
    np.testing.assert_allclose(gradient, 1 + 2 * -1.0)


def test_places_of_residuals():
    from effax.ad_checkpoint import checkpoint_name, checkpoint_policies

    @effax.checkpoint
    def plain(x):
        return jnp.sin(jnp.sin(x))

    def named(x):
        return jnp.sin(checkpoint_name(jnp.sin(x), "inner"))

    keeping = effax.checkpoint(named, policy=checkpoint_policies.save_only_these_names("inner"))
    assert [place for _, place in saved_residuals(plain, 1.0)] == ["from the argument x"]
    places = [place for _, place in saved_residuals(keeping, 1.0)]
    assert places[0] == "from the argument x"
    assert places[1].startswith("named 'inner' from") and "test_residuals.py" in places[1]
    assert saved_residuals(lambda d: d["a"] * d["b"], {"a": 1.0, "b": 2.0})[0][1] == (
        "from the argument d['a']"
    )
