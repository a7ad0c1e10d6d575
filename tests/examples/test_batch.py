"""Batching as an example: what `fx.vmap` does, on programs, nested, and with custom rules."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from tests.examples.samples import load
from tests.programs.e3 import OFFSETS, PROGRAMS, X

example = load("batch")
vmap = example.vmap

NESTINGS = {
    "vmap": lambda m, f: m(f),
    "jit": lambda m, f: fx.jit(m(f)),
    "of jit": lambda m, f: m(fx.jit(f)),
    "grad of": lambda m, f: m(fx.grad(lambda x: jnp.sum(f(x)))),
    "grad": lambda m, f: fx.grad(lambda xs: jnp.sum(m(f)(xs))),
    "jvp": lambda m, f: lambda xs: fx.jvp(m(f), (xs,), (jnp.sin(xs),)),
    "twice": lambda m, f: m(lambda x: m(lambda c: f(c * x))(jnp.array([1.0, 2.0]))),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, nesting):
    run = NESTINGS[nesting]
    with fx.enable_x64(True):
        f, xs = PROGRAMS[name].make(fx, jnp), jnp.asarray(X + OFFSETS)
        try:
            expected = run(fx.vmap, f)(xs)
        except (fx.errors.UnsupportedDerivativeError, ValueError, TypeError):
            pytest.skip("ours refuses it")
        if name == "custom_linear_solve" and nesting in ("grad", "jvp"):
            with pytest.raises(fx.errors.UnsupportedDerivativeError, match="under Batched"):
                run(vmap, f)(xs)
            return
        for one, other in zip(
            fx.tree.leaves(run(vmap, f)(xs)), fx.tree.leaves(expected), strict=True
        ):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_custom_rules_are_kept(kind):
    """Also for operands that the lanes share, whose cotangents are summed."""

    def product(x, y):
        return x * y

    f = fx.custom_jvp(product) if kind == "jvp" else fx.custom_vjp(product)
    if kind == "jvp":
        f.defjvp(lambda xs, ts: (f(*xs), 100 * ts[0] * xs[1] + ts[1]))
    else:
        f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda kept, ct: (100 * ct * kept[1], ct))

    def loss(m):
        return lambda xs, y: jnp.sum(m(lambda x: f(x, y) * x)(xs))

    xs, y = jnp.arange(3.0), jnp.float32(2)
    for argnums in (0, 1):
        found, expected = (fx.grad(loss(m), argnums)(xs, y) for m in (vmap, fx.vmap))
        np.testing.assert_allclose(found, expected)


def test_lanes_that_disagree():
    """A predicate that becomes batched in the second step, and one of the lanes' own."""

    def f(x):
        found = fx.lax.while_loop(
            lambda c: c[1] < 9, lambda c: (c[0] + 1.5, c[1] + c[0], c[2] * 2), (x, 0.0, 1)
        )
        return found, fx.lax.switch(found[2] // 2, [jnp.sin, jnp.cos, jnp.tanh], x)

    xs = jnp.array([0.5, 1.0, 3.0, 20.0])
    for one, other in zip(fx.tree.leaves(vmap(f)(xs)), fx.tree.leaves(fx.vmap(f)(xs)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
