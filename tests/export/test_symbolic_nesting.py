"""Exported functions called with symbolic lengths, while another function is exported."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import effax
import effax.numpy as jnp
from effax import export
from effax.errors import ExportError

X = np.arange(3.0 * 4 * 12, dtype="float32").reshape(3, 4, 12)


def flat(x):
    return jnp.reshape(x, (-1, x.shape[1]))


def exported(function, *texts, **options):
    """A function exported for arrays of these shapes, each of a scope of its own."""
    types = [effax.ShapeDtypeStruct(export.symbolic_shape(t), "float32") for t in texts]
    return export.export(effax.jit(function), **options)(*types)


def around(inner):
    return lambda x: inner.call(x) + flat(x)


@pytest.mark.parametrize(
    ("inner", "outer", "result"),
    [
        ("3, a, b", "3, 4, c", "f32[3*c,4]"),
        ("3, a, b", "3, b, a", "f32[3*a,b]"),
        ("3, 4, 3*a", "3, 4, 6*c", "f32[18*c,4]"),
        ("3, a, a + 8", "3, c + 2, c + 10", "f32[3*c + 30,c + 2]"),
        ("3, 4, 12", "3, 4, 12", "f32[36,4]"),
        ("3, a, b", "3, 4, 12", "f32[36,4]"),
    ],
)
def test_lengths_of_the_inner_are_those_of_the_outer(inner, outer, result):
    made = exported(around(exported(flat, inner)), outer)
    assert [t.str_short() for t in made.out_avals] == [result]
    for e in (made, export.deserialize(made.serialize())):
        assert_allclose(e.call(X), 2 * flat(X))


@pytest.mark.parametrize(
    ("inner", "outer", "message"),
    [
        ("3, a, a + b", "3, 4, c", r"Expected value >= 1 for dimension variable 'b'.*'b' = c - 4"),
        ("3, a, a + b", "3, c, c", r"Expected value >= 1 for dimension variable 'b'.*'b' = 0 from"),
        ("3, a, a", "3, 4, c", r"args\[0\].shape\[2\] \(= c\) and the specification 'a' \(= 4\)"),
        ("3, 4, 5*a", "3, 4, c", r"had remainder mod\(c, 5\) when computing the value of 'a'"),
        ("3, 4, 5*a", "3, 4, 12", r"had remainder 2 when computing the value of 'a'"),
        ("3, a, b", "c, 4, 12", r"args\[0\].shape\[0\] \(expected same constant\)"),
        ("3, 4, 12", "3, c, 12", r"args\[0\].shape\[1\] \(expected same constant\)"),
    ],
)
def test_what_does_not_hold_for_all_lengths_is_refused(inner, outer, message):
    with pytest.raises(ExportError, match=message):
        exported(around(exported(flat, inner)), outer)


def test_constraints_of_the_inner_must_follow_from_those_of_the_outer():
    def bounded(text):
        (n,) = export.symbolic_shape("n", constraints=[text])
        return effax.ShapeDtypeStruct((n,), "float32")

    inner = export.export(effax.jit(jnp.sin))(bounded("n <= 8"))
    outer = export.export(effax.jit(inner.call))
    assert outer(bounded("n <= 4")).call(jnp.zeros(3)).shape == (3,)
    with pytest.raises(ExportError, match=r"constraint n <= 8\. .* to be greater or equal to 0"):
        outer(bounded("n <= 9"))


def test_results_of_computed_lengths():
    def shaped(x):
        n = x.shape[0]
        longest = export.symbolic_shape("max(n - 5, 0)", scope=n.scope)[0]
        return jnp.ones((n + n, n - n, n * n, (n + 13) // n, (n + 13) % n, longest))

    outer = exported(exported(shaped, "n").call, "a")
    assert [t.str_short() for t in outer.out_avals] == [
        "f32[2*a,0,a^2,floordiv(a + 13, a),mod(a + 13, a),max(a - 5, 0)]"
    ]
    assert outer.call(jnp.ones(5)).shape == (10, 0, 25, 3, 3, 0)


def test_gradients_and_platforms():
    platforms = ["cpu", "cuda"]
    inner = exported(lambda x: jnp.sin(x) * x.shape[0], "b, 2", platforms=platforms)
    function = effax.jit(lambda x: (inner.call(x) + inner.call(2 * x)).sum())
    outer = exported(function, "c, 2", platforms=platforms)
    x = jnp.linspace(0, 1, 6).reshape(3, 2)
    wanted = 3 * (jnp.cos(x) + 2 * jnp.cos(2 * x))
    for e in (outer, export.deserialize(outer.serialize(vjp_order=1))):
        assert_allclose(e.call(x), 3 * (jnp.sin(x) + jnp.sin(2 * x)).sum(), rtol=1e-6)
        assert_allclose(effax.grad(e.call)(x), wanted, rtol=1e-6)


def test_a_call_with_known_lengths_beside_symbolic_ones():
    inner = exported(jnp.sin, "b")
    function = effax.jit(lambda x, y: x.sum() + inner.call(y).sum())
    (n,) = export.symbolic_shape("n")
    types = [effax.ShapeDtypeStruct((k,), "float32") for k in (n, 3)]
    assert_allclose(export.export(function)(*types).call(jnp.ones(2), jnp.zeros(3)), 2.0)
