"""Foreign functions: handlers in C++, compiled here, called under every transformation."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import ffi
from effax.errors import JaxRuntimeError, MissingRuleError, UnsupportedDerivativeError

COMPILER = shutil.which("g++") or shutil.which("clang++")
HANDLERS = ("RmsNorm", "Told", "Count")
X = np.arange(6, dtype=np.float32).reshape(2, 3)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no compiler of C++ is installed")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    built = tmp_path_factory.mktemp("ffi") / "handlers.so"
    source = Path(__file__).with_name("handlers.cc")
    flags = ["-std=c++17", "-O0", "-shared", "-fPIC", f"-I{ffi.include_dir()}"]
    subprocess.run([COMPILER, *flags, "-o", str(built), str(source)], check=True)
    loaded = ctypes.cdll.LoadLibrary(str(built))
    for name in HANDLERS:
        ffi.register_ffi_target(f"effax_test_{name}", ffi.pycapsule(getattr(loaded, name)))
    return loaded


def normalised(x, eps=1e-5):
    return x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + eps)


def rms_norm(x, vmap_method="broadcast_all", **options):
    like = effax.ShapeDtypeStruct(x.shape, x.dtype)
    call = ffi.ffi_call("effax_test_RmsNorm", like, vmap_method=vmap_method, **options)
    return call(x, eps=np.float32(1e-5))


@needs_compiler
@pytest.mark.usefixtures("library")
class TestCalls:
    @pytest.mark.parametrize("x", [X, X[0], X[:0]], ids=lambda x: str(x.shape))
    def test_a_handler_is_called(self, x):
        for call in (rms_norm, effax.jit(rms_norm)):
            assert_allclose(call(x), normalised(x), rtol=1e-6)

    def test_a_handler_that_fails_says_why(self):
        with pytest.raises(JaxRuntimeError, match="RmsNorm takes at least one axis"):
            np.asarray(rms_norm(np.float32(1)))

    def test_attributes_arrive(self):
        told = ffi.ffi_call("effax_test_Told", effax.ShapeDtypeStruct((5,), np.float64))
        values = np.array([3, -1, 5], np.int32)
        out = told(i=2**40, f=-0.5, b=True, s='a"\\ü', v=values)
        assert_array_equal(out, [2.0**40, -0.5, 1, 5, 7])
        again = told(i=1, f=np.inf, b=np.bool_(False), s="", v=values[:0])
        assert_array_equal(again, [1, np.inf, 0, 0, 0])
        with pytest.raises(JaxRuntimeError, match="Wrong"):
            told(i=1.0, f=1.0, b=True, s="", v=values)

    @pytest.mark.parametrize(
        "method",
        ["sequential", "sequential_unrolled", "broadcast_all", "expand_dims", "legacy_vectorized"],
    )
    def test_batches_by_every_method(self, method):
        rows = np.stack([X, X + 1, X - 2])
        out = effax.vmap(lambda x: rms_norm(x, method))(rows)
        assert_allclose(out, normalised(rows), rtol=1e-6)

    def test_what_is_not_batched_is_as_the_method_says(self):
        shapes = {"expand_dims": (1, 3), "broadcast_all": (4, 3), "legacy_vectorized": (3,)}
        for method, shape in shapes.items():
            like = effax.ShapeDtypeStruct((3,), np.float32)
            call = ffi.ffi_call("nowhere", like, vmap_method=method)
            program = effax.make_program(effax.vmap(call, (0, None)))(np.ones((4, 3)), np.ones(3))
            assert program.equations[-1].inputs[1].type.shape == shape

    def test_a_batch_without_a_method_is_refused(self):
        with pytest.raises(MissingRuleError, match="vmap_method='sequential'"):
            effax.vmap(lambda x: rms_norm(x, None))(X)

    def test_the_author_gives_the_derivative(self):
        @effax.custom_vjp
        def norm(x):
            return rms_norm(x)

        def plain(x):
            return x / jnp.sqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-5)

        norm.defvjp(lambda x: (norm(x), x), lambda x, ct: effax.vjp(plain, x)[1](ct))
        loss = [effax.grad(lambda x, f=f: jnp.sum(jnp.sin(f(x)))) for f in (norm, plain)]
        assert_allclose(loss[0](X), loss[1](X), rtol=1e-4, atol=1e-6)
        with pytest.raises(UnsupportedDerivativeError, match="effax_test_RmsNorm"):
            effax.grad(lambda x: rms_norm(x).sum())(X)

    def test_layouts_are_asked_for(self):
        outs = (effax.ShapeDtypeStruct((), np.int32), effax.ShapeDtypeStruct((6,), np.float32))

        def memory(x, order, **options):
            call = ffi.ffi_call("effax_test_Count", outs, input_layouts=[order], **options)
            return call(x)[1]

        assert_array_equal(memory(X, None), X.ravel())
        assert_array_equal(effax.jit(memory, static_argnums=1)(X, (1, 0)), X.T.ravel())
        lanes = effax.vmap(lambda x: memory(x, (1, 0), vmap_method="sequential"))
        assert_array_equal(lanes(np.stack([X, X + 6]))[1], (X + 6).T.ravel())

    def test_one_that_acts_is_called_whoever_looks(self):
        outs = (effax.ShapeDtypeStruct((), np.int32), effax.ShapeDtypeStruct((3,), np.float32))

        def counted(x, acts):
            ffi.ffi_call("effax_test_Count", outs, has_side_effect=acts)(x)
            return x

        def so_far():
            return int(ffi.ffi_call("effax_test_Count", outs)(X[0])[0])

        for acts, calls in ((True, 3), (False, 0)):
            before = so_far()
            step = effax.jit(counted, static_argnums=1)
            for _ in range(3):
                step(X[0] + before, acts)
            effax.effects_barrier()
            assert so_far() == before + 1 + calls

    def test_memory_may_be_shared(self):
        shared = effax.jit(lambda x: rms_norm(x, input_output_aliases={0: 0}))
        assert_allclose(shared(X), normalised(X), rtol=1e-6)
        assert "output_operand_alias" in shared.lower(X).as_text()

    def test_a_module_that_calls_it_says_so(self):
        with pytest.raises(ValueError, match=r"no compatibility guarantees.*effax_test_RmsNorm"):
            effax.export.export(effax.jit(rms_norm))(X)
        check = effax.export.DisabledSafetyCheck.custom_call("effax_test_RmsNorm")
        made = effax.export.export(effax.jit(rms_norm), disabled_checks=[check])(X)
        read = effax.export.deserialize(made.serialize())
        assert_allclose(read.call(X), normalised(X), rtol=1e-6)

    def test_names_are_taken_once(self, library):
        with pytest.raises(ValueError, match="effax_test_Told"):
            ffi.register_ffi_target("effax_test_Told", ffi.pycapsule(library.RmsNorm))


def test_a_function_is_known_by_its_address():
    """numba gives the address of what it compiled."""
    function = ctypes.pythonapi.Py_IncRef
    address = ctypes.cast(function, ctypes.c_void_p)
    capsules = [ffi.pycapsule(x) for x in (function, address, address.value)]
    found = ctypes.pythonapi.PyCapsule_GetPointer
    found.restype, found.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    assert [found(x, None) for x in capsules] == [address.value] * 3


def test_what_is_no_target_is_refused():
    with pytest.raises(TypeError, match="loaded by ctypes"):
        ffi.pycapsule(3)
    with pytest.raises(TypeError, match="or its address"):
        ffi.pycapsule(True)
    for function in (3, {"execute": 3}, {"sometimes": None}):
        with pytest.raises(TypeError, match="must be a capsule"):
            ffi.register_ffi_target("effax_test_wrong", function)
    with pytest.raises(ValueError, match="'cpu' or 'cuda'"):
        capsule = ffi.pycapsule(ctypes.pythonapi.Py_IncRef)
        ffi.register_ffi_target("effax_test_wrong", capsule, platform="abacus")
    with pytest.raises(TypeError, match="unknown options"):
        ffi.register_ffi_target("effax_test_wrong", capsule, colour=1)
    like = effax.ShapeDtypeStruct((2, 3), np.float32)
    with pytest.raises(JaxRuntimeError, match="effax_test_wrong"):
        ffi.ffi_call("effax_test_wrong", like)(X)


@pytest.mark.parametrize(
    ("options", "attributes", "error", "message"),
    [
        ({"vmap_method": "nope"}, {}, ValueError, "vmap_method must be one of"),
        ({"legacy_backend_config": "s"}, {}, ValueError, "custom_call_api_version < 4"),
        ({"custom_call_api_version": 1}, {"a": 1}, ValueError, "at least 4"),
        ({"input_output_aliases": {3: 0}}, {}, ValueError, r"input index 3 outside the range"),
        ({"input_output_aliases": {0: 4}}, {}, ValueError, r"output index 4 outside the range"),
        ({"input_layouts": [None, None]}, {}, ValueError, r"input arguments \(1\) must equal"),
        ({"input_layouts": [(0, 3)]}, {}, ValueError, "expected a permutation"),
        ({"output_layouts": (0,)}, {}, ValueError, "expected a permutation"),
        ({}, {"a": [1]}, TypeError, "attribute of a foreign function must be"),
        ({}, {"a": None}, TypeError, "attribute of a foreign function must be"),
        ({}, {"a": 1j}, TypeError, "attribute of a foreign function must be"),
        ({}, {"a": jnp.ones(3)}, TypeError, "attribute of a foreign function must be"),
    ],
)
def test_calls_that_do_not_fit(options, attributes, error, message):
    like = effax.ShapeDtypeStruct((2, 3), np.float32)
    with pytest.raises(error, match=message):
        ffi.ffi_call("nowhere", like, **options)(X, **attributes)


def test_lowered_as_asked():
    like = effax.ShapeDtypeStruct((2, 3), np.float32)

    def lowered(**options):
        attributes = options.pop("attributes", {})
        call = ffi.ffi_call("some.target", like, **options)
        return effax.jit(lambda x: call(x, **attributes)).lower(X).as_text()

    old = lowered(custom_call_api_version=2, legacy_backend_config="hi")
    assert 'backend_config = "hi"' in old
    assert "api_version = 2" in old
    many = {"z": {"u": np.float32(1)}, "t": (1, 2.5), "d": np.dtype("int8"), "m": np.eye(2)}
    text = lowered(attributes=many)
    for part in ("u = 1.0", "[1", "i8", "tensor<2x2xf64>", "@some.target"):
        assert part in text.replace('"', "")
    assert "dense<[0, 1]>" in lowered(output_layouts=(1, 0))


def test_attributes_are_where_jax_writes_them():
    """Tools that read modules look for `mhlo.backend_config`, and programs show what is told."""
    call = ffi.ffi_call("some.target", effax.ShapeDtypeStruct((2, 3), np.float32))

    def function(x):
        return call(x, scale=np.float32(2), many={"a": 1})

    module = effax.jit(function).lower(X).compiler_ir()
    (main,) = module.body.operations
    found = main.body.blocks[0].operations[0].attributes["mhlo.backend_config"]
    assert str(found["scale"]) == "2.000000e+00 : f32" and str(found["many"]["a"]) == "1 : i64"
    assert 'some.target(scale=2.0 : f32, many={"a" = 1 : i64})' in str(
        effax.make_program(function)(X)
    )


def test_an_empty_container_among_the_results_is_refused():
    like = effax.ShapeDtypeStruct((), np.float32)
    for wrong, at in ((None, 0), ((like, ()), 1), ([like, {}], 1), ((like, 3), 1)):
        with pytest.raises(ValueError, match=f"All elements of result_shape_dtypes.*position {at}"):
            ffi.ffi_call("nowhere", wrong)
    assert effax.eval_shape(ffi.ffi_call("nowhere", ())) == ()


def test_a_handler_is_told_the_words_of_a_key():
    acting = ffi.ffi_call("effax_test_keys", (), has_side_effect=True)
    program = effax.make_program(lambda key: acting(key))(effax.random.key(0))
    (equation,) = program.equations
    assert [x.type.str_short() for x in equation.inputs] == ["u32[2]"]
    effax.jit(acting).lower(effax.random.key(0))


def test_a_result_without_a_type_is_refused():
    with pytest.raises(ValueError, match=r"All elements of result_shape_dtypes.*position 1"):
        ffi.ffi_call("effax_test_none", (effax.ShapeDtypeStruct((), np.float32), None))


def test_an_attribute_of_float0_is_told_as_false():
    told = ffi.ffi_call("effax_test_float0", effax.ShapeDtypeStruct((), np.float32))
    text = effax.jit(lambda: told(by=np.zeros(2, effax.dtypes.float0))).lower().as_text()
    assert "by = dense<[false, false]> : tensor<2xi1>" in text or '"by" = dense<[false' in text
