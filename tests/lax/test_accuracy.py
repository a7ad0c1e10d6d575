"""The accuracy of elementary functions, and the algorithms of products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import effax
import effax.numpy as jnp
from effax import lax
from effax.lax import AccuracyMode, DotAlgorithm, DotAlgorithmPreset, Tolerance

X = np.linspace(0.1, 0.9, 5, dtype=np.float32)
FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log1p", "logistic", "sin", "cos", "tan", "tanh"),
    *("sqrt", "rsqrt", "cbrt"),
)
ACCURACIES = (AccuracyMode.HIGHEST, Tolerance(atol=1e-2, ulps=1), Tolerance(0.0, 1e-30, 0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_an_accuracy(name):
    f = getattr(lax, name)
    assert "accurate" not in str(
        effax.make_program(lambda x: f(x, accuracy=AccuracyMode.DEFAULT))(X)
    )
    accuracy = ACCURACIES[len(name) % 3]

    def asked(x):
        return f(x, accuracy=accuracy)

    expected = f(X)
    for call in (asked, effax.jit(asked), effax.vmap(asked)):
        assert_allclose(call(X), expected, rtol=1e-6)
    slope = effax.grad(lambda x: asked(x).sum())(X)
    assert_allclose(slope, effax.grad(lambda x: f(x).sum())(X), rtol=1e-6)
    bend = effax.grad(effax.grad(asked))(X[0])
    assert_allclose(bend, effax.grad(effax.grad(f))(X[0]), rtol=1e-5)
    text = effax.jit(asked).lower(X).as_text()
    assert text.count("result_accuracy = ") == 1
    assert_allclose(asked(np.complex64(0.3 + 0.1j)), f(np.complex64(0.3 + 0.1j)), rtol=1e-6) if (
        name != "cbrt"
    ) else None


def test_a_derivative_keeps_the_accuracy_of_the_value():
    text = effax.jit(
        effax.value_and_grad(lambda x: lax.exp(x, accuracy=AccuracyMode.HIGHEST))
    ).lower(X[0])
    assert "result_accuracy_mode<HIGHEST>" in text.as_text()


def test_what_is_asked_is_written():
    text = effax.jit(lambda x: lax.log(x, accuracy=Tolerance(0.5, 0.25, 3))).lower(X).as_text()
    assert "atol = 5.0" in text
    assert "rtol = 2.5" in text
    assert "ulps = 3" in text
    assert "result_accuracy_mode<TOLERANCE>" in text


def test_accuracies_that_are_none():
    for wrong in (3, "HIGHEST"):
        with pytest.raises(NotImplementedError, match="accuracy"):
            lax.exp(X, accuracy=wrong)
    with pytest.raises(ValueError, match="non-negative"):
        Tolerance(-1.0)
    with pytest.raises(ValueError, match="At least one"):
        Tolerance()


# ------------------------------------------------------------------------------- dot algorithms

A = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
# What XLA's CPU backend has, recorded of JAX 0.10, with how far off it may be.
ON_CPU = {
    "DEFAULT": 1e-5,
    "F16_F16_F16": 2e-2,
    "BF16_BF16_F32": 5e-2,
    "BF16_BF16_F32_X3": 1e-5,
    "BF16_BF16_F32_X6": 1e-5,
    "F32_F32_F32": 1e-5,
    "F64_F64_F64": 1e-6,
}


@pytest.mark.cpu
@pytest.mark.parametrize("preset", DotAlgorithmPreset, ids=str)
def test_presets(preset):
    if preset.name not in ON_CPU:
        with pytest.raises(ValueError, match=f"'{preset}' is not supported by dot_general on CPU"):
            lax.dot(A, B, precision=preset)
        return
    for precision in (preset, preset.name):
        assert_allclose(lax.dot(A, B, precision=precision), A @ B, atol=ON_CPU[preset.name])
    for dtype in ("float32", "bfloat16", "float16", "float8_e4m3fn"):
        a, b = jnp.asarray(A).astype(dtype), jnp.asarray(B).astype(dtype)
        assert lax.dot(a, b, precision=preset).dtype == dtype
        wide = lax.dot(a, b, precision=preset, preferred_element_type=jnp.float32)
        assert wide.dtype == jnp.float32
        exact = np.asarray(a.astype("float32")) @ np.asarray(b.astype("float32"))
        assert_allclose(wide, exact, atol=0.05)


def test_algorithms_in_all_that_multiplies():
    exact = DotAlgorithm("float32", np.float32, jnp.float32)
    assert exact == DotAlgorithm("float32", "float32", "float32")
    for product in (
        lambda a, b: lax.dot(a, b, precision=exact),
        lambda a, b: jnp.matmul(a, b, precision=exact),
        lambda a, b: jnp.einsum("ij,jk", a, b, precision="F32_F32_F32"),
        lambda a, b: effax.vmap(lambda r: jnp.dot(r, b, precision=exact))(a),
    ):
        assert_allclose(effax.jit(product)(A, B), A @ B, rtol=1e-5)
        assert "algorithm = <lhs_precision_type = f32" in effax.jit(product).lower(A, B).as_text()
        gradient = effax.grad(lambda a, b, f=product: f(a, b).sum(), (0, 1))(A, B)
        assert_allclose(gradient[0], np.ones((4, 5)) @ B.T, rtol=1e-4)
        assert_allclose(gradient[1], A.T @ np.ones((4, 5)), rtol=1e-4)
    with effax.default_matmul_precision("BF16_BF16_F32_X3"):
        text = effax.jit(lambda a, b: a @ b).lower(A, B).as_text()
    assert "num_primitive_operations = 3" in text
    x, kernel = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 2, 2), np.float32)
    kept = lax.conv(x, kernel, (1, 1), "VALID", precision=DotAlgorithmPreset.F32_F32_F32)
    assert_array_equal(kept, np.full((1, 1, 3, 3), 4.0))


def test_other_platforms_take_what_they_may_have():
    def product(a, b):
        return lax.dot(a, b, precision=algorithm)

    for algorithm, parts in (  # noqa: B007
        (DotAlgorithmPreset.TF32_TF32_F32_X3, ("= tf32", "num_primitive_operations = 3")),
        (DotAlgorithmPreset.ANY_F8_ANY_F8_F32_FAST_ACCUM, ("allow_imprecise_accumulation = true",)),
        (DotAlgorithm("bfloat16", "bfloat16", "float32", 1, 2, 2), ("rhs_component_count = 2",)),
    ):
        lowered = effax.jit(product).trace(A, B).lower(lowering_platforms=("cuda",)).as_text()
        for part in parts:
            assert part in lowered
        effax.clear_caches()


@pytest.mark.cpu
def test_algorithms_that_are_none():
    pair = (DotAlgorithmPreset.F32_F32_F32,) * 2
    for wrong in (pair, "F32_F32_F31", 7):
        with pytest.raises(ValueError, match="unknown precision"):
            lax.dot(A, B, precision=wrong)
    with pytest.raises(ValueError, match="is not supported by dot_general on CPU"):
        lax.dot(A, B, precision=DotAlgorithm("float16", "float16", "float32"))


def test_sides_change_places():
    lopsided = DotAlgorithm("bfloat16", "float32", "float32", 2, 1, 2)
    assert lopsided.swapped() == DotAlgorithm("float32", "bfloat16", "float32", 1, 2, 2)
    assert lopsided.swapped().swapped() == lopsided
