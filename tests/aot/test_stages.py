"""`jit(f).trace`, `lower`, `compile`: what each stage knows, and what the compiled one refuses."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.stages import ArgInfo, Compiled, Lowered, Traced, Wrapped

F32 = effax.ShapeDtypeStruct((), "float32")
ROW = effax.ShapeDtypeStruct((3,), "float32")


def scaled(params, x, factor=2, *, bias=0.0):
    return {"y": params["w"] * x * factor + bias, "n": x.sum()}


JITTED = effax.jit(scaled, static_argnames="factor", donate_argnums=1)
ARGS = {"w": ROW}, ROW


def stages():
    traced = JITTED.trace(*ARGS, 3, bias=F32)
    lowered = traced.lower()
    return traced, lowered, lowered.compile()


def test_each_stage_knows_its_arguments_and_results():
    assert isinstance(JITTED, Wrapped)
    for stage, cls in zip(stages(), (Traced, Lowered, Compiled), strict=True):
        assert isinstance(stage, cls)
        assert stage.fun_name == "scaled"
        (params, x), keywords = stage.args_info
        assert isinstance(params["w"], ArgInfo) and not params["w"].donated
        assert x.donated and x.shape == (3,) and x.dtype == np.float32
        assert keywords["bias"].shape == ()
        assert stage.donate_argnums == (1,)
        assert stage.in_avals[0][1].shape == (3,)
        assert stage.out_info["y"].shape == (3,) and stage.out_info["n"].shape == ()
        assert stage.out_avals["n"].dtype == np.float32
        assert stage.in_tree.num_leaves == 3 and stage.out_tree.num_leaves == 2
        assert repr(stage).startswith(f"<{cls.__name__} scaled(params['w']: f32[3], x: f32[3]")
    traced = JITTED.trace(*ARGS, 3, bias=F32)
    assert str(traced.jaxpr) == str(traced.program) and "mul" in str(traced.jaxpr)


def test_a_compiled_function_runs():
    _, _, compiled = stages()
    out = compiled({"w": np.float32([1, 2, 3])}, jnp.float32([1, 1, 1]), bias=1.0)
    assert out["y"].tolist() == [4, 7, 10] and float(out["n"]) == 3
    assert compiled.call({"w": np.float32([1, 2, 3])}, np.float32([1, 1, 1]), bias=1.0)["n"] == 3
    x = jnp.float32([1, 1, 1])
    compiled({"w": x + 0}, x, bias=0.0)
    assert x.is_deleted(), "x is donated"


def test_closed_over_arrays_and_no_arguments():
    table = jnp.arange(4.0)
    compiled = effax.jit(lambda: table.sum()).lower().compile()
    assert float(compiled()) == 6
    assert compiled.in_tree.num_leaves == 0 and compiled.captured[0] is table


W, X = {"w": np.ones(3, np.float32)}, np.ones(3, np.float32)
WRONG = {
    "shape": (({"w": np.ones(4, np.float32)}, X), {"bias": 0.0}, r"params\['w'\].*t32\[3\].*\[4\]"),
    "dtype": ((W, np.ones(3, np.int32)), {"bias": 0.0}, r"Argument 'x' .*float32\[3\].*int32\[3\]"),
    "keyword": (
        (W, X),
        {"bias": np.ones(2, np.float32)},
        r"Argument 'bias' .*float32\[\].*float32\[2\]",
    ),
    "missing": ((W,), {"bias": 0.0}, "at args there was tuple of length 2.*length 1"),
    "missing keyword": ((W, X), {}, "at kwargs.*bias"),
    "static given": ((W, X, 3), {"bias": 0.0}, "static arguments are left out"),
    "tree": (({"v": X}, X), {"bias": 0.0}, r"at args\[0\].*\['v'\]"),
    "no array": (({"w": "text"}, X), {"bias": 0.0}, r"params\['w'\] of type <class 'str'>"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_it_was_not_compiled_for_is_refused_by_argument(name):
    args, keywords, message = WRONG[name]
    with pytest.raises(TypeError, match=f"(?s){message}"):
        stages()[2](*args, **keywords)


def test_transformations_come_before_compiling():
    compiled = effax.jit(jnp.sin).lower(F32).compile()
    for transform in (effax.jit, effax.grad, lambda f: lambda x: effax.vmap(f)(jnp.stack([x]))):
        with pytest.raises(TypeError, match="a traced value"):
            transform(compiled)(jnp.float32(1))
    assert float(effax.jit(effax.grad(jnp.sin)).lower(F32).compile()(0.0)) == 1

    def inside(x):
        return effax.jit(lambda y: x * y).lower(F32).compile()(2.0)

    with pytest.raises(TypeError, match=r"closes over .*pass that value as an argument"):
        effax.jit(inside)(1.0)


def test_texts():
    _, lowered, compiled = stages()
    assert "stablehlo.multiply" in lowered.as_text() == lowered.as_text("stablehlo")
    assert lowered.as_text("hlo").startswith("HloModule")
    assert "multiply" in str(lowered.compiler_ir())
    assert lowered.compiler_ir("hlo").as_hlo_text().startswith("HloModule")
    assert compiled.as_text().startswith("HloModule") and "entry_computation_layout" in (
        compiled.as_text()
    )
    for dialect in ("mhlo", "c"):
        with pytest.raises(ValueError, match=f"unknown dialect: {dialect}"):
            lowered.as_text(dialect)
        with pytest.raises(ValueError, match=f"unknown dialect: {dialect}"):
            lowered.compiler_ir(dialect)


def test_analyses():
    # 3 products by x, 3 by factor, 3 sums with bias, 2 sums of x
    _, lowered, compiled = stages()
    assert lowered.cost_analysis()["flops"] >= 11
    assert compiled.cost_analysis()["flops"] >= 11
    product = effax.jit(jnp.matmul).lower(np.ones((8, 16)), np.ones((16, 4)))
    assert product.cost_analysis()["flops"] == 2 * 8 * 16 * 4
    memory = product.compile().memory_analysis()
    assert memory.argument_size_in_bytes == 4 * (8 * 16 + 16 * 4)
    assert memory.output_size_in_bytes == 4 * 8 * 4
    assert compiled.runtime_executable().get_hlo_text().startswith("HloModule")


def test_places_and_layouts():
    compiled = effax.jit(lambda x, *, y: x.T @ y).lower(np.ones((2, 3)), y=np.ones(2)).compile()
    device = effax.devices()[0]
    (x,), keywords = compiled.input_shardings
    assert x.device_set == keywords["y"].device_set == {device}
    assert compiled.output_shardings.device_set == {device}
    (x,), keywords = compiled.input_formats
    assert sorted(x.layout.major_to_minor) == [0, 1] and x.sharding.device_set == {device}
    assert compiled.output_formats.layout.major_to_minor == (0,)


def test_platforms():
    traced = effax.jit(jnp.sin).trace(F32)
    assert "sine" in traced.lower(lowering_platforms=("cpu",)).as_text()
    abroad = traced.lower(lowering_platforms=("tpu",))
    assert "sine" in abroad.as_text()
    with pytest.raises(ValueError, match="lowered for tpu"):
        abroad.compile()
    with pytest.raises(NotImplementedError, match="lower once for each"):
        traced.lower(lowering_platforms=("cpu", "tpu"))


def test_a_type_may_say_where():
    device = effax.devices()[0]
    placed = effax.ShapeDtypeStruct(
        (3,), "float32", sharding=effax.device_put(1.0, device).sharding
    )
    compiled = effax.jit(lambda x: x + 1).lower(placed).compile()
    assert compiled(np.ones(3, np.float32)).committed


def test_options_of_the_compiler():
    lowered = effax.jit(jnp.exp).lower(F32)
    fast = lowered.compile({"xla_cpu_enable_fast_math": True})
    assert float(fast(0.0)) == 1
    with pytest.raises(effax.errors.JaxRuntimeError, match="No such compile option: 'nope'"):
        lowered.compile({"nope": 1})
    for wrong in (3, {"a": [1]}, {1: True}):
        with pytest.raises(TypeError, match="compiler_options"):
            lowered.compile(wrong)
        with pytest.raises(TypeError, match="compiler_options"):
            effax.jit(jnp.exp, compiler_options=wrong)


def test_what_fitted_once_is_told_from_what_does_not():
    """A call with arrays of types that were looked at is not looked at again."""
    double = effax.jit(lambda x: x * 2).lower(jnp.ones(3)).compile()
    for _ in range(3):
        np.testing.assert_array_equal(double(jnp.ones(3)), [2, 2, 2])
        np.testing.assert_array_equal(double(np.ones(3, "float32")), [2, 2, 2])
        with pytest.raises(TypeError, match=r"float32\[4\]|f32\[4\]"):
            double(jnp.ones(4))
        with pytest.raises(TypeError, match="int32"):
            double(jnp.ones(3, int))
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        double(gone)


def test_arrays_that_fitted_once_fit_no_other_tree():
    x, y = jnp.arange(3.0), jnp.ones(3)
    compiled = effax.jit(lambda a, b: a - b).lower(x, y).compile()
    for _ in range(3):
        assert compiled(x, y).tolist() == [-1.0, 0.0, 1.0]
    for wrong in (([x, y],), (x,), (x, y, x), (x, [y]), (x, jnp.ones(2))):
        with pytest.raises(TypeError):
            compiled(*wrong)
    with pytest.raises(TypeError):
        compiled(x, b=y)
    assert compiled(np.arange(3, dtype=np.float32), y).tolist() == [-1.0, 0.0, 1.0]
    paired = effax.jit(lambda p, q: {"s": p[0] + p[1]}).lower([x, y], ()).compile()
    for _ in range(3):
        assert paired([x, y], ())["s"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError):
        paired(x, y)
