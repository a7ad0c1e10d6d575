"""Compiling for chips that are not there; `make accelerators` runs it, where the compilers are."""

import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax import lax
from effax.ad_checkpoint import checkpoint_name
from effax.backends.xla import absent, plugins
from effax.effects.runtime import jaxlib_version
from effax.experimental import serialize_executable, topologies
from effax.sharding import NamedSharding, SingleDeviceSharding
from effax.sharding import PartitionSpec as P
from tests.accelerators.compiling import CHIPS, devices

INSTALLED = plugins.tpu_library() is not None and plugins.cuda_package() is not None
needs_compilers = pytest.mark.skipif(
    not INSTALLED, reason="libtpu and CUDA's plugin: make accelerators"
)
chips = pytest.mark.parametrize("chip", CHIPS)


def on(chip, *shape, dtype="float32"):
    return fx.ShapeDtypeStruct(shape, dtype, sharding=SingleDeviceSharding(devices(chip)[0]))


@needs_compilers
@chips
def test_a_program_is_compiled(chip):
    w = jnp.ones((8, 8))
    compiled = fx.jit(lambda x: jnp.tanh(x @ w)).lower(on(chip, 8, 8)).compile()
    assert compiled.as_text().startswith("HloModule")
    assert compiled.cost_analysis()["flops"] >= 2 * 8**3
    assert compiled.memory_analysis().output_size_in_bytes >= 4 * 8 * 8
    with pytest.raises(RuntimeError, match="is not attached"):
        compiled(jnp.ones((8, 8)))


@needs_compilers
@chips
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_a_program_rounds_to_narrow_floats_where_it_says_so(chip, dtype):
    """XLA leaves such pairs of conversions out for a GPU, and under JAX 0.10 nothing is rounded."""
    rounded = fx.jit(lambda x: x.astype(dtype).astype("float32") * 2)
    assert rounded.lower(on(chip, 1024)).compile().as_text().count(" convert(") == 2


@needs_compilers
def test_products_that_triton_finds_no_tiles_for_are_compiled():
    """JAX's gradient of image.resize fails in such words, and so did this one."""

    def total(x, w, sizes):
        dims = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((), ())), [1], [0])
        return lax.ragged_dot_general(x, w, sizes, dims).sum()

    given = on("H200", 2, 6, 2), on("H200", 3, 2, 4), on("H200", 3, dtype="int32")
    compiled = fx.jit(fx.grad(total, 1)).lower(*given).compile()
    assert "f32[3,2,4]" in compiled.as_text()


@needs_compilers
@chips
def test_donated_memory_is_used(chip):
    compiled = fx.jit(lambda x: x + 1, donate_argnums=0).lower(on(chip, 1024)).compile()
    assert compiled.memory_analysis().alias_size_in_bytes == 4096


@needs_compilers
@chips
def test_residuals_are_offloaded(chip):
    policy = fx.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["hidden"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def layer(x, w):
        return jnp.sin(checkpoint_name(jnp.sin(x @ w), "hidden") @ w), None

    def loss(x, ws):
        return lax.scan(fx.checkpoint(layer, policy=policy), x, ws)[0].sum()

    given = on(chip, 1024, 256), on(chip, 8, 256, 256)
    memory = fx.jit(fx.grad(loss, 1)).lower(*given).compile().memory_analysis()
    assert memory.host_temp_size_in_bytes == 8 * 1024 * 256 * 4
    assert memory.host_output_size_in_bytes == 0


@needs_compilers
@pytest.mark.parametrize(
    "name, options",
    [("v5e:4x4", {}), ("h200", {"platform": "cuda", "topology": "1x2x8"})],
)
def test_sixteen_chips(name, options):
    found = topologies.get_topology_desc(name, **options)
    mesh = topologies.make_mesh(found, (4, 4), ("data", "model"))
    x = fx.ShapeDtypeStruct((64, 64), "float32", sharding=NamedSharding(mesh, P("data", "model")))
    compiled = fx.jit(lambda x: jnp.sum(x @ x)).lower(x).compile()
    assert "all-reduce" in compiled.as_text()
    assert compiled.output_shardings.is_fully_replicated


@needs_compilers
def test_the_example_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "aot.md").read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "v5e:4x4" in b)
    space = {}
    exec(block, space)
    assert space["flops"] == pytest.approx(2 * 4096**3 / 16, rel=0.01)


@needs_compilers
@chips
def test_serialized_for_a_machine_that_has_the_chip(chip):
    compiled = fx.jit(lambda x: 2 * x).lower(on(chip, 8)).compile()
    data, *_ = serialize_executable.serialize(compiled)
    assert len(data) > 1000


@needs_compilers
@chips
def test_nothing_is_put_there_or_run(chip):
    device = devices(chip)[0]
    assert not device.is_addressable
    for attempt in (
        lambda: fx.device_put(np.ones(3), device),
        lambda: fx.device_put(jnp.ones(3), device),
        lambda: jnp.zeros(3, device=device),
        lambda: fx.jit(lambda x: x, in_shardings=SingleDeviceSharding(device))(jnp.ones(3)),
    ):
        with pytest.raises(RuntimeError, match="is not attached"):
            attempt()


@needs_compilers
@pytest.mark.parametrize(
    "name, options",
    [
        ("v99:2x2", {}),
        ("h900", {"platform": "cuda"}),
        ("h200", {"platform": "cuda", "topology": "8"}),
        ("h200", {"platform": "cuda", "target_config": "x {"}),
    ],
)
def test_what_the_compiler_does_not_know_is_refused(name, options):
    with pytest.raises(ValueError, match="there is no"):
        topologies.get_topology_desc(name, **options)


@pytest.mark.skipif(INSTALLED, reason="asks what is said without the compilers")
@pytest.mark.parametrize("chip", CHIPS)
def test_without_the_compiler_it_is_said_what_to_install(chip):
    name, options = CHIPS[chip]
    with pytest.raises(RuntimeError, match="pip install"):
        topologies.get_topology_desc(name, **options)


def test_platforms_have_names():
    with pytest.raises(ValueError, match="platform must be 'tpu' or 'cuda'"):
        topologies.get_topology_desc("v5e:2x2", "vpu")


def test_libtpu_of_another_jaxlib_is_refused(monkeypatch):
    monkeypatch.setattr(absent.metadata, "version", lambda name: "0.0.1")
    with pytest.raises(RuntimeError, match=f"jaxlib {jaxlib_version} needs libtpu"):
        absent.check_libtpu()


def test_a_libtpu_that_no_package_brings_is_taken(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(absent.metadata, "version", missing)
    absent.check_libtpu()


def test_types_of_64_bits_are_those_of_32_unless_allowed():
    """As arrays of them are, so that what is compiled for a type takes the array."""
    compiled = fx.jit(lambda x: x + 1).lower(fx.ShapeDtypeStruct((3,), "float64")).compile()
    assert compiled.args_info[0][0].dtype == "float32"
    np.testing.assert_array_equal(compiled(jnp.ones(3)), np.full(3, 2))


def test_donation_stands_in_the_text():
    lowered = fx.jit(lambda x: x + 1, donate_argnums=0).lower(jnp.ones(3))
    assert "jax.buffer_donor = true" in lowered.as_text()


@needs_compilers
@chips
def test_callbacks_are_compiled_for_one_chip_and_for_many(chip):
    def f(x):
        fx.debug.print("{}", jnp.sum(x))
        return fx.pure_callback(np.sin, x, x)

    name, options = CHIPS[chip]
    options = {**options, "topology": "1x1x4"} if options else {}
    mesh = topologies.make_mesh(topologies.get_topology_desc(name, **options), (4,), ("x",))
    cut = fx.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(mesh, P("x")))
    mapped = fx.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    for function, x in ((f, on(chip, 8, 4)), (f, cut), (mapped, cut)):
        compiled = fx.jit(function).lower(x).compile()
        assert compiled.as_text().startswith("HloModule")
        with pytest.raises(ValueError, match="leave the callbacks out"):
            serialize_executable.serialize(compiled)
