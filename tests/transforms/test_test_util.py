"""check_grads accepts right derivatives of every mode and order, and finds wrong ones."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.test_util import check_grads


@effax.custom_jvp
def twice_its_tangent(x):
    return jnp.sin(x)


twice_its_tangent.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), 2 * tangents[0]))


@effax.custom_vjp
def wrong_backwards(x):
    return jnp.sin(x)


wrong_backwards.defvjp(lambda x: (jnp.sin(x), x), lambda x, c: (c * jnp.cos(x) * 1.1,))


def right(tree, y):
    return {"a": jnp.sin(tree["x"]) * y, "n": tree["n"]}, tree["x"] @ y


ARGS = {"x": np.array([0.3, -0.5, 2.0], "f4"), "n": 3}, np.array([1.0, 2.0, 0.5], "f4")


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
def test_right_derivatives_pass(order, modes):
    check_grads(right, ARGS, order=order, modes=modes, rtol=2e-2, atol=2e-2)


def test_complex_and_double():
    check_grads(lambda z: jnp.exp(z) * z, (np.complex64(0.3 + 0.4j),), order=2, atol=1e-2)
    with effax.enable_x64(True):
        check_grads(jnp.tanh, (np.linspace(-1, 1, 5),), order=2, rtol=1e-6)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_a_wrong_tangent_is_found(modes):
    with pytest.raises(AssertionError, match="tangent of the"):
        check_grads(twice_its_tangent, (0.7,), order=1, modes=modes)


def test_a_wrong_second_derivative_is_found():
    def wrong_slope(x):
        return x * twice_its_tangent(x) * 0

    check_grads(wrong_slope, (0.7,), order=1, modes=["fwd"])

    @effax.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda p, t: (f(p[0]), twice_its_cosine(p[0]) * t[0]))

    @effax.custom_jvp
    def twice_its_cosine(x):
        return jnp.cos(x)

    twice_its_cosine.defjvp(lambda p, t: (jnp.cos(p[0]), 3 * t[0]))
    check_grads(f, (0.7,), order=1)
    with pytest.raises(AssertionError, match="jvp of jvp of"):
        check_grads(f, (0.7,), order=2, modes=["fwd"])


def test_a_wrong_backward_rule_is_found():
    with pytest.raises(AssertionError, match="cotangent of the VJP"):
        check_grads(wrong_backwards, (0.7,), order=1, modes=["rev"])


def test_other_modes_are_refused():
    with pytest.raises(ValueError, match="'fwd' or 'rev'"):
        check_grads(jnp.sin, (0.7,), order=1, modes=["sideways"])
