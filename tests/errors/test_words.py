"""Messages that users of JAX know by heart, and look for: who is meant, and what to do."""

import re

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

F32 = jnp.float32
PAIR = (jnp.int32(0),) * 2


def returned(value):
    return lambda x, _: (value(x), None)


def bad_rule(x):
    @effax.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def f_jvp(primals, tangents):
        return jnp.zeros((3,)), tangents[0]

    return effax.jvp(effax.jit(f), (x,), (x,))


SAID = {
    "argument by name": (
        lambda: effax.vmap(lambda x1, x2, a3: x1 + x2 + a3)(
            jnp.ones(2), a3=jnp.ones(1), x2=jnp.ones(2)
        ),
        ValueError,
        "vmap got inconsistent sizes for array axes to be mapped:\n"
        r"  \* most axes \(2 of them\) had size 2, e.g. axis 0 of argument x1 of type float32\[2\];\n"
        r"  \* one axis had size 1: axis 0 of kwargs\['a3'\] of type float32\[1\]",
    ),
    "nothing to map": (lambda: effax.vmap(lambda x: x)({}), ValueError, "at least one argument containing an array"),
    "no place": (
        lambda: effax.vmap(lambda x: {"a": x}, out_axes=None, axis_name="i")(jnp.ones(2)),
        ValueError, r"mapped output \(axis_name=i\) but out_axes is None at vmap out_axes\['a'\]",
    ),
    "result of a step": (
        lambda: lax.scan(lambda c, x: (c, abs), 1, None, length=2), TypeError,
        "a result of function <lambda>: value <built-in function abs>",
    ),
    "rank": (
        lambda: effax.vmap(lambda x: x, in_axes=1, axis_size=1)(1.0), ValueError,
        "map its argument along axis 1.*rank should be at least 2",
    ),
    "axes prefix": (
        lambda: effax.vmap(lambda x: x, in_axes=([0],))(jnp.ones(3)), ValueError,
        "in_axes specification must be a tree prefix .*Mismatch details.*different types",
    ),
    "out axes": (
        lambda: effax.vmap(lambda x: x, out_axes=(jnp.ones(2),)), TypeError,
        "vmap out_axes must be an int, None, or",
    ),
    "no array of a batch": (
        lambda: effax.vmap(lambda x: "hello")(np.arange(5)), TypeError,
        "Output from batched function 'hello' .* is not a valid effax type",
    ),
    "two places": (
        lambda: effax.device_put({"a": F32(1), "b": F32(1)}, {"a": [None], "b": (None, None)}),
        ValueError, r"Mismatch details \(2 found\)",
    ),
    "carry type": (
        lambda: lax.scan(returned(lambda x: (x[0], x[1].astype("float32"))), PAIR, None, length=1),
        TypeError, r"component x\[1\] has type int32\[\] but .* float32\[\], so the dtypes do not",
    ),
    "carry tree": (
        lambda: lax.scan(returned(lambda x: (x[0],)), PAIR, None, length=1), TypeError,
        "The input carry x is a tuple of length 2 but the corresponding component",
    ),
    "branches": (
        lambda: lax.switch(1, [lambda _: {"a": 2.0}, lambda _: {"a": (3.0, 3.0)}], 1.0), TypeError,
        r"branch 0 output at path \['a'\] is a pytree leaf but branch1 output at path \['a'\] is a",
    ),
    "branch types": (
        lambda: lax.switch(1, [lambda _: jnp.ones(1), lambda _: jnp.ones(())], 1.0), TypeError,
        r"branch 0 has type float32\[1\] but .* branch1 has type float32\[\], so the shapes do not",
    ),
    "index": (lambda: lax.switch("foo", [abs, abs], 1.0), TypeError, "must be an integer, got foo"),
    "indices": (lambda: lax.switch((1, 1), [abs, abs], 1.0), TypeError, r"of shape \(2,\)"),
    "rule of another type": (
        lambda: bad_rule(F32(1)), TypeError,
        r"the result has the types\n    float32\[3\]\nand that of",
    ),
    "cast": (lambda: effax.jit(float)(1.0), TypeError, r"try using `x.astype\(float\)`"),
    "index of a list": (lambda: effax.jit(hex)(1), TypeError, r"__index__\(\) method was called"),
    "truth": (
        lambda: effax.jit(lambda x: 1 if x > 0 else 0)(1), TypeError,
        r"Attempted boolean conversion of traced array with shape bool\[\]\.[^\.]",
    ),
    "NumPy": (lambda: effax.jit(np.exp)(1.0), TypeError, "The numpy.ndarray conversion method"),
    "text": (lambda: effax.grad(lambda x: x)("foo"), TypeError, "value 'foo' of type <class 'str'>"),
    "argument of jit": (
        lambda: effax.jit(lambda x, y: x)(1.0, {"a": "foo"}), TypeError,
        r"Error interpreting argument .* at path y\['a'\]",
    ),
    "objects that become arrays": (
        lambda: effax.jit(lambda x: x)(type("A", (), {"__jax_array__": lambda _: F32(1)})()),
        ValueError, r"Triggering __jax_array__\(\) during abstractification .* argument x",
    ),
    "cotangents": (
        lambda: effax.vjp(jnp.sin, 1.0)[1](1.0, 1.0), TypeError, "applied to sin was called with 2",
    ),
    "static by position": (
        lambda: effax.pmap(lambda a, b: a, static_broadcasted_argnums=(1,))(jnp.ones(1), b=1),
        ValueError, r"static_broadcasted_argnums=\(1,\) but was called with only 1 positional",
    ),
    "float0": (
        lambda: lax.add(np.zeros((), effax.dtypes.float0), F32(0)), TypeError,
        "float0s do not support any operations",
    ),
    "contraction": (
        lambda: jnp.dot(jnp.ones(3), jnp.ones(4)), TypeError,
        r"contracting dimensions to have the same shape, got \(3,\) and \(4,\)",
    ),
    "sharding of a traced value": (
        lambda: effax.jit(lambda x: x.sharding)(1.0), AttributeError, r"typeof\(x\).sharding",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_the_message(name):
    call, kind, said = SAID[name]
    with pytest.raises(kind) as caught:
        call()
    assert re.search(said, str(caught.value), re.DOTALL), str(caught.value)


def test_a_vectorized_function_says_what_it_was():
    def f(x):
        """Does things."""

    assert re.match("Vectorized version of f.*Does things", effax.vmap(f).__doc__, re.DOTALL)
    f.__doc__ = None
    assert effax.vmap(f).__doc__ is None


REF = effax.new_ref(0.0)
ALIASES = {
    "jit": (
        lambda: effax.jit(lambda x_ref, y_ref: x_ref[...] + y_ref[...])(REF, REF),
        "both x_ref and y_ref",
    ),
    "vmap": (lambda: effax.vmap(lambda x, y: None)(MANY, MANY), "both x and y"),
    "cond": (
        lambda: lax.cond(True, lambda x1, x2: ..., lambda x1, x2: ..., REF, REF), "both x1 and x2",
    ),
    "scan": (
        lambda: lax.scan(lambda c, _: (None, None), (REF, REF), None, length=1),
        r"both c\[0\] and c\[1\]",
    ),
    "closure": (
        lambda: effax.jit(lambda y_ref: REF[...] + y_ref[...])(REF),
        "closed over and passed as the argument y_ref",
    ),
    "branch": (
        lambda: lax.cond(True, lambda y: REF[...] + y[...], lambda y: y[...], REF),
        "closed over and passed as the argument y",
    ),
}  # fmt: skip
MANY = effax.new_ref(jnp.zeros(3))


@pytest.mark.parametrize("name", ALIASES)
def test_a_reference_given_twice_is_named(name):
    call, where = ALIASES[name]
    with pytest.raises(ValueError, match=f"only one reference to a mutable array.*{where}"):
        call()


def test_arrays_on_the_cpu_have_no_cuda_interface():
    with pytest.raises(AttributeError, match=r"only defined for .*GPU buffers"):
        _ = jnp.ones(1).__cuda_array_interface__
    assert not hasattr(jnp.ones(1), "__cuda_array_interface__")
