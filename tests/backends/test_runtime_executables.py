"""Programs in, results out: single operations, donation, callbacks, LAPACK, options."""

import numpy as np
import pytest

from effax.backends.xla.array import Array, asarray
from effax.backends.xla.compile import donate_operands
from effax.backends.xla.executable import (
    XlaRuntimeError,
    compile_text,
    effects_barrier,
    explain_failure,
)
from effax.backends.xla.placement import Spec, default, place
from effax.effects import config
from effax.effects.rows.elementwise import mul
from effax.effects.types import ShapedArray, element_name
from tests.backends.runtime_programs import add, callback

pytestmark = pytest.mark.cpu

VECTOR = ShapedArray((3,), "float32")


def run(executable, *xs):
    out = executable.execute([x.buffer for x in xs])
    return [Array(b, s) for b, s in zip(out, executable.out_specs, strict=True)]


@pytest.mark.parametrize(
    "name", ["int8", "uint32", "float16", "float32", "complex64", "bfloat16", "int4", "float64"]
)
def test_add(name):
    type = ShapedArray((2, 2), name)
    x = asarray(np.array([[1, 2], [0, 1]]).astype(type.dtype), type)
    executable = compile_text(
        add(f"tensor<2x2x{element_name(type.dtype)}>"), placement=default(), out_types=[type]
    )
    (y,) = run(executable, x, x)
    assert y.type is type and y.spec is Spec(type, default(), False)
    np.testing.assert_array_equal(np.asarray(y).astype("complex64"), [[2, 4], [0, 2]])


def test_what_is_known_about_an_executable():
    executable = compile_text(add(), placement=default(), out_types=[ShapedArray((), "float32")])
    assert executable.cost_analysis()["flops"] == 1
    assert executable.memory_analysis().argument_size_in_bytes == 8
    assert "add" in executable.as_text() and "f32[]" in repr(executable)
    assert executable.committed_specs[0].committed and not executable.out_specs[0].committed


def test_results_are_asynchronous_and_can_be_chained():
    n = 400
    tensor = f"tensor<{n}x{n}xf32>"
    text = f"""module @dot {{ func.func public @main(%a: {tensor}) -> {tensor} {{
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : ({tensor}, {tensor}) -> {tensor}
      return %0 : {tensor} }} }}"""
    executable = compile_text(text, placement=default(), out_types=[ShapedArray((n, n), "float32")])
    x = asarray(np.eye(n, dtype="float32"))
    for _ in range(3):
        (x,) = run(executable, x)
    assert x.block_until_ready().is_ready()
    np.testing.assert_array_equal(np.asarray(x), np.eye(n))


def test_donation():
    executable = compile_text(
        add("tensor<3xf32>"), placement=default(), out_types=[VECTOR], donate=[0]
    )
    x, y = asarray(np.ones(3)), asarray(np.ones(3))
    (z,) = run(executable, x, y)
    assert x.is_deleted() and not y.is_deleted() and z.tolist() == [2, 2, 2]
    with pytest.raises(XlaRuntimeError) as caught:
        run(executable, x, y)
    operands = [(x.spec, x.buffer), (y.spec, y.buffer)]
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]"):
        explain_failure(caught.value, operands)
    explain_failure(caught.value, operands[1:])


def test_donation_is_written_into_the_text():
    text = 'func.func public @main(%a: tensor<f32>, %b: tensor<2xf32> {sdy.sharding = #s<@m, [{"x,"}]>} ) -> tensor<f32> {'
    assert donate_operands(text, [0, 1]) == (
        "func.func public @main(%a: tensor<f32> {jax.buffer_donor = true}, "
        '%b: tensor<2xf32> {sdy.sharding = #s<@m, [{"x,"}]>, jax.buffer_donor = true} ) -> tensor<f32> {'
    )
    with pytest.raises(ValueError, match="operand 2"):
        donate_operands(text, [2])
    with pytest.raises(ValueError, match="operand 0"):
        donate_operands("func.func @main() -> tensor<f32> {", [0])


def test_callbacks():
    executable = compile_text(
        callback(), placement=default(), out_types=[VECTOR], host_callbacks=[lambda a: (np.sin(a),)]
    )
    (y,) = run(executable, asarray(np.ones(3)))
    np.testing.assert_allclose(np.asarray(y), np.sin(np.ones(3)), rtol=1e-6)


def test_a_failing_callback_says_why():
    def fail(a):
        raise ZeroDivisionError("no such sine")

    executable = compile_text(
        callback(), placement=default(), out_types=[VECTOR], host_callbacks=[fail]
    )
    with pytest.raises(XlaRuntimeError, match="no such sine"):
        run(executable, asarray(np.ones(3)))[0].block_until_ready()


def test_side_effects_can_be_waited_for():
    told = []
    executable = compile_text(
        callback(effect=True),
        placement=default(),
        out_types=[VECTOR],
        host_callbacks=[lambda a: (told.append(float(a[0])), ())[1]],
        effectful=True,
    )
    for i in range(20):
        (y,) = run(executable, asarray(np.full(3, float(i))))
    effects_barrier()
    assert sorted(told) == list(range(20)) and y.tolist() == [19, 19, 19]


def test_lapack():
    layout = "dense<[0, 1]> : tensor<2xindex>"
    text = f"""module @cholesky {{ func.func public @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {{
      %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {{api_version = 4 : i32,
        backend_config = {{uplo = 76 : ui8}}, operand_layouts = [{layout}],
        result_layouts = [{layout}, dense<> : tensor<0xindex>]}}
        : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
      return %0#0 : tensor<2x2xf32> }} }}"""
    type = ShapedArray((2, 2), "float32")
    executable = compile_text(text, placement=default(), out_types=[type], single_op=True)
    a = np.array([[4.0, 2], [2, 3]])
    (y,) = run(executable, asarray(a))
    np.testing.assert_allclose(np.tril(np.asarray(y)), np.linalg.cholesky(a), rtol=1e-6)


def test_no_results_and_no_operands():
    text = "module @f { func.func public @main() { return } }"
    assert compile_text(text, placement=default(), out_types=[]).execute([]) == []


def test_what_is_no_program_is_refused():
    with pytest.raises(XlaRuntimeError):
        compile_text("module @f { nonsense }", placement=place("cpu"), out_types=[])
    with pytest.raises(XlaRuntimeError, match="xla_no_such_flag"):
        compile_text(
            add(),
            placement=default(),
            out_types=[ShapedArray((), "float32")],
            options={"xla_no_such_flag": True},
        )


def test_identical_programs_become_one_function():
    """Layers that are one jitted function, made anew at each call, or rematerialized."""
    import effax as fx
    import effax.numpy as jnp

    def layer(x, w):
        return jnp.tanh(x @ w)

    def count(layer, transform=lambda f: f):
        def network(x, weights):
            for w in weights:
                x = layer(x, w)
            return x.sum()

        arguments = np.ones((2, 4), np.float32), [np.eye(4, dtype=np.float32) * i for i in range(5)]
        with config.fast_paths("-pieces"):
            lowered = fx.jit(transform(network)).lower(*arguments)
        assert np.isfinite(np.asarray(fx.tree.leaves(lowered.compile()(*arguments))[0])).all()
        return lowered.as_text().count("func.func")

    once = fx.jit(layer)
    anew = lambda x, w: fx.jit(lambda x, w: layer(x, w))(x, w)  # noqa: E731
    again = lambda x, w: fx.checkpoint(lambda x, w: layer(x, w))(x, w)  # noqa: E731
    assert [count(f) for f in (once, anew, again)] == [2, 2, 2]
    assert [count(f, fx.grad) for f in (once, anew, again)] == [3, 3, 3]
    assert count(lambda x, w: once(x, w) + fx.jit(lambda x, w: x @ w)(x, w)) == 3


def test_a_number_is_told_from_an_array_of_rank_0():
    """`mul(x, 2.0)` broadcasts the number; an array in its place is refused, also after that."""
    x, scalar = asarray(np.ones(3, np.float32)), asarray(np.float32(2))
    assert mul(x, 2.0).tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="mul needs operands of equal shapes"):
        mul(x, scalar)
