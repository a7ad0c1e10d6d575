"""What transforms of the library may do, a user's may: Python branches, effects of any family."""

import pytest

import effax as fx
import effax.numpy as jnp
from effax import extend

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
    Tangent.transform(lambda y: seen.extend([f"{y:.2f}", y.item(), bool(y), [y.tolist()]]))(
        Tangent(jnp.float32(x), jnp.float32(1))
    )
    assert seen == [f"{x:.2f}", x, True, [x]]


def test_python_does_not_branch_where_the_value_is_not_known():
    with pytest.raises(fx.errors.TracerBoolConversionError):
        fx.jit(lambda x: moved(branching, x))(2.0)
    with pytest.raises(fx.errors.TracerBoolConversionError):
        fx.vmap(lambda x: moved(branching, x))(jnp.ones(2))
    with pytest.raises(fx.errors.TracerBoolConversionError):
        moved(fx.jit(branching), 2.0)
    with pytest.raises(fx.errors.TracerBoolConversionError):
        Bare.transform(branching)(Bare(jnp.float32(2)))


@pytest.mark.parametrize("family", ["custom", "state", "mine"])
def test_the_name_of_a_family_means_nothing(family):
    twice = extend.Effect(f"privilege_{family}", family=family, typing=lambda x: x)
    extend.expand(twice)(lambda x: x + x)
    found = Bare.transform(lambda x: twice(x))(Bare(jnp.float32(3)))
    assert isinstance(found, Bare) and found.value == 6 and asked[-1] == twice.name
    assert fx.grad(lambda x: twice(x * x))(3.0) == 12
    ref = fx.new_ref(jnp.float32(1))
    with pytest.raises(TypeError, match="an array is required here"):
        twice(ref)
