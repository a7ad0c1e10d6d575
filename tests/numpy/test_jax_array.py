"""Objects with `__jax_array__` stand for what it returns, where a function takes arrays."""

import numpy as np
import pytest

import effax
import effax.lax as lax
import effax.numpy as jnp
from effax.tree import leaves


class Held:
    """An array in an object, as a library's parameter is."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


effax.tree_util.register_pytree_node(Held, lambda h: ((h.value,), None), lambda _, c: Held(*c))


class Unregistered(Held):
    """The same, of a class that is no tree."""


FUNCTIONS = {
    "one executable": lambda x: jnp.matmul(x, x),
    "in a list": lambda x: jnp.concatenate([x, x]),
    "a row": lambda x: jnp.array([x, [[5.0, 6.0], [7.0, 8.0]]]),
    "in a keyword": lambda x: jnp.sum(a=x),
    "an activation": lambda x: effax.nn.softmax(x),
    "parts": lambda x: jnp.split(x, 2),
    "rolled": lambda x: jnp.roll(x, 1, axis=0),
    "padded": lambda x: jnp.pad(x, 1, constant_values=x),
    "contracted": lambda x: jnp.tensordot(x, x, 1),
    "linear algebra": lambda x: jnp.linalg.matrix_transpose(x),
    "a frequency": lambda x: jnp.fft.fftshift(x),
    "segments": lambda x: effax.ops.segment_sum(x, np.array([0, 0]), 2),
    "looked at": lambda x: (jnp.shape(x), jnp.ndim(x), jnp.size(x), jnp.iscomplexobj(x)),
    "copied": lambda x: jnp.copy(x),
    "cast": lambda x: jnp.astype(x, "int32"),
    "cast by lax": lambda x: lax.convert_element_type(x, "int32"),
    "its diagonal": lambda x: jnp.fill_diagonal(x, X[0], inplace=False),
    "chosen from": lambda x: effax.random.choice(effax.random.key(0), x),
    "set": lambda x: jnp.zeros((3, 2, 2)).at[-1].set(x),
    "added in a slice": lambda x: jnp.ones((3, 2)).at[1:].add(x),
    "put where a mask holds": lambda x: jnp.zeros((3, 2, 2)).at[np.arange(3) > 1].max(x),
    "lengths by elements": lambda x: jnp.trim_zeros(x),
}
X = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")


def assert_same(found, wanted):
    for one, other in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [Held, Unregistered])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_object_is_taken_for_its_array(name, kind):
    f = FUNCTIONS[name]
    assert_same(f(kind(jnp.asarray(X))), f(X))


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"lengths by elements"}))
def test_an_object_is_taken_for_the_traced_value_that_it_holds(name):
    f = FUNCTIONS[name]
    assert_same(effax.jit(lambda x: f(Held(x)))(X), f(X))


def test_a_derivative_goes_through_an_object():
    def f(x):
        return jnp.sum(jnp.matmul(Held(x), Held(x)))

    np.testing.assert_array_equal(effax.grad(f)(X), effax.grad(lambda x: jnp.sum(x @ x))(X))


def test_lax_dtype_takes_dtypes_and_their_names():
    assert lax.dtype(jnp.dtype("int8")) == lax.dtype("int8") == lax.dtype(jnp.int8) == "int8"
    assert lax.dtype(float) == lax.dtype(X) == "float32"
    with pytest.raises(ValueError, match="None"):
        lax.dtype(None)


def test_an_object_without_axes_is_a_scalar():
    assert jnp.isscalar(Held(X[0, 0])) and not jnp.isscalar(Held(X))
