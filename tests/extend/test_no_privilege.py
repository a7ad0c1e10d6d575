"""A user's transform may do all that the library's may: Python branches, effects of any family."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import effects, extend
from effax.effects import effect

asked = []


class Tangent(fx.Interpreter):
    """Forward mode by differences of the rules: enough to see who is asked."""

    value: fx.Leaf(primal=True)
    tangent: fx.Leaf | None


class Bare(fx.Interpreter):
    """The same without a leaf that is the value."""

    value: fx.Leaf


@Tangent.default
def along(effect, *xs, **how):
    values, moves = [x.value for x in xs], [x.tangent for x in xs]
    moving = [i for i, t in enumerate(moves) if t is not None]
    if not moving or values[moving[0]].dtype != "float32":
        return Tangent(effect(*values, **how))

    def of(*some):
        given = [some[moving.index(i)] if i in moving else x for i, x in enumerate(values)]
        return effect(*given, **how)

    found = fx.jvp(of, [values[i] for i in moving], [moves[i] for i in moving])
    return Tangent(*found) if found[0].dtype == "float32" else Tangent(found[0])


@Bare.default
def on_value(effect, *xs, **how):
    asked.append(effect.name)
    return Bare(effect(*(x.value for x in xs), **how))


def branching(x):
    y = x * x
    if y > 1:
        y = y * x
    return y * [2.0, 3.0][(y > 10).astype(int)] * float(x > 0) + int(y.astype(int))


def moved(f, x, t=1.0):
    y = Tangent.transform(f)(Tangent(jnp.float32(x), jnp.float32(t)))
    return y.value, y.tangent


@pytest.mark.parametrize("x", [0.5, 2.0, 5.0])
def test_python_branches_on_the_leaf_that_is_the_value(x):
    assert moved(branching, x) == fx.jvp(branching, (x,), (1.0,))
    assert fx.grad(lambda x: moved(branching, x)[0])(x) == fx.grad(branching)(x)
    seen = []
    Tangent.transform(lambda y: seen.extend([f"{y:.2f}", y.item(), bool(y), (y > 1).tolist()]))(
        Tangent(jnp.float32(x), jnp.float32(1))
    )
    assert seen == [f"{x:.2f}", x, True, x > 1]


def test_python_does_not_branch_where_the_value_is_not_known():
    with pytest.raises(fx.errors.TracerBoolConversionError):
        fx.jit(lambda x: moved(branching, x))(2.0)
    with pytest.raises(fx.errors.TracerBoolConversionError):
        fx.vmap(lambda x: moved(branching, x))(jnp.ones(2))
    with pytest.raises(fx.errors.TracerBoolConversionError):
        moved(fx.jit(branching), 2.0)
    with pytest.raises(fx.errors.TracerBoolConversionError):
        Bare.transform(branching)(Bare(jnp.float32(2)))


FAMILIES = ["custom", "state", "elementwise", "logical", "callback", "reduction", "mine"]


@pytest.fixture
def forgotten():
    """Effects defined in a test are forgotten: some tests look at whole families of the library."""
    before = set(effect._registry)
    yield
    for name in set(effect._registry) - before:
        del effect._registry[name]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_name_of_a_family_means_nothing(family, forgotten):
    twice = extend.Effect(f"privilege_{family}", family=family, typing=lambda x: x)
    extend.expand(twice)(lambda x: x + x)
    found = Bare.transform(lambda x: twice(x))(Bare(jnp.float32(3)))
    assert isinstance(found, Bare) and found.value == 6 and asked[-1] == twice.name
    assert fx.grad(lambda x: twice(x * x))(3.0) == 12
    ref = fx.new_ref(jnp.float32(1))
    with pytest.raises(TypeError, match="an array is required here"):
        twice(ref)


def test_what_a_transform_leaves_in_auxiliary_data_is_the_value():
    kept = []

    def f(x):
        Tangent.transform(lambda y: kept.append(2 * y) or y)(Tangent(x))
        return x * x, kept.pop()

    for derivative in (fx.grad, fx.jacfwd, fx.jacrev):
        slope, aux = derivative(f, has_aux=True)(jnp.float32(3))
        assert (float(slope), float(aux)) == (6, 6)


class Quick(fx.Interpreter, pure=True):
    """A pair of arrays, one of which may be absent, and a static power."""

    value: fx.Leaf(primal=True)
    other: fx.Leaf | None
    power: fx.Static = 0
    unit: fx.Setting = 1


calls = []


@Quick.rule(effects.mul)
def mul_quick(x, y):
    calls.append("mul")
    parts = [p for p in (x.other, y.other) if p is not None]
    return Quick(x.value * y.value, sum(parts) if parts else None, x.power + y.power)


@Quick.rule(effects.sin, effects.cos)
def waves(x, *, effect):
    calls.append(effect.name)
    return Quick(effect(x.value), x.other, x.power) if x.other is not None else effect(x.value)


@Quick.rule(effects.exp, pure=False)
def each_time(x):
    calls.append("exp")
    return Quick(jnp.exp(x.value))


@Quick.rule(effects.log)
def asks_for_elements(x):
    calls.append("log")
    return Quick(x.value if x.value[0] > 1 else -x.value)


@Quick.rule(effects.tanh)
def with_an_array(x):
    calls.append("tanh")
    return Quick(x.value * TABLE)


@Quick.rule(effects.sort)
def several(*xs, **how):
    calls.append("sort")
    first, second = effects.sort(*(x.value for x in xs), **how)
    return [Quick(first, first), second]


@Quick.rule(effects.cumsum)
def not_for_some(x, **how):
    calls.append("cumsum")
    return NotImplemented if x.power else Quick(-x.value)


@Quick.default
def others(effect, *xs, **how):
    calls.append(effect.name)
    return Quick(effect(*(x.value for x in xs), **how))


TABLE = jnp.arange(3.0)
A, B = np.float32([1, 2, 3]), np.float32([4, 5, 6])
DIFFERENT = {
    "arrays": (lambda x, y: x * y, "mul", 1, Quick(A * B, A + B, 5)),
    "a number": (lambda x, y: y * 3.0, "mul", 1, Quick(B * 3, B, 3)),
    "another number": (lambda x, y: y * 4.0, "mul", 0, Quick(B * 4, B, 3)),
    "a plain array": (lambda x, y: y * jnp.asarray(A), "mul", 1, Quick(A * B, B, 3)),
    "a shape": (lambda x, y: x[:2] * x[:2], "mul", 1, Quick(A[:2] ** 2, None, 0)),
    "one of two effects": (lambda x, y: jnp.cos(y), "cos", 1, Quick(np.cos(B), B, 3)),
    "a leaf less": (lambda x, y: jnp.sin(x[:2]), "sin", 1, np.sin(A[:2])),
    "each time": (lambda x, y: jnp.exp(x), "exp", 2, Quick(np.exp(A))),
    "elements": (lambda x, y: jnp.log(y), "log", 3, Quick(B)),
    "an array of the rule's": (lambda x, y: jnp.tanh(y), "tanh", 3, Quick(B * np.arange(3))),
    "several results": (
        lambda x, y: fx.lax.sort((x, y), num_keys=1)[0],
        "sort",
        1,
        Quick(A, A),
    ),
    "no rule for these": (
        lambda x, y: effects.cumsum(y, axis=0, reverse=False),
        "cumsum",
        3,
        Quick(np.cumsum(B)),
    ),
    "what else": (lambda x, y: jnp.sqrt(y), "sqrt", 1, Quick(np.sqrt(B))),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_a_pure_rule_is_called_once_and_means_the_same(name):
    """In two runs the rule is called for one trace, and each time where it could not be compiled."""
    f, rule, number, expected = DIFFERENT[name]
    fx.clear_caches()
    if name == "another number":
        Quick.transform(lambda y: y * 3.0)(Quick(jnp.asarray(B), jnp.asarray(B), 3))
    given = Quick(jnp.asarray(A), jnp.asarray(A), 2), Quick(jnp.asarray(B), jnp.asarray(B), 3)
    if name in ("a shape", "a leaf less"):
        given = Quick(jnp.asarray(A)), given[1]
    for run in range(2):
        if run == 0:
            calls.clear()
        found = Quick.transform(f)(*given)
        assert fx.tree.structure(found) == fx.tree.structure(expected)
        for one, other in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    assert calls.count(rule) == number, calls


def test_a_pure_rule_of_a_setting_is_called_for_each():
    calls.clear()
    for unit in (1, 2, 1):
        Quick.transform(lambda x: x * x, unit=unit)(Quick(jnp.ones(7)))
    assert calls == ["mul", "mul"]


def test_a_pure_derivative_of_a_users_effect_is_called_once():
    cube = extend.Effect("privilege_cube", family="mine", typing=lambda x: x)
    extend.expand(cube)(lambda x: x * x * x)
    calls = []
    for pure in (False, True):

        @extend.jvp.rule(cube, pure=pure)
        def cube_jvp(primals, tangents, pure=pure):
            calls.append(pure)
            return cube(*primals), 3 * primals[0] ** 2 * tangents[0]

        for _ in range(3):
            assert fx.jvp(cube, (jnp.ones(3),), (jnp.ones(3),))[1].tolist() == [3.0] * 3
    assert calls == [False] * 3 + [True]
