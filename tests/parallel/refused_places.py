"""Places that are asked for, of `jit`, `pjit`, constraints and `device_put`, and those refused."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.experimental.pjit import pjit
from effax.extend.random import random_seed, threefry_prng_impl
from effax.sharding import Mesh, NamedSharding, SingleDeviceSharding

P = effax.P
if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

DEVICES = effax.devices()
MESH = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"))
PAIR = Mesh(np.array(DEVICES[:2]), "x")
TURNED = Mesh(np.array(DEVICES[1::-1]), "x")
HOST = np.arange(8.0, dtype=np.float32)


def over(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


@pytest.fixture
def first():
    return effax.device_put(HOST, DEVICES[0])


@pytest.fixture
def pair():
    return effax.device_put(HOST, over(PAIR, "x"))


INCOMPATIBLE = "Received incompatible devices for jitted computation. Got "
MESH_WORDS = r".* and jit's context mesh with device ids \[0, 1, 2, 3, 4, 5, 6, 7\] on platform CPU"
REFUSED = {
    "in_shardings left open": (
        lambda a, b: effax.jit(jnp.sin, in_shardings=over(MESH, P.UNCONSTRAINED)),
        "Unconstrained dims are not allowed when passed to in_shardings",
    ),
    "out_shardings left open": (
        lambda a, b: effax.jit(jnp.sin, out_shardings=P(P.UNCONSTRAINED)),
        "Unconstrained dims are not allowed when passed to out_shardings",
    ),
    "device and backend": (
        lambda a, b: effax.jit(jnp.sin, device=DEVICES[0], backend="cpu"),
        "can't specify both a device and a backend for jit",
    ),
    "device and out_shardings": (
        lambda a, b: effax.jit(jnp.sin, device=DEVICES[0], out_shardings=over(MESH)),
        "then out_shardings should not be specified",
    ),
    "keywords beside one device": (
        lambda a, b: effax.jit(lambda x: x, in_shardings=SingleDeviceSharding(DEVICES[0]))(x=a),
        "pjit does not support kwargs",
    ),
    "a constraint inside of jit(device)": (
        lambda a, b: effax.jit(
            lambda: lax.with_sharding_constraint(jnp.zeros(8), over(PAIR, "x")), device=DEVICES[0]
        )(),
        INCOMPATIBLE + r"explicit output sharding with device ids \[0\] on platform CPU and "
        r"with_sharding_constraint inside jit with device ids \[0, 1\]",
    ),
    "results elsewhere": (
        lambda a, b: effax.jit(jnp.sin, out_shardings=SingleDeviceSharding(DEVICES[1]))(a),
        INCOMPATIBLE + r"argument x of sin with shape float32\[8\] and with device ids \[0\]",
    ),
    "arguments by their names": (
        lambda a, b: effax.jit(lambda tree, y: (tree["a"][0], y))({"a": [a]}, y=b),
        INCOMPATIBLE + r"argument tree\['a'\]\[0\] of <lambda> .* and argument y of <lambda> with",
    ),
    "a mesh in context": (lambda a, b: under_set_mesh(lambda: a + 1), INCOMPATIBLE + MESH_WORDS),
    "pjit of arrays elsewhere": (
        lambda a, b: under_mesh(lambda: pjit(jnp.sin)(b)),
        INCOMPATIBLE + MESH_WORDS,
    ),
    "pjit for a device": (
        lambda a, b: under_mesh(lambda: pjit(jnp.sin, device=DEVICES[0])(a)),
        "Mesh context manager should not be used with jit when backend or device",
    ),
    "too few axes": (
        lambda a, b: effax.jit(lambda x: x, in_shardings=over(MESH, "x", "y"))(a),
        "One of pjit arguments with pytree key path x is incompatible .* rank at least 2",
    ),
    "results of too few axes": (
        lambda a, b: effax.jit(lambda x: [x], out_shardings=over(MESH, "x", "y"))(HOST),
        r"One of pjit outputs with pytree key path result\[0\] is incompatible .* rank at least 2",
    ),
    "no tuple": (
        lambda a, b: effax.jit(lambda x: x, in_shardings={"a": None})({"a": a}),
        "is not a tuple: got dict for an args tuple of length 1. It might need to be wrapped",
    ),
    "a constraint of None": (
        lambda a, b: lax.with_sharding_constraint([a], [None]),
        "One of with_sharding_constraint arguments got sharding None which is not allowed",
    ),
    "a constraint on a turned mesh": (
        lambda a, b: lax.with_sharding_constraint(b, over(TURNED, "x")),
        INCOMPATIBLE + r".* and explicit output sharding with device ids \[1, 0\]",
    ),
    "a constraint of too few axes": (
        lambda a, b: effax.jit(lambda x: lax.with_sharding_constraint(x, over(MESH, "x", "y")))(a),
        "One of with_sharding_constraint arguments is incompatible",
    ),
    "no array for a mesh without devices": (
        lambda a, b: lax.with_sharding_constraint(HOST, over(PAIR.abstract_mesh, "x")),
        "requires the input passed should be a `effax.Array`",
    ),
    "another mesh without devices": (
        lambda a, b: lax.with_sharding_constraint(b, over(MESH.abstract_mesh, "x")),
        "does not match the mesh shape of the target sharding",
    ),
    "an axis of the batch": (
        lambda a, b: effax.vmap(
            lambda x: lax.with_sharding_constraint(x, over(PAIR, "x")), spmd_axis_name="x"
        )(jnp.ones((2, 2))),
        "spmd_axis_name",
    ),
    "a batch on one device": (
        lambda a, b: effax.jit(
            effax.vmap(
                lambda x: lax.with_sharding_constraint(x, SingleDeviceSharding(DEVICES[0])),
                spmd_axis_name="x",
            )
        )(jnp.ones((2, 2))),
        "If you are using spmd_axis_name parameter of effax.vmap",
    ),
    "conversion elsewhere": (lambda a, b: jnp.array(a, device=DEVICES[1]), INCOMPATIBLE),
    "conversion on a turned mesh": (
        lambda a, b: jnp.asarray(b, "int32", device=over(TURNED, "x")),
        INCOMPATIBLE,
    ),
    "a length that is none": (
        lambda a, b: effax.make_mesh(((4,), 2), ("x", "y")),
        "`axis_shapes` passed to `make_mesh` should be a sequence of ints",
    ),
}


def under_mesh(call):
    with MESH:
        return call()


def under_set_mesh(call):
    with effax.set_mesh(MESH):
        return call()


@pytest.mark.parametrize("case", REFUSED)
def test_refused_places(case, first, pair):
    call, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        call(first, pair)


def test_a_pjit_is_placed_by_the_mesh_entered(pair):
    spread = effax.device_put(HOST, over(MESH, "x"))
    with MESH:
        assert pjit(lambda: 1)().sharding == over(MESH)
        assert pjit(jnp.sin)(HOST).sharding == over(MESH)
        square = pjit(lambda x: (x * x).sum())
        for _ in range(30):  # also once the gradient is computed often
            assert effax.grad(square)(HOST).sharding == over(MESH)
        assert effax.linearize(square, HOST)[1](HOST).sharding == over(MESH)
        assert effax.vjp(square, HOST)[1](np.float32(1))[0].sharding == over(MESH)
        assert effax.jit(effax.grad(square))(HOST).sharding.device_set == {DEVICES[0]}
        assert effax.vmap(pjit(jnp.sin))(HOST).sharding == over(MESH)
        assert effax.jit(pjit(jnp.sin))(HOST).devices() == {DEVICES[0]}
        assert effax.jit(jnp.sin)(pair).sharding == over(PAIR, "x")
        # None replicates where it is given, and what is not given is left to XLA.
        assert pjit(jnp.sin)(spread).sharding == over(MESH, "x")
        assert pjit(jnp.sin, out_shardings=None)(spread).sharding == over(MESH)
        f = pjit(lambda x, y: (x, y), (P("x"), None), (None, P("y")))
        assert [x.sharding for x in f(HOST, HOST)] == [over(MESH), over(MESH, "y")]
        with pytest.raises(ValueError, match="Sharding passed to jit does not match"):
            pjit(jnp.sin, in_shardings=None)(spread)
    assert MESH(lambda: pjit(jnp.sin, P("x"))(HOST).sharding)() == over(MESH, "x")
    assert pjit(jnp.sin, None, None)(spread).sharding == over(MESH, "x")


def test_constants_and_arguments_that_are_not_read_are_moved(first, pair):
    assert effax.jit(lambda x: x + first)(pair).sharding == over(PAIR, "x")
    assert effax.jit(lambda x: x + pair)(first).devices() == {DEVICES[0]}
    assert effax.jit(lambda x, y: x + 1)(pair, first).sharding == over(PAIR, "x")
    assert effax.jit(lambda x: x, in_shardings=over(TURNED, "x"))(pair).sharding.mesh == TURNED


def test_a_compiled_function_of_a_device_moves_its_arguments(pair):
    made = effax.jit(lambda x: x + 1, device=DEVICES[3]).lower(pair).compile()
    assert made(pair).devices() == {DEVICES[3]}


def test_constraints_inside_a_program_may_be_uneven():
    f = effax.jit(lambda x: lax.with_sharding_constraint(x[:5] * 2, over(MESH, "x")))
    np.testing.assert_array_equal(f(HOST), 2 * HOST[:5])
    one = effax.jit(lambda x: lax.with_sharding_constraint(x, SingleDeviceSharding(DEVICES[1])))
    assert one(HOST).devices() == effax.vmap(one)(HOST).devices() == {DEVICES[1]}


def test_an_array_like_a_type_lies_where_the_type_says():
    where = over(MESH, "x")
    like = effax.ShapeDtypeStruct((8,), "float32", sharding=where)
    assert jnp.zeros_like(like).sharding == lax.full_like(like, 2).sharding == where
    named = effax.ShapeDtypeStruct((8,), "float32", sharding=P("x"))
    with pytest.raises(TypeError, match="the context mesh cannot be empty"):
        named.sharding  # noqa: B018
    with effax.set_mesh(MESH):
        assert named.sharding == where
        assert effax.jit(jnp.sin).lower(named).compile()(jnp.zeros_like(like)).sharding == where


def test_the_same_devices_in_another_order_are_reached_without_the_host():
    x, y = (effax.device_put(HOST, over(PAIR, "x")) for _ in range(2))
    with effax.transfer_guard("disallow_explicit"):
        turned = effax.device_put([x, y], over(TURNED, "x"), donate=[True, False])
    assert x.is_deleted() and not y.is_deleted()
    for z in (*turned, effax.device_put(y, over(TURNED), donate=True)):
        np.testing.assert_array_equal(z, HOST)


def test_keys_of_many_seeds_lie_where_the_seeds_do():
    seeds = effax.device_put(np.arange(32, dtype=np.uint32).reshape(8, 4), over(MESH, "x", "y"))
    keys = effax.jit(lambda s: random_seed(s, threefry_prng_impl))(seeds)
    assert keys.shape == (8, 4) and len(keys.devices()) == 8
    assert keys[3, 1] == effax.random.key(13)
