"""`device_put` under transforms, on eight CPU devices; `test_mesh.py` runs this file there."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.experimental import checkify
from effax.sharding import AxisType, NamedSharding, SingleDeviceSharding

P = effax.P
if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

MESH = effax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
EXPLICIT = effax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
X = np.arange(8, dtype=np.float32)
CUT, WHOLE = NamedSharding(MESH, P("x")), NamedSharding(MESH, P())
THIRD = SingleDeviceSharding(effax.devices()[3])
FIFTH = effax.devices()[5]


def squares(where):
    return lambda x: jnp.sum(effax.device_put(jnp.sin(x), where) ** 2)


def test_cotangents_go_back_to_where_values_were_put_from():
    first, second, third = effax.devices()[:3]
    x, w = effax.device_put(2.0, first), effax.device_put(3.0, second)

    def f(x, w):
        hidden = effax.device_put(jnp.sin(x), second)
        return effax.device_put(w * hidden, third) ** 2

    wanted = effax.value_and_grad(lambda x, w: (w * jnp.sin(x)) ** 2, (0, 1))(2.0, 3.0)
    y, grads = effax.value_and_grad(f, (0, 1))(x, w)
    assert [v.devices() for v in (y, *grads)] == [{third}, {first}, {second}]
    np.testing.assert_allclose([y, *grads], effax.tree.leaves(wanted), rtol=1e-6)
    y, back = effax.vjp(f, x, w)
    assert [v.devices() for v in (y, *back(y))] == [{third}, {first}, {second}]
    y, dy = effax.jvp(f, (x, w), (x, w))
    assert y.devices() == dy.devices() == {third}
    curvature = effax.grad(effax.grad(f))(x, w)
    assert curvature.devices() == {first}
    np.testing.assert_allclose(curvature, 18 * np.cos(4.0), rtol=1e-5)
    rows = effax.vmap(lambda x: effax.device_put(x, second) + 1)(jnp.arange(3.0))
    assert rows.devices() == {second}
    within = effax.jit(effax.grad(lambda x: effax.device_put(jnp.sin(x), second)))(x)
    assert within.devices() == {first}


@pytest.mark.parametrize("where", [CUT, WHOLE, FIFTH, NamedSharding(EXPLICIT, P("x"))], ids=str)
@pytest.mark.parametrize(
    "source", [THIRD, CUT, NamedSharding(MESH, P("y")), NamedSharding(EXPLICIT, P("x"))], ids=str
)
def test_gradients_lie_where_their_arguments_do(source, where):
    x = effax.device_put(X, source)
    y, dx = effax.value_and_grad(squares(where))(x)
    devices = {where} if where is FIFTH else where.device_set
    assert (y.devices(), dx.sharding) == (devices, source)
    np.testing.assert_allclose(dx, np.sin(2 * X), atol=1e-5)
    y, dy = effax.jvp(squares(where), (x,), (x,))
    assert y.devices() == dy.devices() == devices
    assert effax.linearize(squares(where), x)[1](x).devices() == devices
    if where is FIFTH:
        (back,) = effax.linear_transpose(lambda x: effax.device_put(2 * x, where), x)(x)
        assert back.sharding == source


def test_gradients_of_arrays_that_nobody_put_go_back_to_the_default_device():
    dx = effax.grad(squares(CUT))(jnp.asarray(X))
    assert dx.devices() == {effax.devices()[0]}


def test_src_says_where_cotangents_go():
    def f(x):
        return jnp.sum(effax.device_put(x, FIFTH, src=THIRD) * 2)

    assert effax.grad(f)(jnp.asarray(X)).sharding == THIRD
    assert effax.vmap(effax.grad(f))(jnp.ones((3, 8))).sharding == THIRD


def test_batches_are_put_beside_each_other():
    rows = effax.device_put(np.tile(X, (3, 1)), THIRD)
    for where, wanted in ((FIFTH, SingleDeviceSharding(FIFTH)), (WHOLE, WHOLE)):
        found = effax.vmap(lambda x, where=where: effax.device_put(x, where) + 1)(rows)
        assert found.sharding == wanted
        np.testing.assert_array_equal(found, np.tile(X, (3, 1)) + 1)
    found = effax.vmap(lambda x: effax.device_put(x, CUT))(rows)
    assert found.sharding.is_equivalent_to(NamedSharding(MESH, P(None, "x")), 2)
    spread = effax.vmap(lambda x: effax.device_put(x, NamedSharding(MESH, P())), spmd_axis_name="x")
    found = spread(effax.device_put(np.tile(X, (4, 1)), WHOLE))
    assert found.sharding.is_equivalent_to(NamedSharding(MESH, P("x")), 2)


PROGRAMS = {
    "jit": lambda put: effax.jit(lambda x: jnp.sum(put(x) ** 2)),
    "remat": lambda put: effax.checkpoint(lambda x: jnp.sum(put(jnp.sin(x)) ** 2)),
    "scan": lambda put: (
        lambda x: jnp.sum(lax.scan(lambda c, _: (put(jnp.sin(c)), None), x, None, length=2)[0])
    ),
    "cond": lambda put: lambda x: jnp.sum(lax.cond(x.sum() > 0, put, jnp.sin, x) ** 2),
    "while": lambda put: lambda x: jnp.sum(lax.fori_loop(0, 2, lambda i, c: put(c * 2), x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("where", [CUT, FIFTH], ids=str)
def test_within_a_program_xla_places_values(name, where):
    """One device says nothing to a program, and a mesh is where all of it is to run."""
    x = effax.device_put(X, CUT)

    def answers(put):
        f = PROGRAMS[name](put)
        yield f(x)
        yield effax.jvp(f, (x,), (x,))[1]
        yield effax.vmap(f)(jnp.stack([x, x]))
        yield effax.jacfwd(f)(x) if name == "while" else effax.grad(f)(x)
        errors, y = checkify.checkify(f, errors=checkify.all_checks)(x)
        errors.throw()
        yield y

    plain = answers(lambda x: x)
    for found, wanted in zip(answers(lambda x: effax.device_put(x, where)), plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert found.devices() == set(effax.devices())


def test_a_program_says_where_values_are_put():
    assert "device_put" in str(effax.make_jaxpr(squares(FIFTH))(X))
    text = effax.jit(squares(CUT)).lower(effax.device_put(X, CUT)).as_text()
    assert "sdy.sharding_constraint" in text
    text = effax.jit(squares(FIFTH)).lower(effax.device_put(X, CUT)).as_text()
    assert "sdy.sharding_constraint" not in text
    with pytest.raises(ValueError, match="device_put inside jit with device ids"):
        effax.jit(squares(CUT))(effax.device_put(X, THIRD))


@pytest.mark.parametrize("where", [CUT, FIFTH], ids=str)
def test_a_program_that_puts_can_be_exported(where):
    x = effax.device_put(X, CUT)
    exported = effax.export.export(effax.jit(squares(where)))(x)
    again = effax.export.deserialize(exported.serialize(vjp_order=1))
    np.testing.assert_allclose(effax.jit(again.call)(x), np.sum(np.sin(X) ** 2), rtol=1e-5)
    np.testing.assert_allclose(effax.grad(again.call)(x), np.sin(2 * X), atol=1e-5)
