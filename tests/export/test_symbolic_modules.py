"""Modules of symbolic lengths check the sizes of a call themselves, for readers that do not."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import export
from effax.backends.xla import artifact
from effax.effects.types import float0
from effax.errors import ExportError


def struct(*shape, dtype="float32"):
    return effax.ShapeDtypeStruct(shape, dtype)


def refined(exported, *types):
    """The module for operands of these types, as a reader refines it that makes no checks."""
    return artifact.functions(exported.mlir_module_serialized, lambda name: f"f_{name}", types)[0]


@pytest.fixture(scope="module")
def exported():
    b, n = export.symbolic_shape("b, n", constraints=["b <= 8", "mod(n, 2) == 0"])
    f = effax.jit(lambda x, y: (x.sum(axis=0), y.sum()))
    return export.export(f)(struct(2 * b, n), struct(n))


def test_a_module_says_that_its_lengths_are_unknown(exported):
    head = exported.mlir_module().splitlines()[0]
    assert "jax.uses_shape_polymorphism = true" in head
    static = export.export(effax.jit(jnp.sin))(struct(3))
    assert "polymorphism" not in static.mlir_module()


def test_sizes_that_fit_are_refined(exported):
    texts = "\n".join(refined(exported, "tensor<6x4xf32>", "tensor<4xf32>"))
    assert "tensor<6x4xf32>" in texts and "shape_assertion" not in texts and "?" not in texts


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((5, 4, 4), r"axis 0 has the length 2\*b, which is 4, and was called with 5"),
        ((1, 4, 4), r"called with 1, where b = 0; it must be an integer of 1 or more"),
        ((6, 4, 6), r"operand 1, f32\[n\]: axis 0 has the length n, which is 4, .* with 6"),
        ((18, 4, 4), r"violate the constraint b <= 8: the left side is 9, the right side is 8"),
        ((6, 3, 3), r"the constraint mod\(n, 2\) == 0: the left side is 1, the right side is 0"),
    ],
)
def test_a_module_refuses_other_sizes_by_itself(exported, sizes, message):
    a, b, c = sizes
    with pytest.raises(ExportError, match=message):
        refined(exported, f"tensor<{a}x{b}xf32>", f"tensor<{c}xf32>")


def test_the_derivative_of_integers_of_symbolic_lengths():
    (b,) = export.symbolic_shape("b")

    def f(x, i):
        return jnp.sort(x[i]) * 2.0, jnp.argsort(x), i + 1

    exported = export.export(effax.jit(f))(struct(b), struct(b, dtype="int32"))
    read = export.deserialize(exported.serialize(vjp_order=1))
    for n in (1, 4):
        x, i = jnp.arange(n, dtype="float32"), jnp.zeros(n, "int32")
        nothing = np.zeros(n, float0)
        found = read.vjp().call(x, i, jnp.ones(n), nothing, nothing)
        _, pull = effax.vjp(f, x, i)
        wanted = pull((jnp.ones(n), nothing, nothing))
        assert np.array_equal(found[0], wanted[0])
        assert found[1].dtype == wanted[1].dtype == float0 and found[1].shape == (n,)
