"""A rule that a transform has is asked wherever its effect is performed: no handler between the
program and the transform writes the effect out before."""

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend, laws, traits
from effax.effects.rows.control import match_types
from effax.laws.one_effect import ASKED

effects = fx.effects

sink = extend.Effect("test_asked_sink", family="test", typing=lambda x: x)


@extend.expand(sink)
def sink_is_the_value(x):
    return x * 1.0


loud = extend.Effect("test_asked_loud", family="test", typing=lambda x: x, row="test_asked_loud")
extend.expand(loud)(lambda x: x * 1.0)


def _repeat_type(x, *, body, times):
    match_types("the operands of test_asked_repeat", body.in_types, [x])
    return body.out_types[0]


repeat = extend.Effect("test_asked_repeat", family="test", typing=_repeat_type, higher_order=True)


@extend.expand(repeat)
def repeat_is_a_loop(x, *, body, times):
    for _ in range(times):
        (x,) = body.run(x)
    return x


class Leaked(Exception):
    """A secret has got to a sink."""


class Taint(fx.Interpreter):
    """A value, and whether it is secret."""

    value: fx.Leaf(primal=True)
    secret: fx.Static = False

    @classmethod
    def join_static(cls, name, one, other):
        return one or other


@Taint.default
def spread(effect, *xs, **how):
    if effect in traits.composite:
        return NotImplemented
    secret = any(x.secret for x in xs)
    if effect in traits.comparing:
        return effect(*(x.value for x in xs), **how)
    found = effect(*(x.value for x in xs), **how)
    return [Taint(y, secret) for y in found] if effect.multiple else Taint(found, secret)


def _refuse(x, **_):
    if isinstance(x, Taint) and x.secret:
        raise Leaked
    return x


Taint.rule(sink, loud)(_refuse)
Taint.rule(repeat, lift=False)(_refuse)


def _repeated(x):
    body = extend.stage(lambda x: [jnp.sin(x)], [extend.typeof(x)], "body").program
    return repeat(x, body=body, times=2)


PROGRAMS = {
    "sink": lambda x: jnp.sum(sink(jnp.sin(x))),
    "loud": lambda x: jnp.sum(loud(jnp.sin(x))),
    "repeat": lambda x: jnp.sum(_repeated(x)),
}

INSIDE = {
    "nothing": lambda f: f,
    "jit": fx.jit,
    "grad": fx.grad,
    "jit of value and grad": lambda f: fx.jit(fx.value_and_grad(f)),  # else the value is dead code
    "grad of grad": lambda f: fx.grad(fx.grad(f)),
    "jvp": lambda f: lambda x: fx.jvp(f, (x,), (jnp.ones_like(x),))[1],
    "jacfwd": fx.jacfwd,
    "remat": lambda f: fx.grad(fx.checkpoint(f)),
    "vmap": lambda f: lambda x: fx.vmap(f)(jnp.stack([x, 2 * x])),
    "jit of vmap": lambda f: lambda x: fx.jit(fx.vmap(f))(jnp.stack([x, 2 * x])),
    "vmap of vmap": lambda f: lambda x: fx.vmap(fx.vmap(f))(jnp.stack([x, 2 * x])[None]),
    "vmap of grad": lambda f: lambda x: fx.vmap(fx.grad(f))(jnp.stack([x, 2 * x])),
    "grad of vmap": lambda f: fx.grad(lambda x: jnp.sum(fx.vmap(f)(jnp.stack([x, 2 * x])))),
    "jit of value and grad of vmap": lambda f: fx.jit(
        fx.value_and_grad(lambda x: jnp.sum(fx.vmap(f)(jnp.stack([x, 2 * x]))))
    ),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    "grad of scan": lambda f: fx.grad(
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    ),
    "cond": lambda f: lambda x: lax.cond(True, f, lambda x: x, x),
    "while": lambda f: lambda x: lax.while_loop(lambda x: x < 0.7, lambda x: f(x) + 0.3, x),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("inside", INSIDE)
def test_a_rule_is_asked_inside_of_other_transforms(inside, program):
    f = PROGRAMS[program]
    g = INSIDE[inside](f)
    x = jnp.float32(0.5)
    plain = g(x)  # traced without the transform first: what is remembered must not forget it
    public = Taint.transform(g)(Taint(x, False))
    if program != "repeat":  # the rule says something else of a loop
        is_data = {"is_leaf": lambda y: isinstance(y, Taint)}
        for one, other in zip(
            fx.tree.leaves(plain), fx.tree.leaves(public, **is_data), strict=True
        ):
            np.testing.assert_allclose(getattr(other, "value", other), one, rtol=1e-6)
    with pytest.raises(Leaked):
        Taint.transform(g)(Taint(x, True))


def test_forward_mode_asks_outside_about_each_effect_that_it_writes_out():
    written_out = [e for e in traits.composite if e not in extend.jvp.JVP.rules]
    assert {e.name for e in written_out} == {"reduce_prod", "cumprod", "cummax", "cummin"}
    report = laws.check(laws=[ASKED], effects=traits.composite, max_examples=8)
    assert report[ASKED.name].verdict == "true", report


class Positive(fx.Interpreter):
    """A value, and whether it is known to be positive: a rule for a composite, and no others."""

    value: fx.Leaf(primal=True)
    positive: fx.Static = True

    @classmethod
    def join_static(cls, name, one, other):
        return one and other


composites = []


@Positive.default
def unknown(effect, *xs, **how):
    if effect in traits.composite:
        composites.append(effect.name)
    found = effect(*(x.value for x in xs), **how)
    return [Positive(y) for y in found] if effect.multiple else Positive(found)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_a_rule_for_a_composite_is_asked_around_derivatives(name, jit):
    f = getattr(jnp, name)
    run = fx.value_and_grad(lambda x: jnp.sum(f(x)))
    x = jnp.array([3.0, 5.0, 7.0])
    expected = run(x)
    composites.clear()
    found = Positive.transform(fx.jit(run) if jit else run)(Positive(x))
    assert {"prod": "reduce_prod"}.get(name, name) in composites
    np.testing.assert_allclose(found[0].value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(found[1].value, expected[1], rtol=1e-6)


def test_what_is_written_out_means_the_same():
    xs = np.array([0.5, 1.0], np.float32)
    np.testing.assert_allclose(fx.vmap(fx.grad(PROGRAMS["sink"]))(xs), np.cos(xs), rtol=1e-6)
    np.testing.assert_allclose(
        fx.jit(fx.vmap(fx.grad(PROGRAMS["repeat"])))(xs),
        np.cos(np.sin(xs)) * np.cos(xs),
        rtol=1e-5,
    )
    many = fx.jit(fx.vmap(fx.vmap(_repeated)))(xs[None])
    np.testing.assert_allclose(many, np.sin(np.sin(xs))[None], rtol=1e-6)


def test_every_lane_is_asked_by_itself():
    class Seen(fx.Interpreter):
        value: fx.Leaf(primal=True)
        n: fx.State = 0

    @Seen.default
    def pass_on(effect, *xs, **how):
        if effect in traits.composite:
            return NotImplemented
        found = Seen.forward(effect, *xs, **how)
        return [Seen(y) for y in found] if effect.multiple else Seen(found)

    @Seen.rule(sink)
    def count(x, *, state):
        state.n = state.n + 1
        return x

    g = fx.vmap(lambda x: sink(x * 2.0))
    for f in (g, fx.jit(g)):
        result, states = Seen.transform(f)(Seen(jnp.arange(3.0)))
        np.testing.assert_allclose(result.value, [0, 2, 4])
        assert int(states["n"]) == 3


def test_what_a_body_performs_happens_once_or_is_refused():
    def f(x):
        body = extend.stage(lambda x: [loud(x) * 2.0], [extend.typeof(x)], "body").program
        return repeat(x, body=body, times=2)

    assert float(fx.grad(f)(1.0)) == 4.0
    with pytest.raises(extend.MissingRuleError, match="Taint has a rule for 'test_asked_repeat'"):
        Taint.transform(fx.grad(f))(Taint(jnp.float32(1.0)))
