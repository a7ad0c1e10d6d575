"""Annotations of jaxtyping, `Float[Array, "n d"]`, on arrays and on what stands for them."""

import pytest

import effax
import effax.numpy as jnp
from effax import Array

jaxtyping = pytest.importorskip("jaxtyping")
Float, Int = jaxtyping.Float, jaxtyping.Int

HOLDING = {
    'Float[Array, "n d"]': Float[Array, "n d"],
    'Float32[Array, "2 3"]': jaxtyping.Float32[Array, "2 3"],
    'Shaped[Array, "..."]': jaxtyping.Shaped[Array, "..."],
    'Inexact[Array, "_ 3"]': jaxtyping.Inexact[Array, "_ 3"],
}
FAILING = {
    'Float[Array, "n"]': Float[Array, "n"],
    'Float[Array, "n n"]': Float[Array, "n n"],
    'Float[Array, "2 4"]': Float[Array, "2 4"],
    'Int[Array, "n d"]': Int[Array, "n d"],
    'Float16[Array, "n d"]': jaxtyping.Float16[Array, "n d"],
}


def seen_by(transform, x):
    """The values that a function sees under a transform."""
    seen = []
    transform(lambda y: (seen.append(y), y.sum())[1])(x)
    return seen[0]


WAYS = {
    "eager": lambda f: f,
    "jit": effax.jit,
    "grad": effax.grad,
    "vmap": lambda f: lambda x: effax.vmap(f)(x[None]),
    "eval_shape": lambda f: lambda x: effax.eval_shape(f, x),
    "jit of grad": lambda f: effax.jit(effax.grad(f)),
}


@pytest.mark.parametrize("way", WAYS)
def test_annotations_hold_for_values_of_their_shape_and_dtype(way):
    x = seen_by(WAYS[way], jnp.ones((2, 3)))
    assert [name for name, kind in HOLDING.items() if not isinstance(x, kind)] == []
    assert [name for name, kind in FAILING.items() if isinstance(x, kind)] == []


@pytest.mark.parametrize(
    "dtype",
    [jnp.bfloat16, jnp.float8_e4m3fn, jnp.int4, jnp.uint8, jnp.bool_, jnp.complex64],
    ids=str,
)
def test_dtypes_have_their_names(dtype):
    x = jnp.zeros(2, dtype)
    kinds = {"f": "Float", "V": "Float", "i": "Int", "u": "UInt", "b": "Bool", "c": "Complex"}
    name = "Int" if x.dtype.name == "int4" else kinds[x.dtype.kind]
    wanted = getattr(jaxtyping, name)[Array, "2"]
    assert isinstance(x, wanted)
    assert isinstance(effax.jit(lambda y: y)(x), wanted)


def test_names_of_axes_are_compared_across_parameters():
    @jaxtyping.jaxtyped(typechecker=None)
    def product(a, b):
        assert isinstance(a, Float[Array, "n k"])
        assert isinstance(b, Float[Array, "k m"])
        return a @ b

    x = jnp.ones((2, 3))
    assert effax.jit(product)(x, x.T).shape == (2, 2)
    with pytest.raises(AssertionError):
        effax.jit(product)(x, x)
