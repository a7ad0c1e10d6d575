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


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("kind", ["matrix", "right side", "both"])
def test_systems(kind, transpose):
    """Solve systems whose matrices differ from lane to lane, or their right sides, or both."""

    def solve(a, b):
        return fx.lax.custom_linear_solve(
            lambda x: a @ x,
            b,
            lambda matvec, b: jnp.linalg.solve(fx.jacobian(matvec)(b), b),
            (lambda vecmat, b: jnp.linalg.solve(fx.jacobian(vecmat)(b), b)) if transpose else None,
        )

    a = jnp.arange(18.0).reshape(2, 3, 3) % 5 + 4 * jnp.eye(3)
    b = jnp.arange(6.0).reshape(2, 3)
    functions = {
        "matrix": lambda m, a, b: m(lambda a: solve(a, b[0]))(a),
        "right side": lambda m, a, b: m(lambda b: solve(a[0], b))(b),
        "both": lambda m, a, b: m(lambda ab: solve(*ab))((a, b)),
    }

    def total(m):
        return lambda a, b: jnp.sum(jnp.sin(functions[kind](m, a, b)))

    ways = {"value": lambda f: f, "jvp": lambda f: lambda *ab: fx.jvp(f, ab, ab)[1]}
    if transpose:
        ways |= {"grad": lambda f: fx.grad(f, (0, 1))}
    for way in ways.values():
        for one, other in zip(
            fx.tree.leaves(way(total(vmap))(a, b)),
            fx.tree.leaves(way(total(fx.vmap))(a, b)),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=2e-4)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_rules_of_functions_whose_batch_mentions_an_array(kind):
    @fx.custom_batching.custom_vmap
    def double(x):
        return 2.0 * x

    double.def_vmap(lambda size, batched, x: (2.0 * x + 0.0 * held, True))
    held = jnp.ones(3)
    f = fx.custom_jvp(double) if kind == "jvp" else fx.custom_vjp(double)
    if kind == "jvp":
        f.defjvp(lambda xs, ts: (f(*xs), 5.0 * ts[0]))
    else:
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (5.0 * ct,))
    xs = jnp.arange(3.0)
    for run in (vmap(f), fx.jit(vmap(f))):
        np.testing.assert_allclose(run(xs), 2.0 * xs)
    np.testing.assert_allclose(fx.jit(fx.grad(lambda xs: jnp.sum(vmap(f)(xs))))(xs), 5.0)


def test_literals_are_of_the_dtype_beside_them():
    with fx.enable_x64(True):
        xs = jnp.arange(-2, 9, dtype="int32")
        found = vmap(lambda x: fx.extend.effects.clamp(0, x, 5))(xs)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, np.clip(xs, 0, 5))
