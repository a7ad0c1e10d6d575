"""The cost of lifting: each program inside another is staged a bounded number of times."""

import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp

effects = fx.effects


def _nested(depth):
    """A function of `depth` conds, each in a branch of the one before."""

    def f(x):
        return jnp.sin(x)

    for _ in range(depth):
        f = lambda x, f=f: lax.cond(True, f, lambda x: x, x)  # noqa: E731
    return f


def _looped(depth):
    def f(x):
        return jnp.sin(x)

    for _ in range(depth):
        f = lambda x, f=f: lax.fori_loop(0, 2, lambda _, x: f(x), x)  # noqa: E731
    return f


def _stagings(f, scale):
    """Count the calls of a rule that closes over a value."""
    asked = []

    class Scaled(fx.Interpreter):
        value: fx.Leaf

    @Scaled.rule(effects.sin)
    def sin_scaled(x):
        asked.append(1)
        return Scaled(effects.sin(x.value) * scale)

    Scaled.transform(f)(Scaled(1.0))
    return len(asked)


@pytest.mark.parametrize("nested", [_nested, _looped])
def test_nesting_is_linear_where_a_rule_closes_over_a_traced_value(nested):
    found = []

    def under(scale):
        found.append(_stagings(nested(5), scale))
        return scale

    under(2.0)
    fx.jit(under)(2.0)
    fx.grad(under)(2.0)
    assert found[0] <= 3
    assert max(found[1:]) <= 2 * found[0]
