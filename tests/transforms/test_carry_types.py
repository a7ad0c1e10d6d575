"""Errors of carries and branches show both trees side by side; weak types are promoted as in JAX."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

X = np.arange(3, dtype=np.float32)
F = np.float32(0.0)


def refused(match, function, *args, **keywords):
    with pytest.raises(TypeError, match=match) as caught:
        function(*args, **keywords)
    lines = str(caught.value).splitlines()
    header = next((i for i, line in enumerate(lines) if " | " in line), 1)
    return lines[header - 1 :]


def test_structures_side_by_side():
    init = {"a": 1.0, "b": [2.0, 3]}
    lines = refused(
        "same pytree structure",
        lax.scan,
        lambda c, x: ({"a": c["a"], "z": (x, x)}, x),
        init,
        X,
    )
    assert lines[1].split() == ["carry", "in", "|", "carry", "out"]
    assert [line.split("  <-- ")[0].split() for line in lines[2:5]] == [
        ["['a']", "f32[]", "|", "f32[]"],
        ["['b']", "list(f32[],", "i32[])", "|", "(nothing)"],
        ["['z']", "(nothing)", "|", "tuple(f32[],", "f32[])"],
    ]
    assert len({line.index("|") for line in lines[1:5]}) == 1  # columns


def test_another_container_of_the_same_leaves():
    lines = refused("structure", lax.while_loop, lambda c: True, lambda c: tuple(c), [1.0, 2.0])
    row = "(the whole) list(f32[], f32[]) | tuple(f32[], f32[]) <-- different structure"
    assert lines[2].split() == row.split()
    lines = refused("structure", lax.fori_loop, 0, 3, lambda i, c: (c[0], None), (1.0, 2.0))
    assert any("None" in line and "<-- different structure" in line for line in lines)


def test_types_side_by_side():
    lines = refused(
        "equal types",
        lax.scan,
        lambda c, x: ({"a": jnp.ones((2, 3), jnp.bfloat16), "b": c["b"]}, x),
        {"a": F, "b": F},
        X,
    )
    assert lines[2].split("  <-- ")[1] == "different shape, different dtype"
    assert "bf16[2,3]" in lines[2] and "<--" not in lines[3]
    lines = refused(
        "branch 0 is sin; branch 2 is <lambda> at",
        lax.switch,
        0,
        [jnp.sin, jnp.cos, lambda x: x > 0],
        F,
    )
    assert lines[2].split() == [
        "(the",
        "whole)",
        "f32[]",
        "|",
        "bool[]",
        "<--",
        "different",
        "dtype",
    ]


WEAK = {
    "an integer that becomes a float": (lambda c, x: (c + x, x), 0, "float32", False),
    "an integer that becomes an integer": (lambda c, x: (c + np.int32(1), x), 0, "int32", False),
    "a number that stays": (lambda c, x: (1.0, x), F, "float32", True),
    "a number that is another": (lambda c, x: (1.0, x), 0, "float32", None),
}


@pytest.mark.parametrize("name", WEAK)
def test_weak_types_are_promoted(name):
    step, init, dtype, weak = WEAK[name]
    carry = lax.scan(step, init, X)[0]
    assert carry.dtype == dtype
    assert weak is None or carry.weak_type == weak


def test_strong_types_are_not():
    refused("equal types", lax.scan, lambda c, x: (c + x, x), np.int32(0), X)
    refused("equal types", lax.scan, lambda c, x: (1, x), 0.0, X)
    refused("equal types", lax.while_loop, lambda c: c < 3, lambda c: c.astype(int), F)
    assert float(lax.while_loop(lambda c: c < 3, lambda c: c + 1.5, 0)) == 3.0


def test_arguments_of_loops():
    refused("equal types", lax.fori_loop, jnp.int32(0), jnp.uint8(3), lambda i, c: c, 0)
    refused("interpreted as an integer", lax.scan, lambda c, x: (c, x), 0.0, X, unroll=1.5)
    assert isinstance(lax.scan(lambda c, x: [c, x], 0.0, X), list)
    assert lax.map(lambda x: 2 * x, X, batch_size=0).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="batch_size must not be negative"):
        lax.map(lambda x: x, X, batch_size=-1)
    assert int(lax.cond(True, lambda x: 1, lambda x: 2, operand=None)) == 1
    refused("positional operands", lax.switch, 0, [jnp.sin], 1.0, operand=1.0)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [2, 3, 5, 7, 9, True])
def test_unrolling_with_a_rest(unroll, reverse):
    xs = np.arange(7, dtype=np.float32)

    def f(xs, unroll):
        return lax.scan(lambda c, a: (c * 0.5 + a, c), 1.0, xs, reverse=reverse, unroll=unroll)

    one, other = (jnp.append(ys, c) for c, ys in (f(xs, unroll), f(xs, 1)))
    np.testing.assert_array_equal(one, other)
    text = effax.jit(lambda xs: f(xs, unroll)).lower(xs).as_text()
    assert text.count("stablehlo.while") == (unroll is not True and unroll < 7)
