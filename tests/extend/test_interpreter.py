"""Interpreters by fields: optional leaves, leaves with axes in front, statics, states, catch-alls."""

import re

import numpy as np
import pytest

import effax as fx
import effax.lax as lax
import effax.numpy as jnp
from effax import traits, tree_util

effects = fx.effects


class Series(fx.Interpreter):
    """A value, and several directions of it at once."""

    value: fx.Leaf
    directions: fx.Leaf(axes=1) | None


Series.leafwise(*traits.linear)


@Series.rule(effects.mul)
def mul_series(x, y):
    value = x.value * y.value
    parts = [
        d * other[None]
        for d, other in ((x.directions, y.value), (y.directions, x.value))
        if d is not None
    ]
    return Series(value, sum(parts[1:], parts[0]) if parts else None)


@Series.rule(effects.sin)
def sin_series(x):
    moved = None if x.directions is None else jnp.cos(x.value)[None] * x.directions
    return Series(jnp.sin(x.value), moved)


class Unit(fx.Interpreter):
    """A number with a unit of measure: a power of the metre."""

    number: fx.Leaf
    power: fx.Static = 0


@Unit.rule(effects.mul)
def mul_units(x, y):
    return Unit(x.number * y.number, x.power + y.power)


@Unit.rule(effects.add)
def add_units(x, y):
    if x.power != y.power:
        raise TypeError(f"m^{x.power} + m^{y.power}")
    return Unit(x.number + y.number, x.power)


class Counted(fx.Interpreter):
    """Count the effects that were performed on the way to a value."""

    value: fx.Leaf
    effects: fx.State = 0


@Counted.default
def count(effect, *operands, state, **attributes):
    state.effects = state.effects + 1
    found = Counted.forward(effect, *operands, **attributes)
    return [Counted(x) for x in found] if effect.multiple else Counted(found)


def polynomial(x):
    def step(c, row):
        return c * x + row, jnp.sin(c)

    last, sines = lax.scan(step, x, jnp.arange(3.0))
    return last + jnp.sum(sines)


def test_directions_agree_with_jacfwd_through_scan():
    x = jnp.array([0.3, -0.7])
    found = Series.transform(fx.vmap(polynomial))(Series(x, np.eye(2, dtype=np.float32)))
    np.testing.assert_allclose(found.value, fx.vmap(polynomial)(x), rtol=1e-6)
    np.testing.assert_allclose(found.directions.T, fx.jacfwd(fx.vmap(polynomial))(x), rtol=1e-5)


def test_absent_leaf_is_a_mode():
    def f(x, y):
        return lax.cond(True, lambda x, y: x * x, lambda x, y: y, x, y)

    found = Series.transform(f)(Series(1.0, np.ones(4, np.float32)), Series(2.0))
    np.testing.assert_allclose(found.directions, 2 * np.ones(4))
    other = Series.transform(lambda x, y: f(y, x))(Series(1.0, np.ones(4, np.float32)), Series(2.0))
    np.testing.assert_allclose(other.directions, np.zeros(4))


def test_statics_are_checked_and_may_not_disagree():
    metre = Unit(2.0, 1)
    assert Unit.transform(lambda x: x * x * x)(metre).power == 3
    with pytest.raises(TypeError, match=r"m\^1 \+ m\^0"):
        Unit.transform(lambda x: x + 1.0)(metre)
    with pytest.raises(TypeError, match="join_static"):
        Unit.transform(lambda x: lax.fori_loop(0, 3, lambda i, y: y * x, x))(metre)
    looped = Unit.transform(lambda x, y: lax.fori_loop(0, 3, lambda i, z: z * y, x))(
        metre, Unit(3.0, 0)
    )
    assert looped.power == 1
    assert float(looped.number) == 54.0


def test_state_goes_through_loops_branches_and_batches():
    def f(x):
        y = lax.fori_loop(0, 4, lambda i, y: jnp.sin(y) * x, x)
        return lax.cond(True, lambda y: y + y + y, lambda y: y, y)

    result, states = Counted.transform(f)(Counted(0.5))
    assert int(states["effects"]) == 4 * 2 + 2
    np.testing.assert_allclose(result.value, f(0.5), rtol=1e-6)
    _, jitted = fx.jit(Counted.transform(f))(Counted(0.5))
    assert int(jitted["effects"]) == 10
    _, many = fx.vmap(Counted.transform(f))(Counted(np.ones(3, np.float32)))
    np.testing.assert_array_equal(many["effects"], [10, 10, 10])


def test_nested_installations_do_not_confuse_each_other():
    def f(x):
        inner = Series.transform(lambda y: y * x)(Series(2.0, jnp.ones(1)))
        return inner.directions[0]

    found = Series.transform(f)(Series(3.0, jnp.ones(1)))
    np.testing.assert_allclose(found.value, 3.0)
    np.testing.assert_allclose(found.directions, [1.0])


def test_higher_order_effects_can_be_overridden():
    class Both(fx.Interpreter):
        value: fx.Leaf

    Both.leafwise(effects.add, effects.mul, *traits.structural)

    @Both.rule(effects.cond)
    def all_branches(index, *operands, branches, run):
        results = [run(branch, *operands) for branch in branches]
        return [Both(sum(x.value for x in column)) for column in zip(*results, strict=True)]

    found = Both.transform(lambda x: lax.cond(True, lambda y: y + 1.0, lambda y: y * 10.0, x))(
        Both(2.0)
    )
    assert float(found.value) == 23.0


class Ruled(fx.Interpreter):
    value: fx.Leaf
    other: fx.Leaf


WRONG = {
    "a scalar for a vector": (
        lambda x: Ruled(jnp.sum(x.value), x.other),
        r"'value' of type f32\[\]",
    ),
    "one leaf of another shape": (
        lambda x: Ruled(x.value, x.other[:2]),
        r"'other' of type f32\[2\]",
    ),
    "a narrower dtype": (
        lambda x: Ruled(x.value.astype("float16"), x.other),
        r"a value of type f16\[3\]",
    ),
    "a plain vector of another length": (lambda x: jnp.zeros(4), r"f32\[4\]"),
    "a plain narrower one": (lambda x: x.value.astype("float16"), r"f16\[3\]"),
    "nothing": (lambda x: None, "a NoneType"),
    "several": (lambda x: [x, x], "2 results"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("staged", [False, True])
def test_results_of_rules_have_the_type_of_the_signature(case, staged):
    wrong, found = WRONG[case]

    class Typed(Ruled):
        pass

    @Typed.rule(effects.sin)
    def wrong_sin(x):
        y = wrong(x)
        return Typed(y.value, y.other) if isinstance(y, Ruled) else y

    f = fx.jit(jnp.sin) if staged else jnp.sin
    with pytest.raises(fx.errors.RuleResultError) as caught:
        Typed.transform(f)(Typed(jnp.ones(3), jnp.ones(3)))
    message = str(caught.value)
    assert "wrong_sin, the rule of Typed for 'sin', must return f32[3]" in message
    assert re.search(found, message)


def test_effects_of_several_results_have_as_many():
    class Short(fx.Interpreter):
        value: fx.Leaf

    @Short.rule(effects.sort)
    def wrong_sort(*xs, **how):
        return []

    with pytest.raises(fx.errors.RuleResultError, match="must return 1 results"):
        Short.transform(jnp.sort)(Short(jnp.ones(3)))


def test_numbers_stand_for_arrays_of_the_type():
    class Flat(fx.Interpreter):
        value: fx.Leaf

    @Flat.rule(effects.sin)
    def flat_sin(x):
        return 0.5

    assert Flat.transform(jnp.sin)(Flat(jnp.ones(3))).tolist() == [0.5, 0.5, 0.5]


def test_an_effect_from_outside():
    cube = fx.extend.Effect("test_cube", family="test", typing=lambda x: x)

    @fx.extend.expand(cube)
    def cube_is_a_product(x):
        return x * x * x

    assert float(fx.jit(cube)(2.0)) == 8.0
    assert float(fx.grad(cube)(2.0)) == 12.0
    np.testing.assert_allclose(fx.vmap(cube)(jnp.arange(3.0)), [0, 1, 8])
    found = Series.transform(cube)(Series(2.0, np.ones(1, np.float32)))
    np.testing.assert_allclose(found.directions, [12.0])
    assert fx.effects.test_cube is cube


def test_instances_are_pytrees_of_the_leaves_they_have():
    x = Series(1.0, None)
    assert tree_util.tree_leaves(x) == [1.0]
    assert tree_util.tree_map(lambda y: y + 1, x).value == 2.0
    with pytest.raises(TypeError, match="needs a value for 'value'"):
        Series(directions=1.0)
    with pytest.raises(TypeError, match="has the fields"):
        Series(1, 2, 3)
