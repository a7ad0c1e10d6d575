"""Forward mode as an example: what `fx.jvp` does, on programs, nested, and with custom rules."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import laws, lax
from tests.examples.samples import load
from tests.programs.e3 import PROGRAMS, V, X

example = load("dual")
jvp, Dual = example.jvp, example.Dual


def same(found, expected, tolerance=1e-9):
    for one, other in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


NESTINGS = {
    "jvp": lambda d, f, x, v: d(f, (x,), (v,)),
    "jit": lambda d, f, x, v: fx.jit(lambda x, v: d(f, (x,), (v,)))(x, v),
    "of jit": lambda d, f, x, v: d(fx.jit(f), (x,), (v,)),
    "vmap": lambda d, f, x, v: fx.vmap(lambda v: d(f, (x,), (v,)))(jnp.stack([v, x])),
    "twice": lambda d, f, x, v: d(lambda x: d(f, (x,), (v,)), (x,), (x,)),
    "grad": lambda d, f, x, v: fx.grad(lambda x: jnp.sum(d(f, (x,), (v,))[1]))(x),
    "over ours": lambda d, f, x, v: d(lambda x: fx.jvp(f, (x,), (v,)), (x,), (x,)),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, nesting):
    run = NESTINGS[nesting]
    with fx.enable_x64(True):
        f, x, v = PROGRAMS[name].make(fx, jnp), jnp.asarray(X), jnp.asarray(V)
        try:
            expected = run(fx.jvp, f, x, v)
        except fx.errors.UnsupportedDerivativeError:
            pytest.skip("ours refuses it")
        same(run(jvp, f, x, v), expected)


def test_python_branches_on_values():
    def f(x):
        return x * 2 if x > 1 else x * x

    for x in (0.5, 2.0):
        same(jvp(f, (x,), (1.0,)), fx.jvp(f, (x,), (1.0,)), 1e-6)


@pytest.mark.parametrize("x", [0.0, 0.5])
def test_custom_rules_are_asked(x):
    @fx.custom_jvp
    def half(x):
        return x / 2

    half.defjvp(lambda x, t: (half(*x), 100 * t[0]))

    @fx.custom_vjp
    def clip(x):
        return x * x

    clip.defvjp(lambda x: (clip(x), x), lambda x, ct: (7 * x * ct,))
    for f in (half, clip, lambda x: lax.fori_loop(0, 3, lambda i, y: half(y), x)):
        same(jvp(f, (x,), (1.0,)), fx.jvp(f, (x,), (1.0,)), 1e-6)


def test_laws():
    def embed(*xs):
        return tuple(Dual(x, 0.1 * x) if x.dtype.kind == "f" else x for x in xs)

    def project(ys):
        return tuple(example.value(y) for y in ys)

    report = laws.check(Dual.transform, embed=embed, project=project, max_examples=4)
    assert all(v.verdict == "true" for v in report.verdicts), report
