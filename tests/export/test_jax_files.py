"""Files of `jax.export`: recorded ones are read here, and JAX, where it is installed, reads ours."""

import base64
import collections
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import export
from effax.effects.tree import tree_structure
from effax.errors import ExportError, SymbolicShapeError
from effax.export import flatbuffer
from effax.export.jax_files import SCHEMA, tables_of
from tests.architecture.sources import ROOT
from tests.grid.ask import jax_python
from tests.hostile.test_hostile_files import mutants

RECORDED = json.loads((ROOT / "tests/goldens/exported_files.json").read_text(encoding="utf-8"))
FILES = {name: base64.b64decode(text) for name, text in RECORDED["files"].items()}
X = np.linspace(-2.0, 3.0, 6, dtype=np.float32).reshape(2, 3)
PARAMS = {"w": np.ones((3, 2), "float32"), "b": [np.float32(2), None]}
EXPECTED = {k: np.array(v, "float32") for k, v in RECORDED["results"].items()}


def y_of(e):
    return lambda x: e.call(PARAMS, x, n=np.int32(3), unused=X)["y"]


FORMS = {
    "read": lambda e: e,
    "written again": lambda e: export.deserialize(e.serialize(vjp_order=2)),
    "written for jax": lambda e: export.deserialize(e.serialize(vjp_order=2, format="jax")),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_jax_is_called(form):
    e = FORMS[form](export.deserialize(FILES["trees"]))
    assert (e.fun_name, e.platforms, e.nr_devices) == ("trees", ("cpu",), 1)
    assert e.module_kept_var_idx == (0, 1, 2, 3)  # JAX leaves out what a function does not use
    assert [t.str_short() for t in e.in_avals] == [
        "f32[]",
        "f32[3,2]",
        "f32[2,3]",
        "i32[]",
        "f32[2,3]",
    ]
    assert e.in_tree == tree_structure(((PARAMS, 0), {"n": 0, "unused": 0}))
    out = e.call(PARAMS, X, n=np.int32(3), unused=X)
    assert_allclose(out["y"], EXPECTED["y"], rtol=1e-5)
    assert int(out["n"]) == 4
    assert [*out["o"]] == ["z", "a"] and type(out["o"]) is collections.OrderedDict
    assert_array_equal(out["o"]["a"][0], X > 0)
    for call in (y_of(e), effax.jit(y_of(e))):
        gradient = effax.grad(lambda x, call=call: (call(x) ** 2).sum())
        assert_allclose(gradient(X), EXPECTED["gradient"], rtol=1e-4)
    twice = effax.jacrev(effax.jacrev(lambda x: (y_of(e)(x) ** 2).sum()))(X)
    expected = effax.hessian(lambda x: ((jnp.sin(x) @ PARAMS["w"] + 2) ** 2).sum())(X)
    assert_allclose(twice, expected, rtol=1e-3, atol=1e-4)


def test_keys_and_platforms_of_jax():
    drawn = export.deserialize(FILES["keys"])
    assert_allclose(drawn.call(effax.random.key(0), np.float32(2)), EXPECTED["drawn"], rtol=1e-5)
    with pytest.raises(ExportError, match=r"random\.key_data"):
        effax.grad(lambda x: drawn.call(effax.random.key(0), x).sum())(np.float32(2))
    again = export.deserialize(drawn.serialize(format="jax"))
    assert again.in_tree == drawn.in_tree and again.in_avals == drawn.in_avals
    with pytest.raises(ExportError, match=r"random\.key_data"):
        drawn.serialize(vjp_order=1, format="jax")
    several = export.deserialize(FILES["platforms"])
    assert several.platforms == ("tpu", "cpu")
    assert_allclose(several.call(X)[0], EXPECTED["several"], rtol=1e-6)
    assert several.call(X)[1].dtype == jnp.bfloat16


def test_shardings_of_jax():
    e = export.deserialize(FILES["cut"])
    mesh = effax.sharding.AbstractMesh((2,), ("x",), (effax.sharding.AxisType.Explicit,))
    for made in (e, export.deserialize(e.serialize(format="jax"))):
        assert made.nr_devices == 2
        assert str(made.in_shardings_jax(mesh)[0].spec) == "P('x',)"
        assert [t.str_short() for t in made.in_avals] == ["f32[2@x,3]"]
    code = (
        "import sys, numpy as np, effax\n"
        "from effax import P\n"
        "e = effax.export.deserialize(sys.stdin.buffer.read())\n"
        "mesh = effax.make_mesh((2,), ('x',), axis_types=(effax.sharding.AxisType.Explicit,))\n"
        "x = np.linspace(-2.0, 3.0, 6, dtype=np.float32).reshape(2, 3)\n"
        "print(np.asarray(e.call(effax.device_put(x, effax.NamedSharding(mesh, P('x'))))[1]).tolist())"
    )
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-c", code], input=FILES["cut"], capture_output=True, env=env, cwd=ROOT
    )
    assert_allclose(json.loads(done.stdout), EXPECTED["cut"], rtol=1e-5)


def test_both_forms_of_types_are_read():
    """JAX is to stop writing the types of each operand, and wrote nothing else before."""
    table = tables_of(FILES["trees"])
    indexed = {
        **table,
        "in_avals": None,
        "out_avals": None,
        "in_shardings": None,
        "out_shardings": None,
    }
    unique = (
        "unique_avals",
        "in_avals_idxs",
        "out_avals_idxs",
        "in_shardings_idxs",
        "out_shardings_idxs",
    )
    for form in (indexed, {**table, **dict.fromkeys(unique)}):
        e = export.deserialize(flatbuffer.write(form, SCHEMA, "Exported"))
        assert_allclose(y_of(e)(X), EXPECTED["y"], rtol=1e-5)


def changed(**fields):
    return flatbuffer.write({**tables_of(FILES["trees"]), **fields}, SCHEMA, "Exported")


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (changed(calling_convention_version=8), "version 8 of JAX's convention"),
        (changed(ordered_effects=[{"type_name": "Print"}]), "has effects that effax .*: Print"),
        (changed(module_kept_var_idx=[1, 1]), r"keeps the operands \[1, 1\]"),
        (changed(module_kept_var_idx=[5]), r"keeps the operands \[5\]"),
        (changed(in_avals_idxs=[0]), "its trees do not match its types"),
        (changed(out_avals_idxs=[0] * 9), "its trees do not match its types"),
        (changed(in_avals_idxs=[99] * 5), "IndexError|index out of range"),
        (changed(platforms=[]), "names no platform"),
        (changed(disabled_checks=[{"kind": 7}]), "unknown kind 7"),
        (changed(in_tree=None), "it lacks in_tree"),
        (changed(mlir_module_serialized=b""), "it lacks the module"),
        (changed(nr_devices=2, in_shardings_idxs=[9] * 5), "out of range"),
        (changed(nr_devices=2, in_shardings_idxs=[0]), "its shardings do not match"),
        (changed(unique_avals=[{"dtype": 99, "shape": []}] * 9), "99"),
        (changed(unique_avals=[{"dtype": 3, "shape": [], "memory_space": 2}] * 9), "of the host"),
        (
            changed(in_tree={"kind": 5, "custom_name": "nobody.knows", "children": [{}] * 5}),
            "nobody.knows",
        ),
        (changed(in_tree={"kind": 9}), "out of range"),
    ],
)
def test_strange_files_of_jax_are_refused(blob, message):
    with pytest.raises(ExportError, match=message):
        export.deserialize(blob)


def test_damaged_files_of_jax_are_refused_or_read():
    """There is no digest, so a change may go unseen; no other error is raised for it."""
    for name in ("trees", "cut"):
        refused = 0
        for mutant in mutants(FILES[name], 150):
            try:
                export.deserialize(mutant)
            except (ExportError, SymbolicShapeError):
                refused += 1
        assert refused > 50


def test_buffers_that_unfold_without_end_are_refused():
    schema = {"T": [("inside", ["T"])]}
    deep = {}
    for _ in range(40):
        deep = {"inside": [deep]}
    blob = flatbuffer.write(deep, schema, "T")
    assert flatbuffer.read(bytes(blob), schema, "T")
    # A table whose vector has only itself, many times.
    own = bytearray(flatbuffer.write({"inside": [{}] * 20}, schema, "T"))
    start = flatbuffer._Reader(bytes(own), schema).target(0)
    for at in range(start + 12, start + 12 + 80, 4):
        own[at : at + 4] = ((start - at) % 2**32).to_bytes(4, "little")
    with pytest.raises((ValueError, RecursionError)):
        flatbuffer.read(bytes(own), schema, "T")


def test_what_the_format_of_jax_can_not_hold():
    with pytest.raises(ExportError, match="format must be 'effax' or 'jax'"):
        export.deserialize(FILES["platforms"]).serialize(format="onnx")
    numbered = export.export(effax.jit(lambda d: d))({1: X})
    with pytest.raises(ExportError, match=r"keys \[1\] of a dict"):
        numbered.serialize(format="jax")
    narrow = export.export(effax.jit(lambda x: x))(jnp.zeros(3, "int2"))
    with pytest.raises(ExportError, match="has no int2"):
        narrow.serialize(format="jax")


READER = """
import base64, json, sys
import numpy as np, jax
from jax import export
import flatbuffers

files = {k: bytearray(base64.b64decode(v)) for k, v in json.load(sys.stdin).items()}
x = np.linspace(-2.0, 3.0, 6, dtype=np.float32).reshape(2, 3)
params = {"w": np.ones((3, 2), "float32"), "b": [np.float32(2), None]}
e = export.deserialize(files["trees"])
loss = lambda x: (e.call(params, x)["y"] ** 2).sum()
key = export.deserialize(files["keys"])
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), "x")
print(json.dumps({
    "types": [str(t) for t in (*e.in_avals, *e.out_avals)],
    "trees": [str(e.in_tree), str(e.out_tree)],
    "y": np.asarray(e.call(params, x)["y"]).tolist(),
    "gradient": np.asarray(jax.grad(loss)(x)).tolist(),
    "twice": np.asarray(jax.grad(lambda x: (jax.grad(loss)(x) ** 2).sum())(x)).tolist(),
    "drawn": np.asarray(key.call(jax.random.key(0), np.float32(2))).tolist(),
    "back": base64.b64encode(e.serialize(vjp_order=2)).decode(),
    "devices": export.deserialize(files["cut"]).nr_devices,
    "specs": str(export.deserialize(files["cut"])._in_named_shardings),
}))
"""


def test_jax_reads_what_effax_writes():
    python = jax_python()
    if python is None:
        pytest.skip("no Python with jax is here: EFFAX_BENCH_JAX can name one")

    def trees(params, x):
        y = jnp.sin(x) @ params["w"] + params["b"][0]
        return {"y": y, "o": collections.OrderedDict(z=jnp.sort(x), a=(x > 0, None))}

    made = export.export(effax.jit(trees), platforms=["cpu", "tpu"])(PARAMS, X)
    keys = export.export(effax.jit(lambda k, x: effax.random.normal(k, (3,)) * x))
    given = {
        "trees": made.serialize(vjp_order=2, format="jax"),
        "keys": keys(effax.random.key(0), np.float32(2)).serialize(format="jax"),
        "cut": export.deserialize(FILES["cut"]).serialize(format="jax"),
    }
    text = json.dumps({k: base64.b64encode(v).decode() for k, v in given.items()})
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", READER], input=text, capture_output=True, text=True, env=env
    )
    if "No module named 'flatbuffers'" in done.stderr:
        pytest.skip("JAX's Python has no flatbuffers, which jax.export needs for files")
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout)
    types = [t.removeprefix("ShapedArray(").rstrip(")") for t in found["types"]]
    assert types[:3] == [
        "float32[]",
        "float32[3,2]",
        "float32[2,3]",
    ]
    assert "OrderedDict" in found["trees"][1]

    def loss(x):
        return (trees(PARAMS, x)["y"] ** 2).sum()

    assert_allclose(found["y"], EXPECTED["y"], rtol=1e-5)
    assert_allclose(found["gradient"], effax.grad(loss)(X), rtol=1e-4)
    twice = effax.grad(lambda x: (effax.grad(loss)(x) ** 2).sum())(X)
    assert_allclose(found["twice"], twice, rtol=1e-3, atol=1e-3)
    assert_allclose(found["drawn"], EXPECTED["drawn"], rtol=1e-5)
    assert (found["devices"], "'x': 2" in found["specs"]) == (2, True)
    back = export.deserialize(base64.b64decode(found["back"]))
    assert_allclose(back.call(PARAMS, X)["y"], EXPECTED["y"], rtol=1e-5)
    assert_allclose(
        effax.grad(lambda x: (back.call(PARAMS, x)["y"] ** 2).sum())(X),
        effax.grad(loss)(X),
        rtol=1e-4,
    )
