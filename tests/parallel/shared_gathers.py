"""Gathered values that all places share, as types tell it; run by `test_mesh.py`."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import P, lax
from effax.sharding import AxisType, NamedSharding
from effax.test_util import check_grads

if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

LINE = effax.make_mesh((8,), ("x",), (AxisType.Auto,))
CUBE = effax.make_mesh((2, 2, 2), ("x", "y", "z"), (AxisType.Auto,) * 3)
HOST = np.arange(64, dtype=np.float32).reshape(8, 8) / 7


def gathered(x, axes, **options):
    return lax.all_gather(x, axes, to="invarying", **options)


@pytest.mark.parametrize("apply", [lambda f: f, effax.jit], ids=["now", "jit"])
def test_a_gathered_value_is_the_same_at_all_places(apply):
    def local(x):
        whole = gathered(x, "x", tiled=True)
        assert effax.typeof(whole).mat.varying == frozenset()
        return whole

    f = apply(effax.shard_map(local, mesh=LINE, in_specs=P("x"), out_specs=P()))
    signed = np.where(HOST > 4, -0.0, HOST)
    np.testing.assert_array_equal(np.signbit(f(signed)), np.signbit(signed))
    np.testing.assert_array_equal(f(HOST), HOST)
    assert "all_gather" in effax.jit(f).lower(HOST).as_text()


def test_derivatives_of_shared_values():
    f = effax.shard_map(
        lambda x: jnp.sin(gathered(x, "x", tiled=True)), mesh=LINE, in_specs=P("x"), out_specs=P()
    )
    check_grads(f, (HOST[0],), order=2)
    x = effax.device_put(HOST[0], NamedSharding(LINE, P("x")))
    slope = effax.jit(effax.grad(lambda x: f(x).sum()))(x)
    np.testing.assert_allclose(slope, np.cos(HOST[0]), rtol=1e-6)
    assert slope.sharding == NamedSharding(LINE, P("x"))


def test_derivatives_inside_count_a_shared_value_once():
    """The cotangent of a shared value is one, so that each place has its own piece of it."""

    def local(x):
        return effax.grad(lambda x: (gathered(x, "x", tiled=True) ** 2).sum())(x)

    f = effax.shard_map(local, mesh=LINE, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_allclose(effax.jit(f)(HOST[0]), 2 * HOST[0], rtol=1e-6)
    stacked = effax.shard_map(
        lambda x: effax.grad(lambda x: (gathered(x, "x", axis=1) ** 2).sum())(x),
        mesh=LINE,
        in_specs=P("x"),
        out_specs=P("x"),
    )
    np.testing.assert_allclose(stacked(HOST), 2 * HOST, rtol=1e-6)


def test_along_several_axes():
    def local(x):
        one = gathered(x, "z", axis=0, tiled=True)
        two = gathered(x, ("x", "y"), axis=-1, tiled=True)
        assert effax.typeof(one).mat.varying == {"x", "y"}
        assert effax.typeof(two).mat.varying == {"z"}
        return one, two

    specs = P("z", ("x", "y"))
    f = effax.shard_map(local, mesh=CUBE, in_specs=specs, out_specs=(P(None, ("x", "y")), P("z")))
    for found in f(HOST):
        np.testing.assert_array_equal(found, HOST)
    for i in (0, 1):
        slope = effax.grad(lambda x, i=i: (f(x)[i] ** 2).sum())(HOST)
        np.testing.assert_allclose(slope, 2 * HOST, rtol=1e-6)


def test_under_vmap():
    def local(x):
        return effax.vmap(lambda row: gathered(row, "x", tiled=True))(x)

    f = effax.shard_map(local, mesh=LINE, in_specs=P(None, "x"), out_specs=P())
    np.testing.assert_array_equal(f(HOST), HOST)
    lanes = effax.vmap(lambda x: gathered(x, "i"), axis_name="i")(HOST)
    np.testing.assert_array_equal(lanes[3], HOST)


def test_kinds_that_are_refused():
    def ask(**options):
        f = lambda x: lax.all_gather(x, "x", **options)  # noqa: E731
        effax.shard_map(f, mesh=LINE, in_specs=P("x"), out_specs=P("x"))(HOST)

    with pytest.raises(NotImplementedError, match="axis_index_groups is not supported"):
        ask(to="invarying", axis_index_groups=[[0, 1], [2, 3], [4, 5], [6, 7]])
    with pytest.raises(ValueError, match='must be "varying" or "invarying"'):
        ask(to="shared")


def test_axes_that_nothing_binds():
    for name, f in {
        "psum": lambda x: lax.psum(x, "j"),
        "all_gather": lambda x: lax.all_gather(x, "j"),
        "pcast": lambda x: lax.pcast(x, "j", to="varying"),
    }.items():
        words = f"Found an unbound axis name: j. To fix this, please call {name} under `effax.shard_map`"
        with pytest.raises(NameError, match=words):
            effax.shard_map(f, mesh=LINE, in_specs=P("x"), out_specs=P("x"))(HOST)
    with pytest.raises(TypeError, match="must be a tuple or a str"):
        effax.shard_map(
            lambda x: lax.pcast(x, {"x"}, to="varying"), mesh=LINE, in_specs=P(), out_specs=P("x")
        )(HOST)


@pytest.mark.parametrize(
    ("choose", "advice"),
    [
        (
            lambda x, y: lax.cond(True, lambda: x, lambda: y),
            r"pcast\(\.\.\., \('y',\), to='varying'\)` to the output of true_fun, applying",
        ),
        (
            lambda x, y: lax.cond(True, lambda: (x, y), lambda: (y, x))[0],
            r"pcast\(\.\.\., \('x',\), to='varying'\)` to the output of false_fun at path \[0\]",
        ),
        (
            lambda x, y: lax.switch(1, [lambda: x, lambda: x, lambda: jnp.zeros(4)]),
            r"pcast\(\.\.\., \('x',\), to='varying'\)` to the output of branch2",
        ),
    ],
)
def test_branches_whose_results_may_differ_along_other_axes(choose, advice):
    ask = effax.shard_map(choose, mesh=CUBE, in_specs=(P("x"), P("y")), out_specs=P(("x", "y")))
    with pytest.raises(TypeError, match="the manual axis types do not match") as caught:
        ask(HOST[0], HOST[1])
    assert caught.match(advice)
    unchecked = effax.shard_map(
        choose, mesh=CUBE, in_specs=(P("x"), P("y")), out_specs=P(("x", "y")), check_vma=False
    )
    assert unchecked(HOST[0], HOST[1]).shape == (16,)


def test_a_mesh_without_devices_is_over_those_of_arguments():
    shape = LINE.abstract_mesh
    x = effax.device_put(HOST, NamedSharding(LINE, P("x")))

    def f(x, y):
        def local(x, y):
            return x + lax.psum(x, "x"), y

        return effax.shard_map(local, mesh=shape, in_specs=P("x"), out_specs=P("x"))(x, y)

    for apply in (lambda f: f, effax.jit):
        one, two = apply(f)(x, HOST)
        np.testing.assert_allclose(one, HOST + HOST.sum(0), rtol=1e-6)
        np.testing.assert_array_equal(two, HOST)
        assert one.sharding == two.sharding == NamedSharding(LINE, P("x"))
    slope = effax.grad(lambda x: (effax.jit(f)(x, HOST)[0] ** 2).sum())(x)
    total = 2 * (HOST + HOST.sum(0))
    np.testing.assert_allclose(slope, total + total.sum(0), rtol=1e-5)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((HOST,), "Please pass `effax.Array`s with a `NamedSharding` as input to `shard_map`"),
        ((jnp.arange(8),), "Please pass `effax.Array`s with a `NamedSharding`"),
        (
            (effax.device_put(HOST, NamedSharding(CUBE, P())),),
            "Mesh shape of the input .* does not match the mesh shape passed to shard_map",
        ),
    ],
    ids=["host", "one device", "another mesh"],
)
def test_a_mesh_without_devices_is_refused(args, message):
    f = effax.shard_map(lambda x: x, mesh=LINE.abstract_mesh, in_specs=P("x"), out_specs=P("x"))
    with pytest.raises(ValueError, match=message):
        f(*args)
