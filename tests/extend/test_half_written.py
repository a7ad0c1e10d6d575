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


@pytest.mark.parametrize(
    "decorator",
    [
        Twice.rule,
        Twice.leafwise,
        extend.jvp.rule,
        extend.batch.rule,
        extend.transpose.rule,
        extend.lowering.rule,
        extend.reference.rule,
    ],
)
@pytest.mark.parametrize(("given", "named"), [("sin", "'sin'"), (both, "the function both")])
def test_a_decorator_without_effects(decorator, given, named):
    with pytest.raises(TypeError, match=rf"rule takes effects, .* got {named}"):
        decorator(given)


class Narrow(fx.Interpreter):
    value: fx.Leaf


@Narrow.rule(effects.mul)
def one_operand(x):
    return x


@Narrow.rule(effects.reduce_sum)
def no_axes(x):
    return x


@Narrow.rule(effects.sin)
def wrong_inside(x):
    return len()


@Narrow.default
def no_attributes(effect, x):
    return x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x * x, r"one_operand, the rule of Narrow for 'mul', is called as .*operand, op"),
        (jnp.sum, r"no_axes, the rule of Narrow for 'reduce_sum', .*operand, axes=\.\.\."),
        (lambda x: x.reshape(3, 1), r"no_attributes, the rule of Narrow for .*effect, operand, "),
        (jnp.sin, r"^len\(\) takes exactly one argument"),
    ],
)
def test_a_rule_with_other_parameters(function, message):
    with pytest.raises(TypeError, match=message):
        Narrow.transform(function)(Narrow(X))


def test_a_static_field_that_a_plain_value_lacks():
    class Measured(fx.Interpreter):
        value: fx.Leaf
        unit: fx.Static

    @Measured.rule(effects.add)
    def added(x, y):
        return Measured(x.value + y.value, x.unit)

    with pytest.raises(extend.MissingRuleError, match=r"'unit' has no default.*Measured\.lift"):
        Measured.transform(lambda x: x + 1.0)(Measured(X, "m"))


def test_a_clause_without_resume():
    ask = extend.Effect("half_written_ask", family="tests", typing=lambda: X.type, row="ask")
    with pytest.raises(TypeError, match=r"the clause of 'half_written_ask' has no parameter `resu"):
        extend.handle(lambda: ask(), {ask: lambda: 1.0})
    assert extend.handle(lambda: ask(), {}, final={ask: lambda: 1.0})() == 1.0


def test_laws_say_what_they_need():
    program = "import sys; sys.modules['hypothesis'] = None; import effax.laws"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: effax.laws draws its programs with hypothesis, which is not "
        "installed: pip install hypothesis"
    )
