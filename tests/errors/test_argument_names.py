"""Errors about values that are not known name the arguments that these depend on."""

from dataclasses import dataclass

import pytest

import effax
import effax.numpy as jnp
from effax import errors, lax

BOOL, INT = errors.TracerBoolConversionError, errors.TracerIntegerConversionError


def branch(params, x):
    y = params["w"] * x
    return y if params["b"] > 0 else -y


PARAMS = {"w": 1.0, "b": 2.0}
ONE, TWO = jnp.float32(1), jnp.float32(2)
CASES = {
    "a leaf of a tree": (
        lambda: effax.jit(branch)(PARAMS, 1.0),
        ["the function branch at tests/errors/test_argument_names.py:", " for jit.",
         "the value of the argument params['b']."],
    ),
    "a keyword": (
        lambda: effax.jit(branch)(PARAMS, x=1.0), ["the argument params['b']."],
    ),
    "two arguments": (
        lambda: effax.jit(lambda x, *rest: max(x, rest[1]))(1.0, 2.0, 3.0),
        ["the values of the arguments x and rest[1]."],
    ),
    "static ones before it": (
        lambda: effax.jit(lambda n, x: x if x > n else n, static_argnums=0)(1, 2.0),
        ["the argument x.", "static_argnames='x'"],
    ),
    "a carry": (
        lambda: lax.scan(lambda c, x: (c if c[0] > c[1] else c[::-1], x), (ONE, TWO), None, length=2),
        ["for scan", "the values of the arguments c[0] and c[1]"],
    ),
    "a branch": (
        lambda: lax.cond(True, lambda x: x if x > 0 else -x, lambda x: x, 1.0),
        ["for cond", "the argument x."],
    ),
    "a loop's condition": (
        lambda: lax.while_loop(lambda n: n > 0 and n < 9, lambda n: n, 1),
        ["for while_loop", "the argument n."],
    ),
    "checkpoint": (lambda: effax.checkpoint(branch)(PARAMS, 1.0), ["for checkpoint", "params['b']"]),
    "make_jaxpr": (lambda: effax.make_jaxpr(branch)(PARAMS, 1.0), ["params['b']"]),
    "closed over by a loop": (
        lambda: effax.jit(
            lambda n, x: lax.fori_loop(0, 3, lambda i, c: c if n > 0 else -c, x)
        )(1, 2.0),
        ["the argument n.", "static_argnames='n'"],
    ),
    "differentiated inside": (
        lambda: effax.jit(lambda p: effax.grad(lambda x: x if x > 0 else -x)(p["a"]))({"a": 1.0}),
        ["the argument p['a']."],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_argument_is_named(name):
    call, said = CASES[name]
    with pytest.raises(BOOL) as caught:
        call()
    for words in said:
        assert words in str(caught.value)


def test_arrays_are_not_advised_to_be_static():
    with pytest.raises(BOOL) as caught:
        effax.jit(lambda x: x if x.sum() > 0 else -x)(jnp.ones(3))
    assert "the argument x" in str(caught.value)
    assert "static_arg" not in str(caught.value)


def test_lanes_of_vmap_are_not_advised_to_be_static():
    with pytest.raises(BOOL, match=r"once for the whole batch.*in_axes=None") as caught:
        effax.vmap(lambda x, y: y if x > 0 else -y)(jnp.ones(3), jnp.ones(3))
    assert "static_arg" not in str(caught.value)


def test_the_only_mapped_argument_is_not_advised_to_be_unmapped():
    with pytest.raises(BOOL) as caught:
        effax.vmap(lambda x, y: y if x > 0 else -y, in_axes=(0, None))(jnp.ones(3), 1.0)
    assert "in_axes" not in str(caught.value)
    with pytest.raises(ValueError, match="rank should be at least 1") as caught:
        effax.vmap(lambda x, y: x)(1.0, 2.0)
    assert "in_axes" not in str(caught.value)
    with pytest.raises(ValueError, match=r"rank should be at least 1.*in_axes=None"):
        effax.vmap(lambda x, y: x)(1.0, jnp.ones(2))


def test_a_value_of_a_function_that_has_returned_says_so():
    kept = []
    effax.jit(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(errors.ConcretizationTypeError, match="it belongs to has returned"):
        float(kept[0])


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda n: jnp.zeros((n, 2)), TypeError),
        (lambda n: jnp.ones(6).reshape(n, -1), errors.ConcretizationTypeError),
        (lambda n: jnp.ones(3)[:n], IndexError),
        (lambda n: effax.random.normal(effax.random.key(0), (n,)), TypeError),
    ],
)
def test_shapes_and_slices_name_the_argument_too(call, kind):
    with pytest.raises(kind, match=r"the value of the argument n.*static_argnames='n'") as caught:
        effax.jit(call)(2)
    assert caught.value.__cause__ is None
    assert "test_argument_names.py:" in str(caught.value).partition(" there is ")[0]


def test_causes_have_the_users_frames_only():
    def loads(x):
        raise KeyError("missing")

    def wrapped(x):
        try:
            return effax.jit(loads)(x)
        except KeyError as error:
            raise ValueError("no such model") from error

    with pytest.raises(ValueError, match="no such model") as caught:
        effax.vmap(wrapped)(jnp.ones(2))
    step, files = caught.value.__cause__.__traceback__, set()
    while step is not None:
        files.add(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    assert files == {__file__}


def test_an_object_whose_method_is_jitted():
    class Layer:
        @effax.jit
        def apply(self, x):
            return x

    with pytest.raises(TypeError, match=r"whose method apply is.*register_pytree_node.*argnums=0"):
        Layer().apply(1.0)


def test_an_object_that_may_hold_arrays():
    class Parameters:
        pass

    @dataclass
    class Fields:
        pass

    for kind, way in ((Parameters, "pytree_node"), (Fields, "dataclass")):
        with pytest.raises(TypeError, match=rf"register_{way}.*the argument p of"):
            effax.grad(lambda p: 1.0)(kind())
    with pytest.raises(TypeError) as caught:
        jnp.sin("text")
    assert "register" not in str(caught.value)


def test_none_is_an_axis_of_its_own():
    """It was shown as a second mismatch."""
    with pytest.raises(ValueError, match=r"Mismatch details \(1 found\)"):
        effax.vmap(lambda p, x: x, in_axes=({"w": 0}, None))({"w": 1.0, "b": 1.0}, 1.0)


def test_an_array_of_jax():
    class ArrayImpl:
        __module__ = "jaxlib._jax"

        def __array__(self, dtype=None, copy=None):
            raise AssertionError

    with pytest.raises(TypeError, match=r"an array of JAX.*effax\.as_jax"):
        jnp.sin(ArrayImpl())
