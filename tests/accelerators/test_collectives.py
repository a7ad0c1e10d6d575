"""Collectives compiled for several chips that are not there."""

import pytest

import effax as fx
import effax.numpy as jnp
from effax import lax
from effax.experimental import topologies
from effax.sharding import NamedSharding
from effax.sharding import PartitionSpec as P
from tests.accelerators.compiling import CHIPS
from tests.accelerators.test_topologies import chips, needs_compilers


def four(chip):
    name, options = CHIPS[chip]
    options = {**options, "topology": "1x1x4"} if options else {}
    return topologies.make_mesh(topologies.get_topology_desc(name, **options), (4,), ("x",))


def compiled(mesh, f, *types):
    cut = NamedSharding(mesh, P("x"))
    given = [fx.ShapeDtypeStruct(shape, dtype, sharding=cut) for shape, dtype in types]
    mapped = fx.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    return fx.jit(mapped).lower(*given).compile().as_text()


def exchange(x, out, *vectors):
    return lax.ragged_all_to_all(x, out, *vectors, axis_name="x")


def slope(x, out, *vectors):
    return fx.grad(lambda x: jnp.sum(jnp.square(exchange(x, out, *vectors))))(x)


def types(places, dtype="float32", vectors="int32"):
    return [((places * 8, 6), dtype)] * 2 + [((places * places,), vectors)] * 4


@needs_compilers
@chips
@pytest.mark.parametrize("vectors", ["int32", "uint8"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int16"])
def test_ragged_rows_alone_travel(chip, dtype, vectors):
    text = compiled(four(chip), exchange, *types(4, dtype, vectors))
    assert "ragged-all-to-all" in text
    assert " all-gather" not in text


@needs_compilers
@chips
def test_cotangents_of_ragged_rows_alone_travel(chip):
    text = compiled(four(chip), slope, *types(4))
    assert "ragged-all-to-all" in text
    assert " all-gather" not in text


@needs_compilers
@chips
@pytest.mark.parametrize("dtype", ["int4", "float4_e2m1fn"])
def test_ragged_rows_of_less_than_bytes_are_gathered(chip, dtype):
    assert "ragged-all-to-all" not in compiled(four(chip), exchange, *types(4, dtype))


@needs_compilers
@pytest.mark.parametrize(("name", "native"), [("v5e:4x4", True), ("v5e:4x8", False)])
def test_ragged_rows_go_where_chips_reach_each_other(name, native):
    """The compiler has no ragged exchange among more than 16 chips of that kind."""
    found = topologies.get_topology_desc(name, platform="tpu")
    places = len(found.devices)
    text = compiled(topologies.make_mesh(found, (places,), ("x",)), exchange, *types(places))
    assert ("ragged-all-to-all" in text) is native


@needs_compilers
@pytest.mark.parametrize("dtype", ["complex64", "int64", "float64"])
def test_sums_of_wide_pieces_are_compiled_for_tpus(dtype):
    """The compiler knows no `reduce-scatter` of more than 32 bits."""
    with fx.enable_x64(True):
        text = compiled(
            four("TPU v5e"), lambda x: lax.psum_scatter(x, "x", tiled=True), ((16, 8), dtype)
        )
    assert "all-to-all" in text


@needs_compilers
@pytest.mark.parametrize("f", [lambda x: lax.psum(x, "x"), lambda x: x * 2], ids=["sum", "twice"])
def test_complex128_is_refused_for_several_tpus(f):
    """It ended the process."""
    with fx.enable_x64(True), pytest.raises(NotImplementedError, match="complex128"):
        compiled(four("TPU v5e"), f, ((16, 8), "complex128"))
