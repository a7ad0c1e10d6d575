"""Each mistake raises JAX's class of error, and the message says what was found and what to do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)

HERE = "test_bad_input.py"


def refused(error, match, function, *args, **keywords):
    with pytest.raises(error, match=match) as caught:
        function(*args, **keywords)
    return str(caught.value)


def test_shapes_that_do_not_match():
    refused((TypeError, ValueError), r"\(3,\).*\(4,\)", jnp.add, jnp.ones(3), jnp.ones(4))
    refused(TypeError, r"\(3,\).*\(4,\)", lax.add, jnp.ones(3), jnp.ones(4))
    refused(TypeError, r"contract|shape", jnp.dot, jnp.ones((2, 3)), jnp.ones((2, 3)))


def test_dtypes_that_do_not_match():
    refused(TypeError, "float32.*int32", lax.add, jnp.ones(3), jnp.arange(3))


def test_wrong_axes():
    refused(ValueError, r"axis 2", jnp.sum, jnp.ones((2, 3)), axis=2)
    refused((ValueError, TypeError), r"axis|reshape|size", jnp.reshape, jnp.ones(3), (2, 2))


def test_traced_boolean_in_if():
    def f(x):
        return x if x > 0 else -x

    message = refused(TracerBoolConversionError, "lax.cond", effax.jit(f), 1.0)
    assert HERE in message
    refused(TracerBoolConversionError, "jnp.where", effax.vmap(f), jnp.ones(3))
    for count in (0, 3):  # whatever the elements are
        refused(ValueError, "ambiguous", effax.jit(f), jnp.ones(count))
    assert float(effax.grad(f)(-2.0)) == -1.0


@pytest.mark.parametrize("transform", [effax.jit, effax.grad, effax.vmap])
def test_a_traced_value_is_no_static_argument(transform):
    scaled = effax.jit(lambda n, x: n * x, static_argnums=0)
    refused(
        ValueError,
        "not known while",
        transform(lambda x: scaled(x, 2.0)),
        jnp.ones(3)[0 if transform is effax.grad else slice(3)],
    )


def test_traced_integer_and_array_conversions():
    refused(TracerIntegerConversionError, "static", effax.jit(lambda i: [1, 2, 3][i]), 1)
    refused(TracerArrayConversionError, "effax.numpy", effax.jit(lambda x: np.sin(x)), 1.0)
    refused(ConcretizationTypeError, "static", effax.jit(lambda x: float(x)), 1.0)


def test_leaked_carrier():
    kept = []

    def f(x):
        kept.append(x * 2.0)
        return x

    effax.jit(f)(1.0)
    message = refused(UnexpectedTracerError, "a traced value", lambda: kept[0] + 1.0)
    assert HERE in message
    effax.vmap(f)(jnp.ones(3))
    refused(UnexpectedTracerError, "a value mapped by vmap", lambda: jnp.sin(kept[1]))
    effax.grad(lambda x: f(x) * 1.0)(1.0)
    refused(
        UnexpectedTracerError,
        "a value (that is differentiated|with a tangent)",
        lambda: jnp.sin(kept[2]),
    )
    refused(
        UnexpectedTracerError,
        "a traced value",
        lambda: effax.jit(lambda: kept[0] + 1.0)(),
    )


def test_grad_of_what_has_no_gradient():
    refused(TypeError, r"scalar-output.*\(3,\)", effax.grad(lambda x: x), jnp.ones(3))
    refused(TypeError, "int32", effax.grad(lambda x: x * 1.0), 3)
    refused(TypeError, "int32", effax.grad(lambda x: jnp.int32(x)), 3.0)
    refused(TypeError, "complex", effax.grad(lambda x: x), 1j)
    refused(TypeError, "argnums|callable", effax.grad, 3.0)
    refused(TypeError, "argnums=2", effax.grad(lambda x: x, argnums=2), 1.0)


def test_ragged_vmap():
    message = refused(
        ValueError, "^vmap got inconsistent sizes", effax.vmap(jnp.add), jnp.ones(3), jnp.ones(4)
    )
    assert "x of type float32[3]" in message and "y of type float32[4]" in message
    refused(ValueError, "rank", effax.vmap(jnp.sin), 1.0)
    refused(ValueError, "in_axes", effax.vmap(jnp.add, in_axes=(0,)), jnp.ones(3), jnp.ones(3))
    refused(ValueError, "axis_size", effax.vmap(jnp.sin, in_axes=None), jnp.ones(3))
    refused(ValueError, "out_axes", effax.vmap(jnp.sin, out_axes=None), jnp.ones(3))


def test_unhashable_static_argument():
    f = effax.jit(lambda n, x: x, static_argnums=0)
    refused(ValueError, "[Hh]ashable.*tuple", f, [1, 2], 1.0)


def test_leaves_that_are_no_arrays():
    message = refused(TypeError, "static_argnums", effax.jit(lambda x: x), {"a": "text"})
    assert "['a']" in message
    refused(TypeError, "return arrays", effax.jit(lambda x: "text"), 1.0)
    refused((TypeError, ValueError), "str|text", jnp.sin, "text")
    refused(TypeError, "list", jnp.sin, [1.0, 2.0])


def test_branches_and_bodies_of_different_types():
    x = jnp.ones(3)
    message = refused(
        TypeError, "equal output types", lax.cond, True, lambda v: v, lambda v: v.sum(), x
    )
    assert "f32[3]" in message and "f32[]" in message
    refused(
        TypeError, "^cond branch outputs .*tree", lax.cond, True, lambda v: (v,), lambda v: v, x
    )
    message = refused(TypeError, "carry", lax.scan, lambda c, _: (c[:1], None), x, None, length=2)
    assert "f32[3]" in message and "f32[1]" in message
    refused(TypeError, "carry", lax.while_loop, lambda v: True, lambda v: (v, v), x)
    refused(TypeError, "boolean", lax.while_loop, lambda v: v, lambda v: v, 1.0)
    refused(TypeError, "scalar", lax.cond, x > 0, lambda v: v, lambda v: v, x)
    refused(ValueError, "length", lax.scan, lambda c, _: (c, c), 0.0)


def test_writing_to_an_array():
    x = jnp.ones(3)

    def write():
        x[0] = 1.0

    refused(TypeError, r"\.at\[", write)

    def traced(x):
        x[0] = 1.0

    refused(TypeError, r"\.at\[", effax.jit(traced), x)


def test_donated_array_used_again():
    f = effax.jit(lambda x: x + 1.0, donate_argnums=0)
    x = jnp.ones(1000) * 1.0
    f(x)
    assert x.is_deleted()
    refused(RuntimeError, "deleted", lambda: x + 1.0)
    refused(RuntimeError, "deleted", lambda: np.asarray(x))


def test_unbound_axis_name():
    refused(NameError, "unbound axis name: i", lambda: lax.psum(jnp.ones(()), "i"))
    refused(NameError, "unbound axis name: i", effax.jit(lambda x: lax.psum(x, "i")), 1.0)


def test_structure_of_cotangents():
    _, pull = effax.vjp(lambda x: (x, x), 1.0)
    refused(ValueError, "[Tt]ree", pull, 1.0)
    _, pull = effax.vjp(jnp.sin, jnp.ones(3))
    refused(ValueError, r"f32\[2\].*f32\[3\]", pull, jnp.ones(2))
    refused(TypeError, "tree", effax.jvp, jnp.add, (1.0, 2.0), (1.0,))
    refused(ValueError, r"f32\[2\]", effax.jvp, jnp.sin, (jnp.ones(3),), (jnp.ones(2),))


def test_custom_rules_that_are_missing_or_wrong():
    f = effax.custom_jvp(lambda x: x)
    refused(AttributeError, "defjvp", f, 1.0)
    g = effax.custom_vjp(lambda x: x)
    refused(AttributeError, "defvjp", g, 1.0)
    f.defjvp(lambda p, t: p[0])
    refused(TypeError, "pair", effax.grad(f), 1.0)
    g.defvjp(lambda x: (x, None), lambda r, ct: ct)
    refused(TypeError, "tuple", effax.grad(g), 1.0)
    h = effax.custom_vjp(lambda x: x)
    h.defvjp(lambda x: (x, None), lambda r, ct: (jnp.sin(ct),))
    refused(ValueError, "linear.*sin", effax.jvp, h, (1.0,), (1.0,))


def test_switch_and_scan_say_what_they_were_given() -> None:
    with pytest.raises(TypeError, match="Index type must be an integer, got <function"):
        lax.switch(lambda x: x, [lambda x: x], 1.0)
    with pytest.raises(TypeError, match=r"scan body output must be a pair, got float32\[\]\."):
        lax.scan(lambda c, x: jnp.float32(0.0), 0.0, jnp.arange(2.0))


def test_platforms_of_plugins_may_be_named() -> None:
    found = lax.platform_dependent(1.0, other=lambda x: x / 0, default=lambda x: x + 1.0)
    assert float(found) == 2.0
    with pytest.raises(NotImplementedError, match="for other only"):
        lax.platform_dependent(1.0, other=lambda x: x)


@pytest.mark.parametrize(
    "convert",
    [float, complex, math.sin, math.floor, lambda x: x.tolist(), "%.2f".__mod__],
    ids=["float", "complex", "math", "floor", "tolist", "percent"],
)
def test_python_numbers_of_what_is_differentiated_are_refused(convert):
    """They were made, and the derivative through them was zero."""
    with pytest.raises(effax.errors.ConcretizationTypeError, match=r"derivative .* zero"):
        effax.grad(lambda x: x * jnp.asarray(convert(x)))(2.0)
    with pytest.raises(effax.errors.ConcretizationTypeError):
        effax.jvp(lambda x: (convert(x), x)[1], (2.0,), (1.0,))


def test_what_a_derivative_cannot_change_may_become_a_python_number():
    def f(x, n):
        kept = float(lax.stop_gradient(x)), x.item(), int(x), bool(x > 1), float(n)
        return x * sum(kept)

    assert float(effax.grad(f)(2.0, 3.0)) == 2 + 2 + 2 + 1 + 3


def test_a_policy_returns_a_verdict():
    def gradient(policy):
        return effax.grad(effax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=policy))(1.0)

    policies = effax.checkpoint_policies
    for maker in ("save_only_these_names", "save_any_names_but_these", "save_from_both_policies"):
        with pytest.raises(TypeError, match=f"policy={maker}"):
            gradient(getattr(policies, maker))
    for verdict in (None, 1, "yes"):
        with pytest.raises(TypeError, match=f"returned {verdict!r} for sin"):
            gradient(lambda *_, verdict=verdict, **__: verdict)
    with pytest.raises(TypeError, match=r"got \['a'\]"):
        policies.save_only_these_names(["a"])
    assert gradient(lambda *_, **__: np.bool_(True)) == gradient(None)


@pytest.mark.parametrize("result", [lambda x: {"loss": x}, lambda x: [x], lambda x: (x,)])
def test_a_gradient_is_of_a_scalar_and_not_of_a_tree_of_one(result):
    with pytest.raises(TypeError, match=r"scalar-output functions.*1 leaf"):
        effax.value_and_grad(result)(1.0)


def test_defjvps_wants_a_rule_for_each_argument():
    for rules in ([lambda t, ans, x, y: t * y], [None, None, None]):
        f = effax.custom_jvp(lambda x, y: x * y)
        f.defjvps(*rules)
        with pytest.raises(ValueError, match=f"2 arguments but has {len(rules)} rules"):
            effax.grad(f, 1)(1.0, 2.0)


def test_types_without_a_value_may_be_arguments_that_nothing_reads():
    struct = effax.ShapeDtypeStruct((2,), jnp.float32)
    longer = effax.jit(lambda x, like: x + like.shape[0])
    for _ in range(3):
        assert float(longer(1.0, struct)) == float(longer(1.0, jnp.ones(2))) == 3
    assert float(effax.jit(effax.grad(lambda x: longer(x, struct) ** 2))(1.0)) == 6
    assert effax.vmap(longer, in_axes=(0, None))(jnp.ones(2), struct).tolist() == [3, 3]
    added = effax.jit(lambda x, like: x + like)
    for call in (lambda: added(1.0, struct), lambda: effax.jit(lambda x: added(x, struct))(1.0)):
        with pytest.raises(TypeError, match=r"argument like is .* a type without a value"):
            call()


def test_a_mesh_without_devices_is_that_in_context():
    mesh = effax.make_mesh((1,), ("a",), axis_types=(effax.sharding.AxisType.Auto,))
    asked = effax.NamedSharding(mesh.abstract_mesh, effax.P("a"))
    with effax.set_mesh(mesh):
        made = effax.jit(lambda x: x + 1, out_shardings=asked)(jnp.ones(2))
        assert made.sharding == effax.NamedSharding(mesh, effax.P("a"))
        assert effax.device_put(jnp.ones(2), asked).sharding == made.sharding
    with pytest.raises(ValueError, match="has no devices"):
        effax.jit(lambda x: x + 1, out_shardings=asked)(jnp.ones(2))
