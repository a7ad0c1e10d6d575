"""Errors of everyday mistakes say what was given, and where."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax


def factorial(n):
    return jnp.where(n <= 1, 1, n * jitted(n - 1))


jitted = effax.jit(factorial)


def written(x):
    array = np.zeros(2)
    array[:] = x


def wrong(x):
    return x.astype(int)


MISTAKES = {
    "where: a scalar's shape": (
        lambda: jnp.where(jnp.ones(3) > 0, jnp.ones(4), 0.0), ValueError, r"\(3,\), \(4,\), \(\)",
    ),
    "stack: shapes": (lambda: jnp.stack([jnp.ones(3), jnp.ones(4)]), ValueError, r"\(3,\), \(4,\)"),
    "debug.print: fields": (
        lambda: effax.debug.print("{} {}", 1), IndexError, "'{} {}', needs more values than the 1 given",
    ),
    "cond: both branches, as they are called": (
        lambda: lax.cond(True, jnp.sin, wrong, 1.0), TypeError,
        r"true_fun is sin; false_fun is wrong at tests/errors/test_common_words.py:\d+\..*"
        r"true_fun has type float32\[\] but the .* of false_fun has type int32\[\].*astype",
    ),
    "cond: a place without a result": (
        lambda: lax.cond(True, lambda x: (x, None), lambda x: (x, x), 1.0), TypeError,
        "same tree; where one has nothing to return it returns zeros",
    ),
    "cond: shapes of one size": (
        lambda: lax.cond(True, lambda x: x, lambda x: x[None], jnp.ones(3)), TypeError,
        r"return the same shapes \(jnp.reshape\)\.\n",
    ),
    "cond: lengths and dtypes": (
        lambda: lax.cond(True, lambda x: x, lambda x: wrong(x[:2]), jnp.ones(3)), TypeError,
        r"return the same shapes \(jnp.pad, or a slice\) and dtypes \(.astype\)\.\n",
    ),
    "cond: ranks": (
        lambda: lax.cond(True, lambda x: x, lambda x: jnp.ones((2, 2)), jnp.ones(3)), TypeError,
        r"return the same shapes\.\n",
    ),
    "jit: numbers as objects": (
        lambda: effax.jit(abs)(np.array([1, 2.5], object)), TypeError, r"convert it .* x.astype\(float\)\n",
    ),
    "jit: lists as objects": (
        lambda: effax.jit(jnp.sum)({"b": np.array([[1], [2, 3]], object)}), TypeError,
        r"a list of its elements, a\['b'\].tolist\(\)\n",
    ),
    "jit: text in a tree": (
        lambda: effax.jit(jnp.sum)([np.array(["b"])]), TypeError,
        "holds text, so take it out of a and pass a tuple of its elements as a static argument",
    ),
    "jit: records": (
        lambda: effax.jit(abs)(np.zeros(1, [("a", int)])), TypeError, r"x\[name\] for name in x.dtype.names",
    ),
    "jit: a set": (lambda: effax.jit(jnp.sum)({1}), TypeError, "pass a frozenset as a static argument"),
    "concatenate, stack: an array as axis": (
        lambda: jnp.stack(jnp.ones(3), jnp.ones(3)), TypeError, r"got an array f32\[3\]. Pass all arrays as one list",
    ),
    "dstack: shapes as given": (
        lambda: jnp.dstack([jnp.ones((3, 2)), jnp.ones((4, 2))]), TypeError, r"f32\[3,2\] as f32\[3,2,1\] and f32\[4,2\] as f32",
    ),
    "NumPy: writing": (
        lambda: effax.jit(written)(jnp.ones(2)), TypeError, r"Write array = jnp.asarray\(array\).at\[...\].set",
    ),
    "NumPy: on several lines": (
        lambda: effax.jit(lambda x: np.sin(
            x,
        ))(1.0), TypeError, "Call the function of effax.numpy instead of numpy's",
    ),
    "a condition on several lines": (
        lambda: effax.jit(lambda x, y: x if (
            x > 0 and
            y > 0) else y)(1.0, 2.0), TypeError, "Write & . ~ for .*, with comparisons in parentheses; or make x static",
    ),
    "recursion": (lambda: jitted(3), RecursionError, "factorial at .*calls itself.*fori_loop"),
    "None": (lambda: effax.jit(lambda x: x - None)(1.0), TypeError, "'Traced<.*>' and 'NoneType'"),
    "None first": (lambda: effax.jit(lambda x: None - x)(1.0), TypeError, "'NoneType' and 'Traced<"),
    "text": (lambda: effax.jit(lambda x: x + "a")(1.0), TypeError, "'Traced<.*>' and 'str'"),
    "deleted": (lambda: deleted() + 1, RuntimeError, r"deleted with shape=float32\[2\].*donate"),
    "has_aux": (
        lambda: effax.grad(lambda x: x * x, has_aux=True)(3.0), TypeError,
        r"it returned Traced<f32\[\]> of grad, with value 9.0",
    ),
    "static": (
        lambda: effax.jit(lambda n: effax.jit(lambda m: m, static_argnums=0)(n))(1), ValueError,
        r"argument 0 of a jitted function is Traced<i32\[\]> of jit",
    ),
    "in_axes": (
        lambda: effax.vmap(lambda p: p, in_axes=({"b": 0},))({"a": jnp.ones(3)}), ValueError,
        r"vmap in_axes\[0\]\n",
    ),
    "out_axes": (
        lambda: effax.vmap(lambda x: x, out_axes=(0, 0))(jnp.ones(3)), ValueError, "PytreeLeaf",
    ),
    "jvp": (
        lambda: effax.jvp(lambda p: p, ({"a": 1.0},), ({"b": 1.0},)), TypeError,
        r"PyTreeDef\(\({'a': \*},\)\), tangents PyTreeDef\(\({'b': \*},\)\)",
    ),
    "in_specs": (
        lambda: effax.shard_map(
            lambda a, b: a, in_specs=(effax.P("x"),), out_specs=effax.P("x"),
            mesh=effax.make_mesh((1,), ("x",), devices=effax.devices()[:1]),
        )(jnp.ones(4), jnp.ones(4)), ValueError, "shard_map in_specs\n.*length 1.*length 2",
    ),
}  # fmt: skip


def deleted():
    x = jnp.ones(2)
    x.delete()
    return x


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message(name):
    call, kind, said = MISTAKES[name]
    with pytest.raises(kind, match=rf"(?s){said}") as caught:
        call()
    assert caught.value.__cause__ is None
    for word in ("Variable", "Stage", "Dual", "Batched", "INVALID_ARGUMENT"):
        assert word not in str(caught.value)


def test_arrays_still_compare_with_none_and_repeat_texts():
    assert (jnp.ones(1) == None) is False  # noqa: E711
    assert effax.jit(lambda x: x if x != None else -x)(1.0) == 1  # noqa: E711
    assert "ab" * jnp.int32(2) == "abab"


def test_a_jitted_function_may_call_itself_with_other_types():
    @effax.jit
    def total(xs):
        return xs[0] + total(xs[1:]) if len(xs) else 0.0

    assert total([1.0, 2.0, 3.0]) == 6
