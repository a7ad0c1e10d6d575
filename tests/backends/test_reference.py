"""The reference evaluates programs and functions by NumPy, and checks every type on the way."""

import ml_dtypes
import numpy as np
import pytest

import effax
from effax.backends.reference import table
from effax.backends.reference.evaluate import (
    Concrete,
    Reference,
    evaluate_program,
    interpret,
)
from effax.effects.effect import Effect
from effax.effects.errors import MissingRuleError, UnexpectedTracerError
from effax.effects.rows import (
    comparison,
    control,
    conversion,
    elementwise,
    linalg,
    random,
    reduction,
    shape,
    transcendental,
)
from effax.effects.types import ShapedArray
from effax.laws import program

twice = program(lambda c, x: [elementwise.add(c, x), elementwise.mul(c, x)], "f32[]", "f32[]")


def test_first_order_program():
    p = program(lambda x, y: [elementwise.mul(elementwise.add(x, 2.0), y)], "f32[3]", "f32[3]")
    (z,) = evaluate_program(p, np.arange(3.0), np.ones(3))
    assert z.dtype == np.float32
    np.testing.assert_array_equal(z, [2, 3, 4])


def test_scan():
    p = program(
        lambda c, x: control.scan(
            c, x, body=twice, consts=0, carry=1, length=3, reverse=False, unroll=1
        ),
        "f32[]",
        "f32[3]",
    )
    last, ys = evaluate_program(p, 1.0, np.array([1.0, 2.0, 3.0]))
    assert last == 7
    np.testing.assert_array_equal(ys, [1, 4, 12])


def test_scan_reversed_and_empty():
    def scan(c, x, reverse):
        n = x.shape[0]
        return control.scan(
            c, x, body=twice, consts=0, carry=1, length=n, reverse=reverse, unroll=1
        )

    last, ys = interpret(lambda c, x: scan(c, x, True))(np.float32(1), np.arange(1, 4, dtype="f4"))
    assert last == 7
    np.testing.assert_array_equal(ys, [6, 8, 3])
    last, ys = interpret(lambda c, x: scan(c, x, False))(np.float32(1), np.zeros(0, "f4"))
    assert (last, ys.shape) == (1, (0,))


def test_while():
    test = program(lambda n, i, x: [comparison.lt(i, n)], "i32[]", "i32[]", "f32[2]")
    body = program(
        lambda n, i, x: [elementwise.add(i, 1), elementwise.add(x, x)], "i32[]", "i32[]", "f32[2]"
    )

    def loop(n, x):
        # n is a constant of the condition and of the body.
        return control.while_loop(
            n, n, np.int32(0), x, cond=test, body=body, cond_consts=1, body_consts=1
        )

    count, x = interpret(loop)(np.int32(3), np.ones(2, "f4"))
    assert count == 3
    np.testing.assert_array_equal(x, [8, 8])


@pytest.mark.parametrize(("index", "expected"), [(-1, 1), (0, 1), (1, 4), (5, 4)])
def test_cond_clamps_its_index(index, expected):
    branches = (
        program(lambda x: [x], "f32[]"),
        program(lambda x: [elementwise.mul(x, 4.0)], "f32[]"),
    )
    (y,) = interpret(lambda i, x: control.cond(i, x, branches=branches))(
        np.int32(index), np.float32(1)
    )
    assert y == expected


@pytest.mark.parametrize("pivots", [[-(2**31), 1], [7, 1], [-1, 0]])
def test_pivots_outside_are_the_nearest_rows(pivots):
    p = program(lambda p: [linalg.pivots_to_permutation(p, size=2)], "i32[2]")
    pivots = np.array(pivots, np.int32)
    compiled = effax.jit(lambda p: linalg.pivots_to_permutation(p, size=2))(pivots)
    np.testing.assert_array_equal(evaluate_program(p, pivots)[0], compiled)


def test_low_precision_is_rounded_once():
    x = np.array([1.0, 2.0**-9, -1.0], ml_dtypes.bfloat16)
    total = interpret(lambda x: reduction.reduce_sum(x, axes=(0,)))(x)
    assert total.dtype == ml_dtypes.bfloat16
    assert float(total) == 2.0**-9  # 1 + 2**-9 is no bfloat16


def test_functions_and_transformations():
    def f(x):
        return reduction.reduce_sum(transcendental.sin(x), axes=(0,))

    x = np.arange(3.0, dtype="f4")
    np.testing.assert_allclose(interpret(effax.grad(f))(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(interpret(effax.jit(effax.grad(f)))(x), np.cos(x), rtol=1e-6)
    rows = np.arange(6.0, dtype="f4").reshape(2, 3)
    np.testing.assert_allclose(interpret(effax.vmap(f))(rows), np.sin(rows).sum(1), rtol=1e-6)


def test_values_can_be_branched_on():
    def f(x):
        return elementwise.neg(x) if comparison.lt(x, 0.0) else x

    assert interpret(f)(np.float32(-2)) == 2
    with Reference().installed():
        y = elementwise.add(np.int32(2), 1)
        assert (int(y), float(y), [10, 11, 12, 13][y], y.item()) == (3, 3.0, 13, 3)
        assert isinstance(y, Concrete)


def test_watch_sees_every_effect():
    seen = []
    f = interpret(
        lambda x: elementwise.mul(transcendental.sin(x), 2.0),
        watch=lambda effect, operands, attributes, results: seen.append((effect.name, results)),
    )
    y = f(np.float32(1))
    assert [name for name, _ in seen] == ["sin", "mul"]
    assert seen[-1][1][0] == y


def _effect(name, rule):
    effect = Effect(name, family="test", typing=lambda x: x)
    if rule is not None:
        table.rule(effect)(rule)
    return effect


@pytest.mark.parametrize(
    ("name", "rule", "found"),
    [
        ("wrong_shape", lambda x: x[1:], r"float32\[2\]"),
        ("wrong_kind", lambda x: x > 0, r"bool\[3\]"),
    ],
)
def test_results_are_checked(name, rule, found):
    effect = _effect(f"test_reference_{name}", rule)
    with pytest.raises(TypeError, match=f"{effect.name}.*{found}.*f32\\[3\\]"):
        interpret(effect)(np.zeros(3, "f4"))


def test_missing_rule_names_the_effect():
    effect = _effect("test_reference_missing", None)
    with pytest.raises(MissingRuleError, match="test_reference_missing"):
        interpret(effect)(np.zeros(3, "f4"))


def test_wrong_input():
    p = program(lambda x: [x], "f32[3]")
    with pytest.raises(TypeError, match=r"f32\[3\].*\(2,\)"):
        evaluate_program(p, np.zeros(2))


def test_escaped_value():
    kept = []
    interpret(lambda x: kept.append(effax.vmap(lambda y: kept.append(y) or y)(x)) or x)(
        np.ones(2, "f4")
    )
    with pytest.raises(UnexpectedTracerError), Reference().installed():
        transcendental.sin(kept[0])


def test_no_warnings_for_infinities():
    """NumPy's warnings are errors in this suite; infinities and wrapping are values."""
    assert np.isinf(interpret(lambda x: elementwise.div(1.0, x))(np.float32(0)))
    assert np.isnan(interpret(transcendental.log)(np.float32(-1)))
    big = np.int32(2**31 - 1)
    assert interpret(lambda x: elementwise.add(x, 1))(big) == -(2**31)


def test_types_of_results_are_typing():
    x = interpret(lambda x: conversion.convert_element_type(x, dtype=np.dtype("int8")))(
        np.float32(3.7)
    )
    assert (x.dtype, x) == (np.int8, 3)
    assert ShapedArray((), "int8") is ShapedArray(x.shape, x.dtype)


def test_bits_and_precision_of_a_double():
    """A scalar got an axis, the largest exponent overflowed in Python, broadcast state had no view."""
    with effax.enable_x64(True):
        one = np.float64(1.5)
        bits = interpret(lambda x: conversion.bitcast_convert_type(x, dtype=np.dtype("int64")))(one)
        assert bits.shape == () and bits == one.view(np.int64)
        same = interpret(
            lambda x: conversion.reduce_precision(x, exponent_bits=11, mantissa_bits=52)
        )
        np.testing.assert_array_equal(same(np.array([1.5, np.inf, 1e308])), [1.5, np.inf, 1e308])

    def drawn(key):
        state = shape.broadcast_in_dim(key, shape=(4,), dims=())
        kind = random.RandomAlgorithm.RNG_PHILOX
        how = dict(shape=(3,), dtype=np.dtype("uint32"), algorithm=kind)
        return random.rng_bit_generator(state, **how)[1]

    found = interpret(drawn)(np.uint32(5))
    np.testing.assert_array_equal(found, effax.jit(drawn)(np.uint32(5)))
