"""Modules of `experimental`: layouts, executables as bytes, many hosts, generators."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax.errors import ExportError
from effax.experimental import layout, multihost_utils, serialize_executable
from effax.experimental import random as stateful
from effax.experimental.compilation_cache import compilation_cache
from tests.architecture.sources import ROOT

X = np.arange(6, dtype=np.float32).reshape(2, 3)

# ---------------------------------------------------------------------------------------- layouts


def test_arrays_know_their_format():
    x = jnp.asarray(X)
    assert x.format.layout.major_to_minor == (0, 1)
    assert x.format.sharding == x.sharding
    assert isinstance(x.format, layout.Format)
    assert x.format.layout == layout.Layout((0, 1))


def test_a_layout_is_asked_for_in_a_program():
    order = layout.Layout((1, 0))

    def f(x):
        return layout.with_layout_constraint({"a": x * 2, "b": x}, order)["a"] + 1

    assert_array_equal(effax.jit(f)(X), 2 * X + 1)
    assert_array_equal(f(X), 2 * X + 1)
    assert "LayoutConstraint" in effax.jit(f).lower(X).as_text()
    assert_array_equal(effax.grad(lambda x: f(x).sum())(X), np.full((2, 3), 2.0))
    assert_array_equal(effax.vmap(f)(X[None]), 2 * X[None] + 1)
    for wrong in (layout.Layout((0,)), layout.Layout((1, 2)), 3):
        with pytest.raises(ValueError, match="expected a Layout of the"):
            layout.with_layout_constraint(X, wrong)


# ----------------------------------------------------------------------------- arrays and errors


def test_bytes_are_swapped():
    for dtype in ("int16", "uint32", "float16", "float32", "complex64", "int8", "bool"):
        x = X.astype(dtype)
        expected = x.byteswap()
        found = np.asarray(effax.jit(lambda x: x.byteswap())(x))
        assert found.dtype == x.dtype
        assert_array_equal(found.view("uint8"), expected.view("uint8"))
    assert_array_equal(jnp.asarray(X).flat, X.ravel())
    assert float(jnp.asarray(X).flat[4]) == 4.0


def test_a_text_that_is_ill_typed_is_refused():
    text = str(effax.make_program(lambda x: jnp.sin(x) * 2.0)(X))
    for wrong in (text.replace("a:f32[2,3]", "a:f32[2,4]"), text.replace("a:f32", "a:i32")):
        with pytest.raises(effax.errors.JaxprTypeError, match="expected"):
            effax.extend.parse(wrong)


def test_policies_say_it_in_words():
    from effax.ad_checkpoint import Offloadable, Recompute, Saveable
    from effax.api.derivatives.residuals import saved_residuals

    def f(x):
        return jnp.sum(jnp.sin(jnp.sin(x)))

    def stored(verdict):
        g = effax.checkpoint(f, policy=lambda effect, *_, **__: verdict)
        assert_allclose(effax.grad(g)(X), effax.grad(f)(X), rtol=1e-6)
        return [place for _, place in saved_residuals(g, X)]

    assert stored(Saveable) == stored(True)
    assert stored(Recompute) == stored(False) == ["from the argument x"]
    assert len(stored(Saveable)) > 1
    assert len(stored(Offloadable("device", "pinned_host"))) == len(stored(True))
    assert repr(Saveable) == "Saveable"


# ------------------------------------------------------------------------------------ executables


def compiled(f, *args, **options):
    return effax.jit(f, **options).lower(*args).compile()


def test_executables_are_written_and_read():
    weights = jnp.arange(3.0)
    flags = jnp.asarray([True, False, True])
    made = compiled(lambda p, x: {"y": x @ weights + p["b"], "f": flags}, {"b": 1.0}, X)
    data, in_tree, out_tree = serialize_executable.serialize(made)
    read = serialize_executable.deserialize_and_load(data, in_tree, out_tree)
    out = read({"b": 2.0}, X)
    assert_array_equal(out["y"], X @ np.arange(3) + 2)
    assert_array_equal(out["f"], [True, False, True])
    assert read.in_avals == made.in_avals
    assert "HloModule" in read.as_text()
    with pytest.raises(TypeError, match="for which this computation was compiled"):
        read({"b": 2.0}, X[:1])
    again = serialize_executable.serialize(read)
    assert_array_equal(
        serialize_executable.deserialize_and_load(*again)({"b": 2.0}, X)["y"], out["y"]
    )


def test_another_process_runs_it(tmp_path):
    data, *_ = serialize_executable.serialize(compiled(lambda x: jnp.sin(x) * 2, X))
    (tmp_path / "f").write_bytes(data)
    code = (
        "import effax, numpy as np\n"
        "from effax.experimental import serialize_executable as se\n"
        "x = np.arange(6, dtype=np.float32).reshape(2, 3)\n"
        "trees = [effax.tree.structure(t) for t in (((x,), {}), x)]\n"
        f"f = se.deserialize_and_load(open({str(tmp_path / 'f')!r}, 'rb').read(), *trees)\n"
        "np.testing.assert_allclose(f(x), 2 * np.sin(x), rtol=1e-5); print('same')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "same", done.stderr


def test_executables_that_are_none():
    data, in_tree, out_tree = serialize_executable.serialize(compiled(lambda x: x + 1, X))
    for bad in (b"", data[:-1], data[:50] + b"?" + data[51:], data + b"!"):
        with pytest.raises(ExportError, match="are not an executable"):
            serialize_executable.deserialize_and_load(bad, in_tree, out_tree)
    with pytest.raises(ExportError, match="in_tree and out_tree do not belong"):
        serialize_executable.deserialize_and_load(data, effax.tree.structure(((), {})), out_tree)
    with pytest.raises(TypeError, match="compile"):
        serialize_executable.serialize(effax.jit(jnp.sin))

    def asks(x):
        return effax.pure_callback(np.sin, x, x)

    with pytest.raises(ExportError, match="calls Python functions"):
        serialize_executable.serialize(compiled(asks, effax.ShapeDtypeStruct((), "float32")))


def test_where_executables_are_kept(tmp_path):
    before = effax.config.read("compilation_cache_dir")
    minimum = effax.config.read("persistent_cache_min_compile_time_secs")
    try:
        compilation_cache.set_cache_dir(tmp_path)
        compilation_cache.reset_cache()
        effax.config.update("persistent_cache_min_compile_time_secs", 0.0)
        effax.jit(lambda x: x * 1.0625 + 3)(X)
        assert list(tmp_path.iterdir())
    finally:
        compilation_cache.set_cache_dir(before)
        effax.config.update("persistent_cache_min_compile_time_secs", minimum)


# ------------------------------------------------------------------------------------- many hosts


def test_one_process_agrees_with_itself():
    assert_array_equal(multihost_utils.process_allgather(jnp.asarray(X)), X[None])
    assert_array_equal(multihost_utils.process_allgather(X, tiled=True), X)
    both = multihost_utils.process_allgather({"a": jnp.asarray(X), "b": 1.0})
    assert both["b"].shape == (1,)
    assert_array_equal(multihost_utils.broadcast_one_to_all(jnp.asarray(X)), X)
    with pytest.raises(ValueError, match="this process runs alone"):
        multihost_utils.broadcast_one_to_all(X, is_source=False)
    multihost_utils.assert_equal({"a": X}, "differs")
    multihost_utils.sync_global_devices("here")
    with pytest.raises(TypeError, match="name must be a string"):
        multihost_utils.sync_global_devices(3)
    assert multihost_utils.reached_preemption_sync_point(7) is False
    with multihost_utils.live_devices(effax.devices()) as alive:
        assert alive == effax.devices()
    mesh, spec = effax.make_mesh((1,), ("x",)), effax.P("x")
    placed = multihost_utils.host_local_array_to_global_array({"a": X}, mesh, spec)
    assert placed["a"].sharding.spec == spec
    local = multihost_utils.global_array_to_host_local_array(placed, mesh, {"a": effax.P()})
    assert_array_equal(local["a"], X)


# ------------------------------------------------------------------------------------- generators


def test_a_generator_counts_its_draws():
    """Keys recorded of JAX 0.10: the count folded into the seed's key."""
    rng = stateful.stateful_rng(7)
    words = [effax.random.key_data(rng.key()).tolist() for _ in range(2)]
    assert words == [[3625411723, 1954958720], [195045567, 4062205631]]
    rng = stateful.stateful_rng(7)
    children = [effax.random.key_data(c._base_key).tolist() for c in rng.spawn(2)]
    assert children == [[2737751932, 2099591257], [533473832, 2443621858]]
    assert float(stateful.stateful_rng(7).random()) == pytest.approx(0.8673705)


def test_draws_under_jit_count_too():
    rng, plain = stateful.stateful_rng(3), stateful.stateful_rng(3)
    step = effax.jit(lambda rng: rng.normal(1.0, 0.5, 4))
    for _ in range(3):
        assert_allclose(step(rng), plain.normal(1.0, 0.5, 4), rtol=1e-5)
    held = effax.jit(rng.uniform)
    assert float(held()) == float(plain.uniform())
    assert rng.integers(0, jnp.array([1, 2, 3])).shape == (3,)
    assert rng.integers(5).dtype == jnp.int32
    assert rng.key((2, 2)).shape == (2, 2)
    drawn = effax.vmap(lambda r: r.uniform(size=(2,)))(rng.split(3))
    assert drawn.shape == (3, 2)
    assert len(np.unique(drawn)) == 6
    with pytest.raises(ValueError, match="inside a vmap"):
        rng.split(3).random()


def test_seeds_of_generators():
    assert float(stateful.stateful_rng().random()) != float(stateful.stateful_rng().random())
    assert stateful.stateful_rng(1, impl="rbg")._base_key.dtype.name == "key<rbg>"
    with pytest.raises(TypeError, match="explicit seed"):
        effax.jit(lambda: stateful.stateful_rng().random())()


# --------------------------------------------------------------------------- names of earlier days


def test_names_of_earlier_days():
    from effax.experimental.mesh_utils import create_device_mesh, create_hybrid_device_mesh
    from effax.experimental.pjit import pjit
    from effax.experimental.shard_map import shard_map

    devices = create_device_mesh((1, 1))
    mesh = effax.sharding.Mesh(devices, ("x", "y"))
    assert mesh.shape == {"x": 1, "y": 1}
    assert create_hybrid_device_mesh((1, 1), (1, 1), effax.devices()).tolist() == devices.tolist()
    for wrong in (
        lambda: create_device_mesh((2,)),
        lambda: create_device_mesh((-1,)),
        lambda: create_hybrid_device_mesh((1,), (2,)),
        lambda: create_hybrid_device_mesh((1,), (1, 1)),
    ):
        with pytest.raises(ValueError, match="mesh_shape"):
            wrong()
    summed = shard_map(
        lambda x: effax.lax.psum(x, "x"), mesh, effax.P("x"), effax.P(), check_rep=False
    )
    assert_array_equal(pjit(summed)(X), X)


def test_the_host_of_the_cpu_is_the_cpu():
    from effax.experimental.compute_on import compute_on

    with compute_on("device_host"):
        assert_array_equal(effax.jit(lambda x: x + 1)(X), X + 1)
    with pytest.raises(ValueError, match="Invalid compute type foo"), compute_on("foo"):
        pass
    with pytest.raises(NotImplementedError, match="gpu_stream"), compute_on("gpu_stream:1"):
        pass
