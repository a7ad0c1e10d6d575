"""Programs over several devices that are exported; run by `test_mesh.py` on eight devices."""

import subprocess
import sys

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import P, export, lax
from effax.errors import SymbolicShapeError
from effax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding

if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

HOST = np.arange(32, dtype=np.float32).reshape(8, 4)
MESH = Mesh(np.array(effax.devices()[:4]), "x")
EXPLICIT = effax.make_mesh((4,), ("x",), devices=effax.devices()[:4])
CUT = NamedSharding(MESH, P("x"))


def weighted(w, x):
    return jnp.tanh(x @ w).sum(0)


W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def exported(mesh=MESH, platforms=None):
    cut = NamedSharding(mesh, P("x"))
    step = effax.jit(weighted, in_shardings=(None, cut), out_shardings=NamedSharding(mesh, P()))
    return export.export(step, platforms=platforms)(W, HOST)


def mapped(x):
    f = effax.shard_map(
        lambda b: effax.lax.psum(jnp.sin(b), "x"), mesh=MESH, in_specs=P("x"), out_specs=P()
    )
    return f(x) + 1


@pytest.fixture(params=["here", "read"])
def form(request):
    if request.param == "here":
        return lambda e: e
    return lambda e: export.deserialize(e.serialize(vjp_order=1))


@pytest.mark.parametrize("platforms", [None, ("cpu", "cuda", "tpu")])
def test_devices_and_shardings_are_kept(form, platforms):
    e = form(exported(platforms=platforms))
    assert e.nr_devices == 4
    assert [s.spec for s in e.in_shardings_jax(MESH)] == [P(), P("x")]
    assert e.out_shardings_jax(MESH)[0].spec == P()
    assert e.in_shardings_jax(MESH)[1] == CUT
    x = effax.device_put(HOST, CUT)
    np.testing.assert_allclose(e.call(W, x), weighted(W, HOST), rtol=1e-5)
    text = effax.jit(e.call).lower(W, x).compile().as_text()
    assert "all-reduce" in text and "all-gather" not in text
    gradient = effax.grad(lambda w: e.call(w, x).sum())(W)
    np.testing.assert_allclose(
        gradient, effax.grad(lambda w: weighted(w, HOST).sum())(W), rtol=1e-4
    )


def test_another_mesh_of_as_many_devices(form):
    e = form(exported())
    turned = Mesh(np.array(effax.devices()[4:][::-1]), "other")
    out = e.call(W, effax.device_put(HOST, NamedSharding(turned, P("other"))))
    assert out.sharding.device_set == set(effax.devices()[4:])
    np.testing.assert_allclose(out, weighted(W, HOST), rtol=1e-5)


def test_other_numbers_of_devices_are_refused(form):
    e = form(exported())
    for where in (None, NamedSharding(Mesh(np.array(effax.devices()), "x"), P("x"))):
        x = HOST if where is None else effax.device_put(HOST, where)
        with pytest.raises(
            ValueError, match=r"was exported for 4 devices and is called in a context with [18] dev"
        ):
            e.call(W, x)
    with pytest.raises(ValueError, match="does not match the mesh used for export"):
        e.in_shardings_jax(Mesh(np.array(effax.devices()), "x"))
    with effax.set_mesh(MESH):
        np.testing.assert_allclose(e.call(W, HOST), weighted(W, HOST), rtol=1e-5)


def test_shard_map(form):
    cut = effax.device_put(HOST, CUT)
    e = form(export.export(effax.jit(mapped))(effax.ShapeDtypeStruct((8, 4), "float32")))
    assert e.nr_devices == 4
    np.testing.assert_allclose(e.call(cut), mapped(cut), rtol=1e-6)
    assert "all-reduce" in effax.jit(e.call).lower(cut).compile().as_text()


def test_types_along_explicit_axes(form):
    x = effax.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(EXPLICIT, P("x")))
    e = form(export.export(effax.jit(lambda x: jnp.sin(x).T))(x))
    assert [str(t) for t in (*e.in_avals, *e.out_avals)] == ["float32[8@x,4]", "float32[4,8@x]"]
    out = e.call(effax.device_put(HOST, x.sharding))
    assert out.sharding.spec == P(None, "x") and str(effax.typeof(out)) == "float32[4,8@x]"
    np.testing.assert_allclose(out, np.sin(HOST).T, rtol=1e-6)


def test_one_device_says_one_and_runs_on_many():
    e = export.export(effax.jit(lambda x: 2 * x))(HOST)
    assert e.nr_devices == 1 and e.in_shardings_jax(MESH) == (None,)
    out = effax.jit(e.call)(effax.device_put(HOST, CUT))
    np.testing.assert_array_equal(out, 2 * HOST)


def test_a_mesh_of_one_axis_type_is_read_as_it_was_written():
    mixed = effax.make_mesh(
        (2, 2), ("a", "b"), (AxisType.Explicit, AxisType.Auto), devices=effax.devices()[:4]
    )
    x = effax.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(mixed, P(("a", "b"))))
    e = export.export(effax.jit(jnp.cos))(x)
    again = export.deserialize(e.serialize())
    assert again.in_shardings_jax(mixed) == e.in_shardings_jax(mixed) == (x.sharding,)
    assert str(again.in_avals[0]) == "float32[8@a,4]"


def test_another_process_reads_it(tmp_path):
    (tmp_path / "f").write_bytes(exported().serialize())
    text = (
        "import numpy as np, effax; from effax import P, export; "
        f"e = export.deserialize(open({str(tmp_path / 'f')!r}, 'rb').read()); "
        "m = effax.sharding.Mesh(np.array(effax.devices()[:4]), 'x'); "
        "i = e.in_shardings_jax(m); "
        f"w = np.linspace(-1, 1, 12, dtype='f').reshape(4, 3); "
        "x = np.arange(32, dtype='f').reshape(8, 4); "
        "print(e.nr_devices, *map(float, e.call(effax.device_put(w, i[0]), "
        "effax.device_put(x, i[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True
    )
    devices, *found = done.stdout.split()
    assert devices == "4"
    np.testing.assert_allclose(np.array(found, np.float32), weighted(W, HOST), rtol=1e-4)


def symbolic(function, text):
    shape = export.symbolic_shape(text)
    return export.export(effax.jit(function))(effax.ShapeDtypeStruct(shape, "float32"))


def moved(x):
    """Each place's rows at the place after it, and what they all have in common."""

    def at_place(rows):
        n = lax.axis_size("x")
        after = lax.ppermute(rows, "x", perm=[(i, (i + 1) % n) for i in range(n)])
        return effax.jit(jnp.sin)(after) * rows + lax.psum(rows, "x")

    return effax.shard_map(at_place, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(x)


def constrained(x):
    return lax.with_sharding_constraint(jnp.cos(x), CUT) @ x.T * x.shape[0]


@pytest.mark.parametrize("function", [moved, constrained])
@pytest.mark.parametrize("text", ["4*b, 4", "8, n", "4*b, n"])
def test_symbolic_lengths_on_several_devices(function, text):
    e = symbolic(function, text)
    e = export.deserialize(e.serialize(vjp_order=int(function is constrained)))
    assert e.nr_devices == 4
    rows = (8, 16) if "b" in text else (8,)
    for shape in [(m, n) for m in rows for n in ((4, 6) if "n" in text else (4,))]:
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        cut = effax.device_put(x, CUT)
        np.testing.assert_allclose(e.call(cut), function(x), rtol=1e-4, atol=1e-5)
        assert e.call(cut).sharding.device_set == set(MESH.devices.flat)
        if function is constrained:  # a shard_map would be differentiated with new shapes inside
            wanted = effax.grad(lambda y: function(y).sum())(cut)
            found = effax.grad(lambda y: e.call(y).sum())(cut)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_lengths_as_numbers_inside_of_shard_map_are_refused():
    def scaled(x):
        mapped = effax.shard_map(
            lambda r: r * r.shape[0], mesh=MESH, in_specs=P("x"), out_specs=P("x")
        )
        return mapped(x)

    with pytest.raises(SymbolicShapeError, match="is a shard_map over several devices and uses"):
        symbolic(scaled, "4*b, 4")


def test_without_shardy_it_is_not_called():
    e = exported()
    effax.config.update("use_shardy_partitioner", False)
    try:
        with pytest.raises(ValueError, match=r"with Shardy disabled\. Please enable Shardy"):
            e.call(W, effax.device_put(HOST, CUT))
    finally:
        effax.config.update("use_shardy_partitioner", True)


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("size", [4, 64])
def test_a_mesh_without_devices(kind, size):
    mesh = AbstractMesh((size,), ("x",), (kind,))

    def turned(x):
        if kind is AxisType.Explicit:
            return jnp.sin(x).T
        return lax.with_sharding_constraint(jnp.sin(x).T, NamedSharding(mesh, P(None, "x")))

    x = effax.ShapeDtypeStruct((64, 4), "float32", sharding=NamedSharding(mesh, P("x")))
    e = export.export(effax.jit(turned), platforms=["cpu", "tpu"])(x)
    e = export.deserialize(e.serialize(vjp_order=1))
    assert e.nr_devices == size and e.in_shardings_jax(mesh)[0].spec == P("x")
    if size > 4:  # more than there are here
        return
    where = NamedSharding(Mesh(MESH.devices, "x", (kind,)), P("x"))
    x = effax.device_put(np.random.default_rng(0).normal(size=(64, 4)).astype("float32"), where)
    np.testing.assert_allclose(e.call(x), np.sin(x).T, rtol=1e-6)
    gradient = effax.grad(lambda y: e.call(y).sum())(x)
    np.testing.assert_allclose(gradient, np.cos(x), rtol=1e-5)
    assert gradient.sharding.device_set == where.device_set


@pytest.mark.parametrize("format", ["effax", "jax"])
def test_files_say_what_devices_a_mesh_has(format):
    x = effax.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(EXPLICIT, P("x")))
    e = export.export(effax.jit(jnp.sin))(x)
    again = export.deserialize(e.serialize(format=format))
    assert again.in_avals[0].sharding == e.in_avals[0].sharding
    assert again.in_avals[0].sharding.mesh.abstract_device.platform == "cpu"
