"""Exported functions: what they give, here and after being read again; what is refused."""

import base64
import collections
import json
import random
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import export
from effax.effects.tree import tree_structure
from effax.errors import ExportError, SymbolicShapeError, UnsupportedDerivativeError
from tests.architecture.sources import ROOT

X = np.linspace(-2.0, 3.0, 5, dtype=np.float32)
WEIGHTS = jnp.arange(5.0)


def of(function, *args, order=0, **options):
    """A function exported, written and read again."""
    made = export.export(effax.jit(function), **options)(*args)
    return export.deserialize(made.serialize(vjp_order=order))


def wave(x, scale=2.0):
    return {"y": jnp.sin(x) * WEIGHTS * scale, "mask": x > 0}


def test_a_read_function_computes_what_the_written_one_did():
    read = of(wave, X, np.float32(2))
    expected = np.sin(X) * np.arange(5) * 3
    for call in (read.call, effax.jit(read.call)):
        out = call(X, np.float32(3))
        assert_allclose(out["y"], expected, rtol=1e-5)
        assert_array_equal(out["mask"], X > 0)


def test_it_knows_what_it_is():
    made = export.export(effax.jit(wave))(X, scale=effax.ShapeDtypeStruct((), "float32"))
    for e in (made, export.deserialize(made.serialize())):
        assert e.fun_name == "wave"
        assert [t.str_short() for t in e.in_avals] == ["f32[5]", "f32[]"]
        assert [t.str_short() for t in e.out_avals] == ["bool[5]", "f32[5]"]
        assert e.in_tree == tree_structure(((0,), {"scale": 0}))
        assert e.out_tree == tree_structure({"mask": 0, "y": 0})
        assert (e.platforms, e.nr_devices) == (("cpu",), 1)
        assert e.module_kept_var_idx == (0, 1)
        assert e.calling_convention_version == export.maximum_supported_calling_convention_version
        assert "stablehlo.sine" in e.mlir_module()
        assert str(e) == "Exported(fun_name=wave, ...)"
        assert not e.uses_global_constants
    assert made.has_vjp()
    assert not export.deserialize(made.serialize()).has_vjp()


def test_derivatives_go_with_it():
    def loss(call):
        return lambda x: jnp.sum(call(x, jnp.float32(2))["y"] ** 2)

    read = of(wave, X, np.float32(2), order=2)
    assert_allclose(effax.grad(loss(read.call))(X), effax.grad(loss(wave))(X), rtol=1e-5)
    twice = effax.jacrev(effax.jacrev(loss(read.call)))(X)
    assert_allclose(twice, effax.hessian(loss(wave))(X), rtol=1e-4, atol=1e-5)
    inside = effax.jit(effax.value_and_grad(loss(effax.jit(read.call))))
    assert_allclose(inside(X)[1], effax.grad(loss(wave))(X), rtol=1e-5)


def test_derivatives_end_where_they_were_not_kept():
    once = of(jnp.sin, X[0], order=1)
    assert_allclose(effax.grad(once.call)(X[0]), np.cos(X[0]), rtol=1e-6)
    with pytest.raises(UnsupportedDerivativeError, match="No VJP is available"):
        effax.grad(effax.grad(once.call))(X[0])
    with pytest.raises(ExportError, match="No VJP is available"):
        of(jnp.sin, X[0]).vjp()
    with pytest.raises(ValueError, match="No VJP is available"):
        effax.grad(of(jnp.sin, X[0]).call)(X[0])


def test_integers_have_no_derivative_but_go_along():
    read = of(lambda x, n: (x * n, n + 1), X, np.int32(3), order=1)
    assert [t.dtype.name for t in read.vjp().in_avals][2:] == ["float32", "void"]
    assert_array_equal(effax.grad(lambda x: read.call(x, np.int32(3))[0].sum())(X), np.full(5, 3.0))
    x_ct, n_ct = read.vjp().call(X, np.int32(3), np.ones(5, "float32"), np.zeros((), effax.float0))
    assert_array_equal(x_ct, np.full(5, 3.0))
    assert n_ct.dtype == effax.float0


def test_lanes_are_called_one_after_another():
    read = of(lambda x, y: (x @ x + y, y), X, np.float32(1))
    rows = np.stack([X, X + 1, X * 2])
    many, same = effax.vmap(read.call, (0, None))(rows, np.float32(1))
    assert_allclose(many, (rows * rows).sum(1) + 1, rtol=1e-6)
    assert_array_equal(same, np.ones(3))
    assert effax.vmap(read.call, (0, None))(rows[:0], np.float32(1))[0].shape == (0,)


def test_it_can_stand_in_loops_and_branches():
    read = of(lambda x: x * 0.5 + 1, np.float32(0), order=1)

    def looped(x):
        x = effax.lax.fori_loop(0, 3, lambda i, x: read.call(x), x)
        return effax.lax.cond(x > 0, read.call, lambda x: x, x)

    assert_allclose(effax.jit(looped)(np.float32(8)), 2.375)
    steps = effax.lax.scan(lambda c, _: (read.call(c), c), np.float32(8), None, 2)
    assert_allclose(steps[1], [8, 5])


@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "uint8", "int32", "float16", "bfloat16", "complex64", "float8_e4m3fn"]
)
def test_what_it_closes_over_is_written_out(dtype):
    value = jnp.asarray(np.array([[0, 1, 3], [2, 1, 0]])).astype(dtype)
    read = of(lambda n: (value, value[n]), np.int32(1))
    whole, row = read.call(np.int32(1))
    assert whole.dtype == value.dtype
    wide = "complex64" if dtype == "complex64" else "float32"
    assert_array_equal(whole.astype(wide), value.astype(wide))
    assert_array_equal(row.astype(wide), value[1].astype(wide))


def test_arrays_without_elements_and_keys_are_written():
    empty = jnp.zeros((0, 3))
    read = of(lambda key: (empty, effax.random.normal(key, (2,))), effax.random.key(3))
    out = read.call(effax.random.key(3))
    assert out[0].shape == (0, 3)
    assert_array_equal(out[1], effax.random.normal(effax.random.key(3), (2,)))


def test_static_arguments_are_left_out():
    made = export.export(effax.jit(lambda x, n: x**n, static_argnums=1))(X, 3)
    assert_allclose(made.call(X), X**3, rtol=1e-5)


def test_one_module_for_several_platforms():
    read = of(lambda a: jnp.linalg.cholesky(a) @ a, np.eye(2), platforms=["cuda", "cpu"])
    assert read.platforms == ("cuda", "cpu")
    assert "_platform_index" in read.mlir_module()
    assert read.uses_global_constants
    assert_allclose(read.call(4 * np.eye(2, dtype="float32")), 8 * np.eye(2))


def test_other_platforms_are_refused_unless_that_is_asked():
    args = (jnp.sin, X)
    with pytest.raises(ValueError, match=r"exported for platforms '\('tpu',\)' but it is used on"):
        of(*args, platforms=["tpu"]).call(X)
    anywhere = [export.DisabledSafetyCheck.platform()]
    read = of(*args, platforms=["tpu"], disabled_checks=anywhere)
    assert_allclose(read.call(X), np.sin(X), rtol=1e-6)
    with pytest.raises(ExportError, match="one or several of"):
        of(*args, platforms=["abacus"])


RECORDED = json.loads((ROOT / "tests/goldens/exported.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("recorded", RECORDED["modules"], ids=lambda r: "-".join(r["platforms"]))
def test_modules_of_jax_run_here(recorded):
    x, n = np.float32(RECORDED["x"]), np.int32(3)
    types = effax.make_program(lambda x, n: (n, x[:2], x))(x, n)
    read = export.Exported(
        "from_jax",
        tree_structure(((0, 0), {})),
        types.in_types,
        tree_structure({"n": 0, "top": 0, "y": 0}),
        types.out_types,
        tuple(recorded["platforms"]),
        (),
        base64.b64decode(recorded["module"]),
    )
    out = effax.jit(lambda x, n: read.call(x, n))(x, n)
    for name, expected in recorded["results"].items():
        assert_allclose(out[name], expected, rtol=1e-5)


def test_another_process_reads_it(tmp_path):
    file = tmp_path / "wave.bin"
    file.write_bytes(export.export(effax.jit(wave))(X, np.float32(2)).serialize(vjp_order=1))
    code = (
        "import sys, numpy as np, effax\n"
        f"f = effax.export.deserialize(open({str(file)!r}, 'rb').read())\n"
        "x = np.linspace(-2.0, 3.0, 5, dtype=np.float32)\n"
        "g = effax.grad(lambda x: f.call(x, np.float32(2))['y'].sum())(x)\n"
        "np.testing.assert_allclose(g, np.cos(x) * np.arange(5) * 2, rtol=1e-4)\n"
        "print('same')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "same", done.stderr


# ----------------------------------------------------------------------------------------- trees


class Point(NamedTuple):
    x: float
    y: float


@effax.tree_util.register_pytree_node_class
class Tagged:
    def __init__(self, inside, tag):
        self.inside, self.tag = inside, tag

    def tree_flatten(self):
        return (self.inside,), self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(children[0], tag)


def test_trees_are_written_once_they_are_registered():
    ordered = collections.OrderedDict([("b", 1.0), ("a", [2.0, None])])
    tree = ((Point(3.0, {"k": 1.0, "j": ()}), Tagged(ordered, "unit")),)
    made = export.export(effax.jit(lambda t: t))(tree)
    with pytest.raises(ValueError, match=r"unregistered type.*Point"):
        made.serialize()
    export.register_namedtuple_serialization(Point, serialized_name="test.Point")
    with pytest.raises(ValueError, match=r"unregistered type.*Tagged"):
        made.serialize()
    export.register_pytree_node_serialization(
        Tagged,
        serialized_name="test.Tagged",
        serialize_auxdata=str.encode,
        deserialize_auxdata=bytes.decode,
        from_children=lambda tag, children: Tagged(children[0], tag),
    )
    read = export.deserialize(made.serialize())
    assert read.in_tree == made.in_tree
    assert tree_structure(read.call(tree)) == tree_structure(tree)
    for name in ("test.Point", "test.Other"):
        with pytest.raises(ValueError, match="Duplicate serialization registration"):
            export.register_namedtuple_serialization(Point, serialized_name=name)
    with pytest.raises(ValueError, match="register_pytree_node_serialization"):
        export.register_namedtuple_serialization(int, serialized_name="test.int")


def test_arguments_must_be_what_it_was_exported_for():
    read = of(lambda x, y: x + y["a"], X, {"a": np.float32(1)})
    for args, message in (
        ((X,), "same pytree structure as those"),
        ((X, {"b": np.float32(1)}), r"args\[1\]"),
        (
            (X[:4], {"a": np.float32(1)}),
            r"Shape mismatch for args\[0\].shape\[0\] .*: expected \(5,\)",
        ),
        ((X, {"a": 1}), r"Dtype mismatch for args\[1\]\['a'\]: expected float32 .* with int32"),
    ):
        with pytest.raises(ValueError, match=message):
            read.call(*args)


# ------------------------------------------------------------------------------------- refusals


def test_what_can_not_be_exported():
    with pytest.raises(ValueError, match="must be the result of `jit`"):
        export.export(lambda x: x)
    with pytest.raises(TypeError, match="of class DisabledSafetyCheck"):
        export.export(effax.jit(jnp.sin), disabled_checks=["platform"])

    def asks(x):
        return effax.pure_callback(np.sin, x, x)

    with pytest.raises(NotImplementedError, match="host_callbacks"):
        export.export(effax.jit(asks))(effax.ShapeDtypeStruct((), "float32"))
    with pytest.raises(ExportError, match="closes over a traced value"):
        effax.jit(lambda x: export.export(effax.jit(lambda y: x + y))(X).call(X))(X)
    with pytest.raises(ExportError, match="references"):
        export.export(effax.jit(lambda r: r[...]))(effax.new_ref(X))
    with pytest.raises(ValueError, match="vjp_order must not be negative"):
        export.export(effax.jit(jnp.sin))(X).serialize(vjp_order=-1)


def test_unknown_lengths_are_staged_but_not_compiled():
    assert export.symbolic_shape("2, 3") == (2, 3)
    assert export.symbolic_shape("(4,)") == (4,)
    assert export.symbolic_shape("") == ()
    assert export.symbolic_shape(None, like=(2, 3)) == (2, 3)
    assert not export.is_symbolic_dim(2)
    struct = effax.ShapeDtypeStruct(export.symbolic_shape("2*b, 3"), "float32")
    for type_ in (
        effax.jit(jnp.sin).trace(struct).out_avals,
        effax.make_jaxpr(jnp.sin)(struct).out_types[0],
        struct.type,
    ):
        assert type_.str_short() == "f32[2*b,3]"
    with pytest.raises(SymbolicShapeError, match="export the function"):
        effax.jit(jnp.sin).lower(struct)
    for spec, like in (
        *(("_", None), ("...", None), ("..., 2", (1, 2)), ("2,,3", None), ("_", ()), ("a.b", None)),
        *(("a b", None), ("1.5", None), ("f(a, b)", None)),
    ):
        with pytest.raises(ValueError, match="syntax error in symbolic shape"):
            export.symbolic_shape(spec, like=like)


@pytest.fixture(scope="module")
def blob():
    return bytes(export.export(effax.jit(wave))(X, np.float32(2)).serialize(vjp_order=1))


def test_damaged_files_are_refused(blob):
    draw = random.Random(0)
    for _ in range(300):
        bad = bytearray(blob)
        match draw.randrange(4):
            case 0:
                bad = bad[: draw.randrange(len(bad))]
            case 1:
                bad += bytes(draw.randrange(1, 9))
            case 2:
                at = draw.randrange(len(bad))
                bad[at] ^= 1 << draw.randrange(8)
            case _:
                at, n = draw.randrange(len(bad)), draw.randrange(1, 40)
                bad[at : at + n] = draw.randbytes(n + 1)
        with pytest.raises(ExportError):
            export.deserialize(bad)
    for bad in (b"", b"PK\x03\x04" + bytes(100), blob[:8], blob + blob):
        with pytest.raises(ExportError):
            export.deserialize(bad)
    with pytest.raises(TypeError, match="expected bytes"):
        export.deserialize("text")


def test_files_that_are_whole_but_strange_are_refused(blob, monkeypatch):
    """Someone else's writer may sign what is no header: it is said, and nothing is called."""
    from effax.export import files

    def signed(header, module=b"", version=files.VERSION):
        parts = [json.dumps(header).encode(), module, b""]
        body = files._HEAD.pack(files.MAGIC, version, *map(len, parts)) + b"".join(parts)
        return body + files._DIGEST(body).digest()

    good = {
        "fun_name": "f",
        "in_tree": ["tuple", [["tuple", []], ["dict", [], []]]],
        "in_avals": [],
        "out_tree": ["tuple", []],
        "out_avals": [],
        "platforms": ["cpu"],
        "disabled_checks": [],
        "calling_convention_version": 10,
        "nr_devices": 1,
    }
    assert export.deserialize(signed(good)).fun_name == "f"
    for change in (
        {"in_tree": ["leaf"]},
        {"in_tree": 3},
        {"in_tree": json.loads("[" * 700 + "]" * 700)},
        {"in_tree": ["dict", [], ["a"]]},
        {"out_tree": ["node", [], "nobody.knows", ""]},
        {"out_tree": ["node", [], "KeyArray", "!"]},
        {"in_avals": [["float99", [], False]]},
        {"out_avals": [["float32", [-1], False]]},
        {"in_avals": 7},
        {"platforms": None},
        {"nr_devices": "many"},
        {"nr_devices": 4},
        {"nr_devices": 4, "in_shardings": [None], "out_shardings": []},
    ):
        with pytest.raises(ExportError):
            export.deserialize(signed({**good, **change}))
    for whole in (signed([]), signed({}), signed(good, version=5)):
        with pytest.raises(ExportError):
            export.deserialize(whole)
    with pytest.raises(ExportError, match="can't be read as a portable artifact"):
        export.deserialize(signed(good, b"no module")).mlir_module()


def test_public_functions_are_exported_as_jitted_ones():
    exported = export.export(jnp.sin)(1.0)
    assert exported.fun_name == "sin"
    assert_array_equal(exported.call(1.0), jnp.sin(1.0))
    with pytest.raises(ValueError, match=r"Rank mismatch for args\[0\]: expected \(\)"):
        exported.call(np.ones(2, np.float32))


def test_nodes_that_cannot_be_written():
    class NoNode:
        pass

    with pytest.raises(ExportError, match="If `from_children` is not present, you must call first"):
        export.register_pytree_node_serialization(
            NoNode,
            serialized_name="tests.no_node",
            serialize_auxdata=lambda _: b"",
            deserialize_auxdata=lambda _: None,
        )
    exported = export.export(effax.jit(lambda d: d[0, 1]))({(0, 1): 1.0})
    with pytest.raises(TypeError, match="only for dictionaries with string keys"):
        exported.serialize()
