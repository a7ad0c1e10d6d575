"""The door: programs that say `import jax` get effax, in every way that Python has to import."""

import os
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT


def run(*arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}
    return subprocess.run(
        [sys.executable, *arguments], env=env, capture_output=True, text=True, timeout=120
    )


def through(program: str, *arguments: str, path: str = "") -> str:
    done = run("-m", "effax.as_jax", "-c", program, *arguments, path=path)
    assert done.returncode == 0, done.stderr
    return done.stdout


IMPORTS = """
import effax
import jax, jax.numpy as jnp
from jax import lax, random
from jax.experimental import hijax
from jax.lib import xla_bridge
import jax.scipy.special as special
assert jax.__version__ == "0.10.2" and jnp is effax.numpy and lax is effax.lax
assert isinstance(jnp.ones(3), jax.Array) and special is effax.scipy.special
assert jnp.__spec__.name == "effax.numpy" and lax.__name__ == lax.__spec__.name == "effax.lax"
assert jnp.__name__ == "jax.numpy"  # as array_api_compat.is_jax_namespace asks
import sys
assert jax.sharding is sys.modules["jax.sharding"] and "jax.memory" not in sys.modules
assert xla_bridge.default_backend() == jax.default_backend()
print(jax.jit(jax.grad(lambda x: x**3))(2.0))
"""


def test_every_form_of_import_gives_effax_itself():
    assert through(IMPORTS) == "12.0\n"


def test_modules_that_jaxs_packages_import_are_attributes():
    program = """
import jax, jax.extend
jax.extend.backend.get_backend.cache_clear()
print(jax.lib.__version__ == jax.lib.xla_bridge.__version__, jax.extend.random.__name__)
"""
    assert through(program) == "True effax.extend.random\n"


def test_what_a_library_takes_of_the_private_modules():
    program = """
import jax
from jax._src.core import trace_state_clean
from jax._src import traceback_util
from jax._src.tree_util import _registry
from jax._src.dtypes import to_complex_dtype
assert to_complex_dtype("float32") == "complex64" and to_complex_dtype("float64") == "complex128"
import jax._src.dispatch
assert jax._src.dispatch.wait_for_tokens is jax.effects_barrier
from jax._src.core import is_constant_dim
assert is_constant_dim(3) and not is_constant_dim(2.5)
assert jax.typeof(jax.numpy.ones(3, int)).at_least_vspace().dtype == jax.dtypes.float0
assert trace_state_clean() and dict in _registry and int not in _registry
print(jax.jit(lambda x: x + trace_state_clean())(1.0))
"""
    assert through(program) == "1.0\n"


def test_private_names_of_shardings_residuals_and_slices():
    program = """
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
from jax._src.ad_checkpoint import saved_residuals
from jax._src.pjit import with_sharding_constraint
from jax._src.sharding_impls import get_process_index_and_count, local_to_global_shape
from jax._src.state.indexing import dslice
from jax._src.typing import SupportsDType
assert isinstance(jax.numpy.ones(2), SupportsDType) and not isinstance(2, SupportsDType)
where = NamedSharding(jax.make_mesh((1,), "x"), P("x"))
assert get_process_index_and_count(where, 0, 2) == get_process_index_and_count(where, 1, 2) == (0, 1)
assert local_to_global_shape(where, (2, 3)) == (2, 3)
assert with_sharding_constraint is jax.lax.with_sharding_constraint
assert dslice is jax.experimental.pallas.dslice
[(kind, place)] = saved_residuals(jax.checkpoint(lambda x: jax.numpy.sin(x) ** 2), 1.0)
print(kind.str_short(), place)
"""
    assert through(program) == "f32[] from the argument x\n"


def test_a_script_under_a_safe_path_keeps_the_first_folder_of_the_path(tmp_path):
    script = tmp_path / "folder/script.py"
    script.parent.mkdir()
    script.write_text("import sys; print(sys.path[0])")
    first = str(tmp_path)
    assert run("-m", "effax.as_jax", str(script), path=first).stdout == f"{script.parent}\n"
    assert run("-P", "-m", "effax.as_jax", str(script), path=first).stdout == f"{first}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import jax.nothing_such", "No module named 'jax.nothing_such'"),
        ("from jax._src import nothing_such", "cannot import name 'nothing_such'"),
        ("import jax._src.core; jax._src.core.nothing_such", "is private to JAX"),
        ("import jax; jax.nothing_such", "has no attribute 'nothing_such'"),
    ],
)
def test_what_is_not_there_is_named(line, message):
    done = run("-m", "effax.as_jax", "-c", line)
    assert done.returncode == 1
    assert message in done.stderr


def test_what_pages_of_jax_take_of_its_private_modules():
    program = """
import jax, jaxlib.mlir.ir
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import func, stablehlo as hlo
from jax._src import api, xla_bridge as xb
from jax._src.lax import lax
from jax._src.lib import xla_client
from jax._src.lib.mlir.dialects import hlo as same
from jax._src.util import safe_map, safe_zip
from jax._src import test_util as jtu
assert jtu.create_mesh((1,), ("x",)).shape == {"x": 1}
assert ir is jaxlib.mlir.ir and same is hlo and lax is jax.lax and api.jit is jax.jit
assert safe_map(max, [1, 4], (3, 2)) == [3, 4] and safe_zip([1], [2]) == [(1, 2)]
try: safe_map(max, [1], [2, 3])
except ValueError: print(xb.get_backend().platform)
"""
    assert through(program) == "cpu\n"


# Every public module that JAX 0.10.2 has, apart from those of other names above.
MODULES = """
distributed experimental.array_serialization experimental.buffer_callback
experimental.colocated_python experimental.custom_partitioning experimental.fused
experimental.hijax experimental.jax2tf experimental.key_reuse experimental.mosaic
experimental.pallas experimental.pallas.tpu experimental.pallas.triton experimental.profiler
experimental.rnn experimental.roofline experimental.scheduling_groups experimental.shard_alike
experimental.source_mapper experimental.sparse.ad experimental.sparse.api
experimental.sparse.linalg experimental.sparse.random experimental.sparse.transform
experimental.sparse.util experimental.topologies
experimental.transfer experimental.xla_metadata extend.backend extend.ifrt_programs
extend.lowering extend.mlir extend.pallas extend.random extend.sharding extend.xla
interpreters.pxla lib tools
"""


def test_public_modules_import():
    names = MODULES.split()
    program = f"""
from importlib import import_module
for name in {names}:
    module = import_module("jax." + name)
    home, _, last = ("jax." + name).rpartition(".")
    assert getattr(import_module(home), last) is module, name
from jax.experimental import pallas as pl, jax2tf
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.gpu import attention
from jax.experimental.array_serialization import serialization
import jax.experimental.pallas.ops.tpu.splash_attention
class Manager(serialization.GlobalAsyncCheckpointManagerBase): pass
def f(spec: pl.BlockSpec | None = None, memory=pltpu.VMEM): return spec
assert f() is None and not isinstance(1, pl.BlockSpec) and not hasattr(pl, "nothing_such")
assert jax2tf.convert(f).__name__ == "f"
for use in (lambda: attention.mha(f), Manager):
    try: use()
    except NotImplementedError as error: print(error)
"""
    found = through(program)
    assert "pallas.ops.gpu.attention.mha: effax has none of the kernels" in found
    assert found.count("\n") == 2


def test_modules_of_kernels_import_and_refuse_to_be_used():
    program = """
from importlib import import_module
from effax.as_jax.kernels import KERNELS
for name in KERNELS:
    import_module("jax." + name)
from jax.experimental import pallas
from jax.experimental.mosaic import gpu as mgpu
from jax.experimental.pallas import fuser, mosaic_gpu as plgpu, tpu_sc
from jax.experimental.pallas.ops.tpu import megablox
from jax.experimental.pallas.ops.tpu.megablox import gmm  # as haliax
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks
assert megablox.gmm is gmm  # also where the module of that name is imported
class Mask(masks._ComputableMask): pass  # as axlearn and maxtext
for use in (gmm, Mask, tpu_sc.VectorSubcoreMesh, plgpu.Barrier):
    try: use()
    except NotImplementedError as error: print(error)
"""
    found = through(program)
    assert "megablox.gmm: effax has none of the kernels" in found
    assert "use effax.lax.ragged_dot" in found
    assert found.count("\n") == 4


def test_einsum_along_a_path_with_a_dot_of_ones_own():
    program = """
import jax, jax.numpy as jnp, numpy as np
from jax._src.numpy.einsum import _einsum
x, y, z = jnp.arange(6.0).reshape(2, 3), jnp.ones((3, 4)), jnp.ones((4, 2))
seen = []
def dot(*args, **keywords):
    seen.append(args[0].shape)
    return jax.lax.dot_general(*args, **keywords)
path = [((1, 0), frozenset("j"), "jk,ij->ik"), ((1, 0), frozenset("k"), "ik,kl->il")]
found = _einsum([x, y, z], path, None, None, dot)
np.testing.assert_allclose(found, jnp.einsum("ij,jk,kl->il", x, y, z))
print(len(seen))
"""
    assert through(program) == "2\n"


def test_dialects_of_mlir_import_by_jaxs_names():
    program = """
from jaxlib.mlir.dialects import memref as theirs
from jax.extend.mlir.dialects import memref, mpmd, sparse_tensor, vector
print(memref is theirs)
"""
    assert through(program) == "True\n"


def test_processes_that_a_program_starts_come_through_it():
    program = """
import subprocess, sys
print(subprocess.check_output([sys.executable, "-c", "import jax; print(jax.numpy.ones(2))"]))
"""
    assert through(program) == "b'[1. 1.]\\n'\n"


SPAWNED = """
import multiprocessing
import jax.numpy as jnp

def work(n):
    return float(jnp.ones(n).sum())

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [3]))
"""


def test_a_spawned_pool_comes_through_it(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    done = run("-m", "effax.as_jax", str(script))
    assert done.stdout == "[3.0]\n", done.stderr


def test_metadata_say_which_version_it_is():
    program = "from importlib.metadata import version; import jax; print(version('jax'))"
    assert through(program) == "0.10.2\n"


def test_a_script_a_module_and_their_arguments(tmp_path):
    text = "import sys, jax, beside; print(__name__, sys.argv[1:], beside.x)"
    (tmp_path / "script.py").write_text(text)
    (tmp_path / "beside.py").write_text("import jax.numpy as jnp; x = jnp.float32(2)")
    expected = "__main__ ['-m', 'b'] 2.0\n"
    assert run("-m", "effax.as_jax", str(tmp_path / "script.py"), "-m", "b").stdout == expected
    path = str(tmp_path)
    assert run("-m", "effax.as_jax", "-m", "script", "-m", "b", path=path).stdout == expected


def test_wrong_use_says_how_it_is_used():
    assert "usage:" in run("-m", "effax.as_jax").stdout
    for arguments in (["-x"], ["-m"]):
        done = run("-m", "effax.as_jax", *arguments)
        assert done.returncode == 1
        assert "usage:" in done.stderr


def test_a_call_at_the_top_of_a_program_opens_it_once():
    program = "import effax.as_jax; effax.as_jax(); effax.as_jax(); import jax; print(jax.jit)"
    done = run("-c", program)
    assert done.stdout.startswith("<function jit"), done.stderr


def test_the_real_jax_is_not_taken_away(tmp_path):
    (tmp_path / "jax.py").write_text("__version__ = '0.4.2'")
    path = str(tmp_path)
    done = run("-c", "import jax, effax.as_jax; effax.as_jax()", path=path)
    assert "jax 0.4.2 is imported already" in done.stderr
    assert run("-c", "import effax, jax; print(jax.__version__)", path=path).stdout == "0.4.2\n"
    assert through("import jax; print(jax.__version__)", path=path) == "0.10.2\n"


def test_the_distribution_is_a_door_too():
    done = run("-c", IMPORTS, path=str(ROOT / "packages/effax-jax"))
    assert done.stdout == "12.0\n", done.stderr


def test_the_distribution_holds_the_same_module():
    one = (ROOT / "effax/as_jax/door/jax.py").read_text()
    assert (ROOT / "packages/effax-jax/jax.py").read_text() == one


def test_loggers_of_jaxs_names_decide_what_is_logged():
    program = """
import logging, sys, jax, jax.numpy as jnp
logging.basicConfig(stream=sys.stdout, format="%(name)s %(message)s")
def fail(x): raise ValueError("oh")
def call():
    try: jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(fail, x, x))(1.0))
    except Exception: print("raised")
logging.getLogger("jax").addHandler(logging.NullHandler())
class Drop(logging.Filter):
    def filter(self, record): return record.getMessage() != "jax.pure_callback failed"
drop = Drop()
logging.getLogger("jax._src.callback").addFilter(drop)
call()
logging.getLogger("jax._src.callback").removeFilter(drop)
logging.getLogger("jax").setLevel(logging.CRITICAL)
call()
logging.getLogger("jax").setLevel(logging.NOTSET)
call()
"""
    lines = [x for x in through(program).splitlines() if x == "raised" or "failed" in x]
    assert lines == ["raised", "raised", "effax effax.pure_callback failed", "raised"]


def test_static_arguments_are_inferred_as_e3nn_asks():
    program = """
import inspect
from jax._src.api_util import infer_argnums_and_argnames as infer
sig = inspect.signature(lambda a, b, *, c: 0)
print(infer(sig, (1,), None), infer(sig, None, "a"), infer(sig, None, None), infer(sig, 0, "b"))
"""
    assert through(program) == "((1,), ('b',)) ((0,), ('a',)) ((), ()) ((0,), ('b',))\n"


def test_arrays_and_traced_values_say_that_they_are_of_jax():
    program = """
import pickle
import jax, jax.numpy as jnp
seen = []
def f(x):
    seen.append(type(x).__module__)
    return x
x = jnp.ones(2)
jax.vmap(f)(x), jax.jit(f)(x), jax.jvp(f, (x,), (x,)), f(x), f(jax.random.key(0))
for held in x, jax.random.key(0):
    again = pickle.loads(pickle.dumps(held))
    assert pickle.loads(pickle.dumps(type(held))) is type(held) is type(again)
    assert (again == held).all()
print(*(name.partition(".")[0] for name in seen))
"""
    assert through(program) == "jax jax jax jax jax\n"


PRIVATE_PATHS = """
import jax, jax.numpy as jnp
from jax._src.api import jit
from jax._src.core import ClosedJaxpr, JaxprEqn, ShapedArray
from jax._src.lax.control_flow.loops import scan_p
from jax._src.lax.lax import _const
from jax._src.mesh import AxisType, Mesh, thread_resources
from jax._src.nn.functions import gelu
from jax._src.nn.initializers import orthogonal
from jax._src.numpy.lax_numpy import asarray
from jax._src.numpy.util import promote_args_inexact, promote_dtypes_complex
from jax._src.random import PRNGKey
from jax._src.scipy.special import gammaln
from jax._src.tree_util import Partial, broadcast_prefix
from jax._src.typing import Array, ArrayLike
from jax._src.util import partition_list, split_list, unzip2
assert jax._src.numpy.util.promote_dtypes_complex is promote_dtypes_complex
assert PRNGKey is jax.random.PRNGKey and gelu is jax.nn.gelu and asarray is jnp.asarray
assert orthogonal is jax.nn.initializers.orthogonal and Array is jax.Array and jit is jax.jit
assert thread_resources.env.physical_mesh.empty and broadcast_prefix(1, [2, 3]) == [1, 1]
half, whole = promote_args_inexact("f", jnp.float16(1), 2)
assert half.dtype == whole.dtype == jnp.float16
assert promote_dtypes_complex(jnp.float32(1))[0].dtype == jnp.complex64
assert _const(half, 3).dtype == jnp.float16 and _const(half, 3) == 3
from jax.interpreters.partial_eval import DynamicJaxprTracer
jax.jit(lambda x: print(isinstance(x, DynamicJaxprTracer), jax.core.is_concrete(x)))(1.0)
assert jax.core.is_concrete(half) and not isinstance(half, DynamicJaxprTracer)
assert unzip2([(1, 2), (3, 4)]) == ((1, 3), (2, 4))
assert split_list([1, 2, 3], [1]) == [[1], [2, 3]]
assert partition_list([True, False], "ab") == (["b"], ["a"])
for name in ("random.nobody", "core.nobody", "nn.functions.nobody", "numpy.nobody", "nobody"):
    try:
        exec("from jax._src.{} import {}".format(*name.rpartition(".")[::2]) if "." in name
             else "import jax._src.nobody")
    except ImportError as error:
        print(type(error).__name__)
"""


OLD_NAMES = """
from functools import partial
import jax, jax.numpy as jnp
from jax import lax
from jax._src.config import numpy_rank_promotion
from jax._src.core import canonicalize_shape, dimension_as_value
from jax._src.image.scale import ResizeMethod, _kernels
from jax._src.mesh_utils import create_device_mesh
from jax._src.numpy.setops import _UniqueAllResult
from jax._src.pjit import JitWrapped
from jax._src.random.core import normal
from jax._src.sharding_impls import UNSPECIFIED, UnspecifiedValue
from jax.core import is_constant_dim, is_constant_shape, trace_ctx
from jax.extend.core import Primitive
from jax.interpreters import mlir, pxla, xla
from jax._src.traceback_util import filter_traceback
from jax._src.xla_bridge import backends_are_initialized
assert not backends_are_initialized()
assert isinstance(jax.jit(abs), JitWrapped) and filter_traceback(None) is None
assert isinstance(jnp.unique_all(jnp.ones(2)), _UniqueAllResult) and backends_are_initialized()
assert create_device_mesh((1,)).shape == (1,)
assert jax.version.__version__ == jax.version._version == jax.__version__
assert (jax.host_id(), jax.host_count(), jax.host_ids()) == (0, 1, [0])
with numpy_rank_promotion("raise"):
    assert jax.config._read("jax_numpy_rank_promotion") == numpy_rank_promotion.value == "raise"
assert is_constant_dim(3) and is_constant_shape((3, 4)) and not is_constant_shape((2.5,))
assert canonicalize_shape([2, 3]) == (2, 3) and dimension_as_value(3) == 3
assert _kernels[ResizeMethod.LINEAR](jnp.float32(0.25)) == 0.75
assert isinstance(UNSPECIFIED, UnspecifiedValue) and normal is jax.random.normal
with jax.sharding.Mesh(jax.devices(), ("x",)):
    assert pxla.thread_resources.env.physical_mesh.axis_names == ("x",)
assert pxla.thread_resources.env.physical_mesh.empty
before = trace_ctx.trace
jax.jit(lambda x: print(trace_ctx.trace is not before))(1.0)
triple = Primitive("triple")
triple.def_impl(partial(xla.apply_primitive, triple))
triple.def_abstract_eval(lambda x: x)
mlir.register_lowering(triple, mlir.lower_fun(lambda x: 3 * x, multiple_results=False))
print(triple.bind(2.0), lax.add_p.bind(1.0, 2.0))
"""


def test_names_that_jax_has_deprecated():
    assert through(OLD_NAMES).split() == ["True", "6.0", "3.0"]


VARIABLES = """
import os
os.environ["JAX_ENABLE_X64"] = "true"  # before the import, as programs do
import jax, jax.numpy as jnp
print(jnp.ones(2).dtype, jax.config.jax_default_matmul_precision, len(jax.devices()))
"""


def test_jaxs_variables_of_the_environment(monkeypatch):
    for name, value in (("DEFAULT_MATMUL_PRECISION", "highest"), ("NUM_CPU_DEVICES", "3")):
        monkeypatch.setenv(f"JAX_{name}", value)
    for name in ("EFFAX_ENABLE_X64", "EFFAX_DEFAULT_MATMUL_PRECISION", "EFFAX_NUM_CPU_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    assert through(VARIABLES).split() == ["float64", "highest", "3"]
    monkeypatch.setenv("EFFAX_NUM_CPU_DEVICES", "2")  # effax's own comes first
    assert through(VARIABLES).split() == ["float64", "highest", "2"]
    monkeypatch.setenv("JAX_DEBUG_NANS", "perhaps")
    assert (
        "environment variable JAX_DEBUG_NANS" in run("-m", "effax.as_jax", "-c", VARIABLES).stderr
    )


def test_public_names_by_private_paths():
    assert through(PRIVATE_PATHS).split() == [
        *("True", "False"),
        *["ImportError"] * 4,
        "ModuleNotFoundError",
    ]


def test_a_librarys_walk_through_the_names_of_jax_numpy():
    program = """
import sys, jax.numpy as jnp, jax.lax
assert {"exp", "linalg", "float32", "pi"} <= jnp.__dict__.keys() and "scan" in vars(jax.lax)
print({n for n in dir(jnp) if n not in vars(jnp)}, isinstance(jnp, type(sys)))
"""
    assert through(program) == "set() True\n"
