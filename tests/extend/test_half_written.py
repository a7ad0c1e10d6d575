"""An effect or a transform that is written halfway: each error names what to add."""

import subprocess
import sys

import pytest

import effax as fx
import effax.numpy as jnp
from effax import extend, lax
from effax.effects.errors import UnhandledEffectError
from effax.effects.rows.transcendental import sin
from effax.effects.signature import FLOAT, unary
from effax.extend import effects, traits

X = jnp.ones(3)
bare = unary("half_written_bare", "tests", FLOAT)


@pytest.mark.parametrize("call", [bare, fx.jit(bare), fx.vmap(bare)])
def test_an_effect_without_a_lowering(call):
    with pytest.raises(UnhandledEffectError, match=r"@extend\.lowering\.rule\(half_written_bare\)"):
        call(X)


@pytest.mark.parametrize("transform", [fx.grad, lambda f: lambda x: fx.jvp(f, (x,), (x,))])
def test_an_effect_without_a_derivative(transform):
    with pytest.raises(extend.MissingRuleError, match=r"@extend\.expand\(half_written_bare\)"):
        transform(lambda x: jnp.sum(bare(x)))(X)


@pytest.mark.parametrize(
    ("operands", "reason"), [((), "missing a required argument"), ((X, X), "too many positional")]
)
def test_a_wrong_number_of_operands(operands, reason):
    with pytest.raises(TypeError, match=rf"^sin\(x, \*\*attributes\): {reason}"):
        sin(*operands)


class Twice(fx.Interpreter):
    one: fx.Leaf
    two: fx.Leaf


@Twice.rule(*traits.pointwise)  # and so, wrongly, comparisons
def both(*xs, effect, **attributes):
    return Twice.map(effect, *xs, **attributes)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.while_loop(lambda x: x < 8, lambda x: 2 * x, x),
        lambda x: lax.cond(x > 1, lambda x: x, lambda x: -x, x),
    ],
)
def test_a_predicate_of_the_interpreter_s_own(function):
    with pytest.raises(extend.MissingRuleError, match=r"must be plain.*traits\.comparing"):
        Twice.transform(function)(Twice(jnp.float32(1), jnp.float32(2)))


def test_the_rule_that_the_error_recommends():
    class Mended(Twice):
        pass

    @Mended.rule(*traits.comparing)
    def compared(*xs, effect, **attributes):
        return Mended.forward(effect, *xs, **attributes)

    @Mended.rule(effects.add)
    def added(x, y):
        return Mended(x.one + y.one, x.two + y.two)

    loop = Mended.transform(lambda x: lax.while_loop(lambda x: x < 8, lambda x: x + x, x))
    found = loop(Mended(jnp.float32(1), jnp.float32(3)))
    assert (float(found.one), float(found.two)) == (8.0, 24.0)


def test_laws_say_what_they_need():
    program = "import sys; sys.modules['hypothesis'] = None; import effax.laws"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: effax.laws draws its programs with hypothesis, which is not "
        "installed: pip install hypothesis"
    )
