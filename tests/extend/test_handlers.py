"""Handlers from outside do more than compute values: they see all effects, keep states, logs and
settings, and answer effects that happen once, or in each lane."""

import inspect

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import extend

effects = fx.effects


class Seen(fx.Interpreter, every=True):
    """Owns no value; writes the largest element of what each sine is of."""

    scale: fx.Setting = 1.0
    sines: fx.State = dict
    last: fx.State = dict
    peaks: fx.Log


@Seen.rule(effects.sin)
def see_sin(x, *, state, place):
    peak = jnp.max(x) * state.scale
    state.peaks.append("sin", peak)
    state.last = {**state.last, "sin": peak}
    state.sines = {"n": state.sines.get("n", jnp.int32(0)) + 1}
    places.append(place)
    return effects.sin(x)


places: list[str] = []


def test_plain_values_are_seen_and_untouched():
    result, states = Seen.transform(lambda x: jnp.sin(x) + jnp.sin(jnp.ones(2)))(jnp.zeros(2))
    np.testing.assert_allclose(result, np.sin(np.ones(2)), rtol=1e-6)
    assert states["sines"] == {"n": 2}
    np.testing.assert_array_equal(states["peaks"]["sin"], [0, 1])


def test_rules_are_told_the_line():
    def f(x):
        return jnp.sin(x)

    places.clear()
    Seen.transform(f)(jnp.zeros(2))
    Seen.transform(fx.jit(f))(jnp.zeros(2))
    line = inspect.getsourcelines(f)[1] + 1
    assert len(places) == 2
    assert all(f"test_handlers.py:{line} (" in place for place in places)


def looped(x):
    def step(c, _):
        return jnp.sin(c) + 1.0, None

    return lax.scan(step, x, None, length=3)[0]


def test_logs_and_states_through_control_flow():
    peaks, x = [], 0.5
    for _ in range(3):
        peaks.append(x)
        x = np.sin(x) + 1.0
    for f in (looped, fx.jit(looped), fx.checkpoint(looped)):
        _, states = fx.jit(Seen.transform(f))(0.5)
        np.testing.assert_allclose(states["peaks"]["sin"], peaks, rtol=1e-6)
        assert float(states["last"]["sin"]) == pytest.approx(peaks[-1])
        assert states["sines"]["n"] == 3
    _, many = fx.vmap(Seen.transform(looped))(jnp.array([0.5, 0.25]))
    np.testing.assert_allclose(many["peaks"]["sin"][0], peaks, rtol=1e-6)
    assert many["peaks"]["sin"].shape == (2, 3)


def test_what_is_written_under_one_key_has_one_type():
    class Kept(fx.Interpreter, every=True):
        seen: fx.Log

    @Kept.rule(effects.sin)
    def keep_sin(x, *, state):
        state.seen.append("sin", x)
        return effects.sin(x)

    with pytest.raises(TypeError, match=r"f32\[\] under 'sin', but f32\[2\] is written"):
        Kept.transform(lambda x: jnp.sin(x) + jnp.sin(jnp.ones(2)))(1.0)


def test_branches_write_the_same_or_are_refused():
    def f(x):
        return lax.cond(x > 0, jnp.sin, lambda x: jnp.sin(2 * x), x)

    _, states = Seen.transform(f)(-1.0)
    np.testing.assert_array_equal(states["peaks"]["sin"], [-2])
    with pytest.raises(TypeError, match="all branches must write the same"):
        Seen.transform(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0)


def test_while_may_keep_states_but_not_write_logs():
    class Counted(fx.Interpreter, every=True):
        n: fx.State = 0

    @Counted.rule(effects.sin)
    def count_sin(x, *, state):
        state.n = state.n + 1
        return effects.sin(x)

    def f(x):
        return lax.while_loop(lambda x: jnp.sin(x) < 0.9, lambda x: x + 0.25, x)

    steps, x = 1, 0.0
    while np.sin(x) < 0.9:
        steps, x = steps + 1, x + 0.25
    assert Counted.transform(f)(0.0)[1]["n"] == steps  # the condition's effects count
    with pytest.raises(TypeError, match="a while loop writes"):
        Seen.transform(f)(0.0)


def test_entries_that_a_branch_or_loop_does_not_set_are_zero():
    class Kept(fx.Interpreter, every=True):
        seen: fx.State = dict

    @Kept.rule(effects.sin)
    def keep_sin(x, *, state):
        state.seen = {**state.seen, "sin": x}
        return effects.sin(x)

    f = Kept.transform(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x))
    assert f(1.0)[1]["seen"] == {"sin": 1.0}
    assert f(-1.0)[1]["seen"] == {"sin": 0.0}
    g = Kept.transform(lambda n: lax.fori_loop(0, n, lambda i, x: jnp.sin(x) + 1, 1.0))
    assert fx.jit(g)(0)[1]["seen"] == {"sin": 0.0}
    assert fx.jit(g)(1)[1]["seen"] == {"sin": 1.0}


def test_settings_are_given_by_name_and_are_part_of_what_is_remembered():
    f = fx.jit(jnp.sin)
    one, two = (Seen.transform(f, scale=s)(1.0)[1]["peaks"]["sin"][0] for s in (1.0, 2.0))
    assert (one, two) == (1.0, 2.0)
    with pytest.raises(TypeError, match="declares no state or setting 'size'"):
        Seen.transform(f, size=1)
    _, states = Seen.transform(f, sines={"n": 5})(1.0)
    assert states["sines"] == {"n": 6}

    class Tagged(fx.Interpreter):
        tag: fx.Setting

    with pytest.raises(TypeError, match="needs the setting 'tag'"):
        Tagged.transform(f)


@pytest.mark.parametrize("kind", [fx.custom_jvp, fx.custom_vjp])
def test_custom_derivatives_stay_where_states_have_no_tangents(kind):
    class Counted(fx.Interpreter, every=True):
        n: fx.State = 0

    @Counted.default
    def count(effect, *operands, state, **attributes):
        state.n = state.n + 1
        return effect(*operands, **attributes)

    f = kind(lambda x: jnp.sin(x) * 2.0)
    if kind is fx.custom_jvp:
        f.defjvp(lambda x, t: (f(*x), 100.0 * t[0]))
    else:
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (100.0 * ct,))
    assert Counted.transform(f)(1.0)[1]["n"] == 2
    assert float(fx.grad(lambda x: Counted.transform(f)(x)[0])(1.0)) == 100.0


def _ticks(*, n):
    return extend.ShapedArray((n,), "float32")


tick = extend.Effect("test_tick", family="test", typing=_ticks, row="test_tick")
extend.batch.in_each_lane(tick)


@extend.batch.rule(tick)
def tick_in_each_lane(handler, values, batched, *, n):
    ticks = tick(n=n * handler.size)
    return jnp.reshape(ticks, (handler.size, n)), True


class Clock(fx.Interpreter):
    """Counts up."""

    now: fx.State = 0.0


@Clock.rule(tick)
def tell(*, n, state):
    state.now = state.now + n
    return state.now - jnp.arange(n)[::-1]


def time(f):
    return lambda *args: Clock.transform(f)(*args)[0]


def test_an_effect_in_each_lane_happens_without_a_batched_operand():
    lanes = time(fx.vmap(lambda x: tick(n=2)))(jnp.zeros(3))
    np.testing.assert_array_equal(lanes, [[1, 2], [3, 4], [5, 6]])
    with pytest.raises(ValueError, match="'sin' has no row"):
        extend.batch.in_each_lane(effects.sin)


def test_remat_does_not_repeat_what_happens_once():
    def f(x):
        return jnp.sum(jnp.sin(fx.checkpoint(lambda x: jnp.sin(x * tick(n=1)))(x)))

    for g in (f, fx.jit(f)):
        inside, outside = time(fx.grad(g))(0.5), fx.grad(time(g))(0.5)
        expected = np.cos(np.sin(0.5)) * np.cos(0.5)
        np.testing.assert_allclose([inside, outside], expected, rtol=1e-6)


def test_an_effect_that_nothing_answers_is_refused_or_written_out():
    with pytest.raises(fx.errors.UnhandledEffectError, match="test_tick"):
        fx.jit(lambda: tick(n=1))()
    quiet = extend.Effect("test_quiet", family="test", typing=lambda x: x, row="test_quiet")
    extend.expand(quiet)(lambda x: x + 1.0)
    assert float(quiet(1.0)) == float(fx.jit(quiet)(1.0)) == 2.0
