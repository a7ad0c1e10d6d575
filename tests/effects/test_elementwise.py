"""The elementwise rows (arithmetic, functions, bits, conversions, selections), in every column."""

import numpy as np
import pytest

import effax
from effax.effects.effect import LITERALS
from effax.effects.rows import comparison, complex, elementwise, selection, transcendental
from effax.effects.types import ShapedArray
from tests.samples import checks
from tests.samples.elementwise import COMPLEX, COMPLEX2, SAMPLES, SMOOTH, X, Y


def label(sample):
    effect, operands, attributes = sample
    kinds = [
        type(x).__name__ if type(x) in LITERALS else np.asarray(x).dtype.name for x in operands
    ]
    return f"{effect}-{'-'.join(kinds)}" + "".join(f"-{v}" for v in attributes.values())


@pytest.mark.parametrize("sample", SAMPLES, ids=label)
def test_xla_agrees_with_the_reference(sample):
    effect, operands, attributes = sample

    def function(*arrays):
        given = iter(arrays)
        filled = [x if type(x) in LITERALS else next(given) for x in operands]
        return effect(*filled, **attributes)

    arrays = [x for x in operands if type(x) not in LITERALS]
    check(function, arrays)


def check(function, arrays):
    from effax.backends.reference.evaluate import evaluate_program
    from effax.effects.types import typeof
    from effax.interpreters.stage import stage

    program = stage(lambda *xs: [function(*xs)], [typeof(x) for x in arrays]).program
    found = effax.jit(function)(*arrays)
    assert found.type is program.out_types[0]
    with np.errstate(all="ignore"):
        checks.close([found], evaluate_program(program, *arrays), 2e-5)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s[1]], ids=label)
def test_batches(sample):
    effect, operands, attributes = sample
    if any(type(x) in LITERALS for x in operands):
        pytest.skip("literals are not batched")
    checks.check_batch(effect, operands, attributes)


@pytest.mark.parametrize("sample", SMOOTH, ids=label)
def test_derivatives(sample):
    effect, operands, attributes = sample
    xs = [
        (i, x)
        for i, x in enumerate(operands)
        if type(x) not in LITERALS and np.asarray(x).dtype.kind == "f"
    ]
    if not xs or "bfloat16" in str(attributes):
        pytest.skip("nothing moves, or too coarsely for differences")

    def function(*moving):
        filled = list(operands)
        for (i, _), x in zip(xs, moving, strict=True):
            filled[i] = x
        y = effect(*filled, **attributes)
        return complex.imag(elementwise.square(y)) if y.dtype.kind == "c" else y

    check_slopes(function, [x for _, x in xs])


def check_slopes(function, xs, step=1e-2, tolerance=1e-2):
    """Forward mode against differences, reverse mode against forward mode."""
    random = np.random.default_rng(0)
    ts = [random.normal(size=x.shape).astype(x.dtype) for x in xs]
    _, tangent = effax.jvp(function, tuple(xs), tuple(ts))

    def ahead(k):
        return np.asarray(
            function(*(x + np.float32(k * step) * t for x, t in zip(xs, ts, strict=True)))
        )

    slope = (8 * (ahead(1) - ahead(-1)) - (ahead(2) - ahead(-2))) / (12 * step)
    near = np.abs(np.asarray(tangent) - slope) <= tolerance * (1 + np.abs(slope))
    # A kink between the points of the difference makes it wrong: few may be near one.
    assert near.mean() > 0.8, (tangent, slope)
    y, back = effax.vjp(function, *xs)
    weights = random.normal(size=y.shape).astype(y.dtype)
    gradients = back(weights)
    one = sum(float(np.vdot(t, np.asarray(g))) for t, g in zip(ts, gradients, strict=True))
    np.testing.assert_allclose(
        one, float(np.vdot(weights, np.asarray(tangent))), rtol=1e-3, atol=1e-3
    )


HOLOMORPHIC = [
    s[0]
    for s in SAMPLES
    if len(s[1]) == 1 and s[1][0] is COMPLEX and not s[2]
    and s[0].name not in ("abs", "sign", "real", "imag", "conj", "convert_element_type")
]  # fmt: skip


@pytest.mark.parametrize("effect", HOLOMORPHIC, ids=str)
def test_complex_derivatives(effect):
    step = 1e-3
    t = (Y + 0.5j * X).astype(np.complex64)
    x = COMPLEX[:, :2].ravel()
    t = t[:, :2].ravel()
    _, tangent = effax.jvp(effect, (x,), (t,))
    wide = [np.asarray(effect((x + k * step * t).astype(np.complex64))) for k in (1, -1)]
    np.testing.assert_allclose(tangent, (wide[0] - wide[1]) / (2 * step), rtol=2e-2, atol=2e-2)


def test_parts_of_complex_numbers_are_transposed_as_in_jax():
    for part, wanted in ((complex.real, 1), (complex.imag, -1j)):
        _, back = effax.vjp(part, COMPLEX)
        np.testing.assert_allclose(back(np.ones_like(X))[0], np.full(X.shape, wanted))
    _, back = effax.vjp(elementwise.abs, COMPLEX)
    found = back(np.ones_like(X))[0]
    np.testing.assert_allclose(found, COMPLEX.conj() / np.abs(COMPLEX), rtol=1e-5)
    _, back = effax.vjp(elementwise.mul, COMPLEX, COMPLEX2)
    np.testing.assert_allclose(back(np.ones_like(COMPLEX))[0], COMPLEX2)


def test_ties_share_the_gradient():
    x = np.array([1.0, 2.0], np.float32)
    for effect in (elementwise.max, elementwise.min):
        _, back = effax.vjp(effect, x, x)
        for gradient in back(np.ones_like(x)):
            np.testing.assert_array_equal(gradient, [0.5, 0.5])


def test_powers_of_zero_have_derivatives():
    zero = np.float32(0)
    assert float(effax.grad(lambda x: elementwise.pow(x, np.int32(0)))(zero)) == 0.0
    assert float(effax.grad(lambda x: elementwise.pow(x, np.int32(1)))(zero)) == 1.0
    assert float(effax.grad(lambda y: elementwise.pow(zero, y))(np.float32(2))) == 0.0
    assert float(effax.grad(lambda x: elementwise.integer_pow(x, y=1))(zero)) == 1.0


def test_selections_stop_what_was_not_selected():
    x = np.array([0.0, 2.0], np.float32)

    def safe_log(x):
        positive = comparison.gt(x, 0.0)
        inside = selection.select_n(positive, 1.0, x)
        return selection.select_n(positive, 0.0, transcendental.log(inside))

    _, back = effax.vjp(safe_log, x)
    np.testing.assert_array_equal(back(np.ones_like(x))[0], [0.0, 0.5])


F32, I32 = ShapedArray((3,), "float32"), ShapedArray((3,), "int32")


@pytest.mark.parametrize(
    ("effect", "types", "attributes", "words"),
    [
        (elementwise.add, (F32, I32), {}, r"add.*f32\[3\].*i32\[3\]"),
        (
            elementwise.add,
            (F32, ShapedArray((4,), "float32")),
            {},
            r"add.*shapes.*f32\[3\].*f32\[4\]",
        ),
        (elementwise.add, (F32,), {}, "2 operands"),
        (elementwise.add, (None, None), {}, "array among its operands"),
        (
            transcendental.sin,
            (I32,),
            {},
            r"sin does not accept dtype .*: it takes floating-point.*i32\[3\]",
        ),
        (
            elementwise.neg,
            (ShapedArray((), "bool"),),
            {},
            "neg does not accept dtype .*: it takes integer",
        ),
        (elementwise.integer_pow, (I32,), {"y": -1}, "negative powers"),
        (selection.select_n, (F32, F32, F32), {}, "Booleans or integers"),
        (selection.clamp, (I32, F32, I32), {}, "bounds of the dtype"),
        (
            comparison.lt,
            (ShapedArray((), "complex64"),) * 2,
            {},
            "lt does not accept dtype .*: it takes",
        ),
    ],
)
def test_bad_operands_are_named(effect, types, attributes, words):
    with pytest.raises(TypeError, match=words):
        effect.infer(types, attributes)


def test_results_are_weak_where_all_operands_are():
    weak = F32.update(weak_type=True)
    assert elementwise.add.infer((weak, None), {}) is weak
    assert elementwise.add.infer((weak, F32), {}) is F32


def test_literals_must_fit_their_peers():
    ints = np.arange(3, dtype=np.int32)
    for run in (
        lambda: elementwise.add(ints, 2.5),
        lambda: effax.jit(lambda x: elementwise.add(x, 2.5))(ints),
    ):
        with pytest.raises(
            TypeError, match=r"add: 2.5 can't be converted to the dtype of i32\[3\]"
        ):
            run()
    np.testing.assert_array_equal(elementwise.add(np.float32(1), 2), 3.0)
