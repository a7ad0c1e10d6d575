"""An effect of a program is performed once, whatever a derivative computes again."""

import sys
from pathlib import Path

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend
from effax.errors import UnsupportedDerivativeError
from effax.experimental import checkify

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples/transforms"))

import seed as seeds

tick = extend.Effect(
    "once_tick",
    family="test",
    typing=lambda: extend.ShapedArray((), "float32"),
    row="once_tick",
)
extend.batch.in_each_lane(tick)


@extend.batch.rule(tick)
def tick_in_each_lane(handler, values, batched):
    return jnp.stack([tick() for _ in range(handler.size)]), True


class Clock(fx.Interpreter):
    now: fx.State = 0.0


@Clock.rule(tick)
def tell(*, state):
    state.now = state.now + 1
    return jnp.cos(state.now)


def steps(x, step, **options):
    carry = lax.while_loop(lambda c: c[0] < 8, lambda c: (c[0] + 1, step(c[1])), (0, x), **options)
    return carry[1]


def ticking(x):
    return jnp.sin(x) * tick()


def counted(f, *args):
    result, states = Clock.transform(f)(*args)
    return result, float(states["now"])


DERIVATIVES = {
    "grad": fx.grad,
    "grad of jit": lambda f: fx.grad(fx.jit(f)),
    "jit of grad": lambda f: fx.jit(fx.grad(f)),
    "jacrev": fx.jacrev,
    "linearize": lambda f: lambda x: fx.linearize(f, x)[1](1.0),
    "hessian": fx.hessian,
}


@pytest.mark.parametrize("name", ["grad", "grad of jit", "jit of grad", "linearize", "hessian"])
def test_answers_that_a_loop_cannot_keep_are_refused_with_the_line(name):
    def f(x):
        return steps(x, ticking, checkpoints=3)

    with pytest.raises(UnsupportedDerivativeError, match=r"'once_tick', .*test_effects_once\.py"):
        counted(DERIVATIVES[name](f), 1.0)
    inside = DERIVATIVES[name](lambda x: Clock.transform(f)(x)[0])(1.0)
    assert np.isfinite(np.asarray(fx.tree.leaves(inside)[0]))


def test_forward_mode_performs_each_tick_once():
    def f(x):
        return steps(x, ticking)

    (_, slope), count = counted(lambda x: fx.jvp(f, (x,), (1.0,)), 1.0)
    assert count == 8
    expected = fx.jvp(lambda x: Clock.transform(f)(x)[0], (1.0,), (1.0,))[1]
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["grad", "jit of grad", "jacrev", "linearize", "hessian"])
def test_an_answer_that_is_not_needed_again_is_not_asked_for_again(name):
    def told(x):
        tick()
        return jnp.sin(x)

    def pure(x):
        return steps(x, jnp.sin, checkpoints=3)

    slope, count = counted(DERIVATIVES[name](lambda x: steps(x, told, checkpoints=3)), 1.0)
    assert count == 8
    np.testing.assert_allclose(slope, DERIVATIVES[name](pure)(1.0), rtol=1e-5)


def in_a_call(y, kept):
    return fx.jit(lambda y, kept: (jnp.sin(y), kept + tick()))(y, kept)


def in_a_branch(y, kept):
    return lax.cond(y > -2, lambda y, k: (jnp.sin(y), k + tick()), lambda y, k: (y, k), y, kept)


def in_a_scan(y, kept):
    def step(c, _):
        return (jnp.sin(c[0]), c[1] + tick()), c[1]

    (y, _), kept = lax.scan(step, (y, kept), None, length=1)
    return y, kept[0] + 1


def in_a_loop(y, kept):
    c = lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, kept * c[1] + tick()), (0, kept))
    return jnp.sin(y), c[1]


CARRYING = {
    "straight": lambda y, kept: (jnp.sin(y), kept + tick()),
    "replaced": lambda y, kept: (jnp.sin(y), tick()),
    "call": in_a_call,
    "cond": in_a_branch,
    "scan": in_a_scan,
    "while": in_a_loop,
}


@pytest.mark.parametrize("name", CARRYING)
@pytest.mark.parametrize("derivative", ["grad", "jit of grad", "jacrev", "linearize", "hessian"])
def test_a_carried_answer_that_no_tangent_needs_is_not_stored(name, derivative):
    def f(x):
        def step(c):
            return CARRYING[name](*c)

        y, kept = steps((x, jnp.float32(0.0)), step, checkpoints=3)
        return y + kept

    slope, count = counted(DERIVATIVES[derivative](f), jnp.float32(1.0))
    assert count == 8
    inside = DERIVATIVES[derivative](lambda x: Clock.transform(f)(x)[0])(jnp.float32(1.0))
    np.testing.assert_allclose(slope, inside, rtol=1e-5)


def test_what_no_tangent_needs_is_neither_a_carry_nor_a_checkpoint():
    def f(x):
        def step(c):
            return jnp.sin(c[0]), c[1] + jnp.cos(c[1])

        return sum(map(jnp.sum, steps((x, jnp.ones(7)), step, checkpoints=3)))

    text = str(fx.make_program(fx.grad(f))(1.0))
    assert "f32[7]" in text
    assert "f32[3,7]" not in text


def test_a_loop_whose_tangent_is_dropped_may_ask():
    def f(x):
        return x * lax.stop_gradient(steps(x, ticking, checkpoints=3))

    for derivative in (fx.grad, DERIVATIVES["linearize"]):
        slope, count = counted(derivative(f), 1.0)
        assert count == 8
        np.testing.assert_allclose(slope, Clock.transform(f)(1.0)[0], rtol=1e-6)


def test_seed_gives_the_gradient_of_the_value_or_refuses():
    def walk(x):
        return steps(x, lambda y: y * seeds.normal(), checkpoints=2)

    def known(x):
        return lax.fori_loop(0, 8, lambda i, y: y * seeds.normal(), x)

    key = fx.random.key(0)
    with pytest.raises(UnsupportedDerivativeError, match="'draw'"):
        seeds.seed(fx.grad(walk))(key, 2.0)
    value, slope = seeds.seed(fx.value_and_grad(known))(key, 2.0)
    np.testing.assert_allclose(slope, value / 2.0, rtol=1e-5)
    inside = fx.value_and_grad(lambda x: seeds.seed(walk)(key, x))(2.0)
    np.testing.assert_allclose(inside[1], inside[0] / 2.0, rtol=1e-5)


@pytest.mark.parametrize("jacobian", [fx.jacfwd, fx.jacrev, fx.hessian])
def test_the_directions_of_a_jacobian_share_the_answers(jacobian):
    def f(x):
        return lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) * tick(), x)

    x = jnp.array([0.5, 1.0])
    found, count = counted(jacobian(lambda x: jnp.sum(f(x)) if jacobian is fx.hessian else f(x)), x)
    assert count == 3
    expected = jacobian(
        lambda x: Clock.transform(lambda x: jnp.sum(f(x)) if jacobian is fx.hessian else f(x))(x)[0]
    )(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("ordered", [False, True])
def test_remat_asks_the_host_once(ordered):
    asked = []

    def answer(x):
        asked.append(float(x))
        return np.float32(len(asked))

    def f(x):
        def step(x):
            type = fx.ShapeDtypeStruct((), jnp.float32)
            k = fx.experimental.io_callback(answer, type, lax.stop_gradient(x), ordered=ordered)
            fx.experimental.io_callback(lambda x: asked.append(-1.0), None, 1.0, ordered=ordered)
            return jnp.sin(jnp.sin(x) * k)

        return fx.checkpoint(step)(x)

    slope = fx.jit(fx.grad(f))(jnp.float32(0.5))
    fx.effects_barrier()
    assert sorted(asked) == [-1.0, 0.5]
    np.testing.assert_allclose(slope, np.cos(np.sin(0.5)) * np.cos(0.5), rtol=1e-6)


def test_checks_are_made_once_and_kept():
    def f(x):
        def step(x):
            checkify.check(x < 0.5, "large")
            return jnp.sin(x)

        return steps(x, step, checkpoints=2)

    error, slope = checkify.checkify(fx.grad(f))(1.0)
    assert "large" in error.get()
    np.testing.assert_allclose(slope, fx.grad(lambda x: steps(x, jnp.sin, checkpoints=2))(1.0))
    program = fx.make_program(fx.grad(f))(1.0)
    assert str(program).count("check[") == 1


ticked = extend.Effect("once_ticked", family="test", typing=lambda x: x)
unsaid = extend.Effect("once_unsaid", family="test", typing=lambda x: x)
extend.expand(ticked, performs=[tick])(ticking)
extend.expand(unsaid)(ticking)

WAYS = {
    "itself": lambda f: f,
    "jit": fx.jit,
    "jvp": lambda f: lambda x: fx.jvp(f, (x,), (1.0,)),
    "vmap": lambda f: lambda x: fx.vmap(f)(x * jnp.arange(2.0)),
    "grad of vmap": lambda f: fx.grad(lambda x: fx.vmap(f)(x * jnp.arange(2.0)).sum()),
    "vmap of grad": lambda f: lambda x: fx.vmap(fx.grad(f))(x * jnp.arange(2.0)),
    "grad of remat": lambda f: fx.grad(fx.checkpoint(f)),
    "grad of scan": lambda f: fx.grad(
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0]
    ),
    "grad of cond": lambda f: fx.grad(lambda x: lax.cond(x > 0, f, lambda x: x, x)),
    **DERIVATIVES,
}


@pytest.mark.parametrize("name", WAYS)
def test_an_effect_that_is_written_out_performs_what_that_does_once(name):
    found, count = counted(WAYS[name](ticked), jnp.float32(0.5))
    expected, times = counted(WAYS[name](ticking), jnp.float32(0.5))
    assert count == times
    for one, other in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", ["jvp", "vmap", "vmap of grad", "jit of grad", "hessian"])
def test_derivatives_perform_it_once_where_the_effect_does_not_say_so(name):
    _, count = counted(WAYS[name](unsaid), jnp.float32(0.5))
    assert count == (2 if "vmap" in name else 1)


def test_an_effect_that_does_not_say_what_it_performs_is_told_how():
    told = r"once_tick\(\) -> f32\[\] at .*@extend.expand\(once_unsaid, performs=\[once_tick\]\)"
    for run in (unsaid, fx.jit(unsaid)):
        with pytest.raises(fx.errors.UnhandledEffectError, match=told):
            counted(run, jnp.float32(0.5))
    with pytest.raises(ValueError, match="'sin' is pure"):
        extend.expand(unsaid, performs=[fx.effects.sin])


def test_the_row_of_a_program_says_what_is_performed_when_it_is_written_out():
    program = fx.make_program(lambda x: (ticked(x), x)[1])(1.0)
    assert program.row == {"once_tick"}
    assert program.row - Clock.answered() == set()
    assert len(program.equations) == 1


PLACES = {
    "pmap": fx.pmap,
    "shard_map": lambda f: fx.shard_map(
        f,
        mesh=fx.make_mesh((1,), ("i",)),
        in_specs=fx.sharding.PartitionSpec("i"),
        out_specs=fx.sharding.PartitionSpec("i"),
    ),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("derivative", [fx.grad, lambda f: lambda x: fx.linearize(f, x)[1](x)])
def test_a_place_keeps_what_it_was_answered(name, derivative):
    def f(x):
        return PLACES[name](lambda x: jnp.sin(jnp.sin(x) * tick()))(x).sum()

    x = jnp.array([0.5])
    slope, count = counted(derivative(f), x)
    assert count == 1
    np.testing.assert_allclose(slope, derivative(lambda x: Clock.transform(f)(x)[0])(x), rtol=1e-6)
