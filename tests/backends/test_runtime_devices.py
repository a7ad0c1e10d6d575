"""Platforms and devices; many devices, in a process of their own; no jax in any of them."""

import os
import subprocess
import sys

import pytest

from effax.backends.xla import device
from effax.backends.xla.client import backend, is_started, set_num_cpu_devices
from tests.architecture.sources import ROOT

pytestmark = pytest.mark.cpu


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_cpu():
    assert device.default_backend() == "cpu" and device.device_count() >= 1
    assert device.local_devices() == device.devices("cpu")
    assert device.process_index() == 0 and device.process_count() == 1
    first = device.devices()[0]
    assert (first.id, first.platform, first.process_index) == (0, "cpu", 0)
    assert first.device_kind == "cpu" and first.memory_stats() is None
    assert device.devices()[0] is first and first.is_addressable


def test_unknown_platforms():
    with pytest.raises(RuntimeError, match="Unknown backend foo"):
        device.devices("foo")
    with pytest.raises(RuntimeError, match="Unknown backend: 'gpu' requested, but no platforms"):
        backend("gpu") if device.default_backend() == "cpu" else backend("rocm-gpu")
    with pytest.raises(ValueError, match="Unknown process_index"):
        device.local_devices(7)


def test_the_number_of_devices_is_fixed_once_there_are_any():
    device.devices()
    assert is_started()
    with pytest.raises(RuntimeError, match="before backends are initialized"):
        set_num_cpu_devices(3)


def test_platforms_may_be_chosen():
    code = """
from effax.backends.xla.device import devices
try: devices()
except RuntimeError as error: print(error)
"""
    assert "Unable to initialize backend 'foo'" in python(code, EFFAX_PLATFORMS="foo")
    assert (
        python("from effax.backends.xla.device import *; print(devices())", EFFAX_PLATFORMS="cpu")
        == "[CpuDevice(id=0)]\n"
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"EFFAX_NUM_CPU_DEVICES": "4"},
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
        {"EFFAX_NUM_CPU_DEVICES": "4", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
    ],
)
def test_the_environment_gives_the_number_of_devices(environment):
    code = """
import os
before = dict(os.environ)
from effax.backends.xla.device import devices
print(len(devices()))
assert dict(os.environ) == before
"""
    assert python(code, **environment) == "4\n"


MANY = """
import sys
import numpy as np, ml_dtypes, pickle, copy
from effax.backends.xla.client import set_num_cpu_devices
set_num_cpu_devices(8)
from effax.backends.xla.array import Array, asarray, device_put, from_shards
from effax.backends.xla.device import devices
from effax.backends.xla.executable import compile_text
from effax.backends.xla.placement import leading, place, replicated, single, tiled
from effax.effects.types import ShapedArray
from tests.backends.runtime_programs import add, all_reduce
devs = devices()
assert len(devs) == 8 and devs[3].id == 3
"""


def test_eight_devices_hold_arrays():
    python(
        MANY
        + """
for dtype in (np.dtype("float32"), np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.int4)):
    x = (np.arange(48).reshape(8, 2, 3) % 5).astype(dtype)
    places = [single(devs[5]), leading(devs), replicated(devs), leading(devs[::-1]),
              tiled(devs, (4, 2)), tiled(devs, (2,), 4), tiled(devs, (4,), 2, [1, 0, 3, 2, 5, 4, 7, 6])]
    for p in places:
        y = asarray(x, None, p)
        assert y.committed and y.sharding is p and y.devices() == set(p.devices)
        assert np.asarray(y).dtype == dtype
        assert (np.asarray(y) == x).all(), p
        for shard in y.addressable_shards:
            assert (np.asarray(shard.data) == x[shard.index]).all() and shard.data.device is shard.device
        assert (np.asarray(from_shards([s.data for s in y.addressable_shards], y.type, p)) == x).all()
        for q in places:
            z = device_put(y, q)
            assert z.sharding is q and (np.asarray(z) == x).all(), (p, q)
            w = device_put(y, q, may_alias=False)
            assert (np.asarray(w) == x).all()
        assert (np.asarray(copy.deepcopy(y)) == x).all()
        assert pickle.loads(pickle.dumps(p)) is p
        assert y.block_until_ready() is y and y.is_ready()
        y.delete()
        assert y.is_deleted()
assert leading(devs).is_leading and not leading(devs[::-1]) is leading(devs)
assert leading(devs).shard_shape((8, 3)) == (1, 3) and leading(devs[:1]) is single(devs[0])
assert replicated(devs).is_fully_replicated
for bad in (lambda: leading(devs).shard_shape((9, 3)), lambda: leading(devs).shard_shape(()),
            lambda: tiled(devs, (3,)), lambda: tiled(devs, (8,), 1, [0] * 8)):
    try: bad()
    except ValueError: pass
    else: raise AssertionError
assert "jax" not in sys.modules
"""
    )


def test_eight_devices_compute_together():
    python(
        MANY
        + """
for ds in (devs, devs[::-1], devs[2:5]):
    n = len(ds)
    p = leading(ds)
    types = [ShapedArray((n, 3), "float32"), ShapedArray((3,), "float32")]
    f = compile_text(all_reduce(n), placement=p, out_types=types)
    x = np.arange(3 * n, dtype="float32").reshape(n, 3)
    y = asarray(x, None, p)
    for _ in range(300):
        a, b = [Array(o, s) for o, s in zip(f.execute([y.buffer]), f.committed_specs)]
    assert (np.asarray(a) == x.sum(0)).all() and a.sharding is p, a.sharding
    assert (np.asarray(b) == x.sum(0)).all() and b.sharding is replicated(ds), b.sharding
# one operation on another device than the first
p = single(devs[6])
g = compile_text(add(), placement=p, out_types=[ShapedArray((), "float32")], single_op=True)
z = asarray(np.float32(2), None, p)
r = Array(g.execute([z.buffer, z.buffer])[0], g.committed_specs[0])
assert r.item() == 4 and r.device is devs[6]
# partitioned by the compiler, as its operands are cut
t = 'tensor<8x4xf32>'
s = '{sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}'
text = f'module @m {{ sdy.mesh @mesh = <["i"=8]> func.func public @main(%a: {t} {s}) -> {t} {{ %0 = stablehlo.add %a, %a : {t} \\n return %0 : {t} }} }}'
h = compile_text(text, placement=leading(devs), out_types=[ShapedArray((8, 4), "float32")])
x = np.arange(32, dtype="float32").reshape(8, 4)
r = Array(h.execute([asarray(x, None, leading(devs)).buffer])[0], h.out_specs[0])
assert (np.asarray(r) == 2 * x).all() and r.sharding is leading(devs), r.sharding
assert "jax" not in sys.modules
"""
    )


def test_jax_is_never_imported(tmp_path):
    code = """
import sys
import numpy as np, ml_dtypes, copy, pickle
from effax.backends.xla.array import *
from effax.backends.xla.array import Array
from effax.backends.xla.dlpack import from_dlpack
from effax.backends.xla.executable import compile_text
for dtype in ("float32", ml_dtypes.bfloat16, ml_dtypes.int4, "bool"):
    x = asarray(np.ones(3).astype(dtype))
    np.asarray(x); repr(x); x.addressable_shards; x.unsafe_buffer_pointer(); x.copy_to_host_async()
    copy.deepcopy(x); pickle.loads(pickle.dumps(x)); x.on_device_size_in_bytes()
from_dlpack(asarray(np.ones(3)))
loaded = [name for name in sys.modules if name.partition(".")[0] in ("jax", "scipy")]
assert not loaded and not any(name.startswith("jaxlib.mlir") for name in sys.modules), loaded
"""
    assert python(code) == ""
    # Also where jax could be imported: a package of that name that must not be touched.
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("raise AssertionError('jax was imported')")
    assert python(code, PYTHONPATH=str(tmp_path)) == ""
