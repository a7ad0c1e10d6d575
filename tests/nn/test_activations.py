"""Activations against their formulas in NumPy, their derivatives against differences."""

import math

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import nn

X = np.array([-7.5, -3.2, -1.3, -0.4, 0.2, 0.9, 2.1, 3.4, 6.5], np.float64)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


ERF = np.vectorize(math.erf)
FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "identity": lambda x: x,
    "squareplus": lambda x: (x + np.sqrt(x**2 + 4)) / 2,
    "softplus": softplus,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "soft_sign": lambda x: x / (1 + abs(x)),
    "sigmoid": sigmoid,
    "sparse_sigmoid": lambda x: np.clip(x + 1, 0, 2) / 2,
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "log_sigmoid": lambda x: -softplus(-x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "gelu": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_derivatives(name):
    with effax.enable_x64(True):
        function, formula = getattr(nn, name), FORMULAS[name]
        np.testing.assert_allclose(function(X), formula(X), rtol=1e-10, atol=1e-12)
        eps = 1e-6
        slope = (formula(X + eps) - formula(X - eps)) / (2 * eps)
        np.testing.assert_allclose(effax.vmap(effax.grad(function))(X), slope, atol=1e-7)
        np.testing.assert_allclose(effax.jit(function)(X), formula(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "x", "slope"),
    [
        ("relu", 0.0, 0.0),
        ("relu6", 0.0, 0.0),
        ("relu6", 6.0, 0.0),
        ("leaky_relu", 0.0, 1.0),
        ("elu", 0.0, 1.0),
        ("celu", 0.0, 1.0),
        ("softplus", 0.0, 0.5),
        ("hard_sigmoid", -3.0, 0.0),
    ],
)
def test_derivatives_at_kinks(name, x, slope):
    assert float(effax.grad(getattr(nn, name))(x)) == pytest.approx(slope)


@pytest.mark.parametrize("name", ["softplus", "log_sigmoid", "elu", "selu", "celu", "gelu", "mish"])
def test_far_out_nothing_overflows(name):
    far = np.array([-1e4, 1e4], np.float32)
    assert np.isfinite(np.asarray(getattr(nn, name)(far))).all()
    assert np.isfinite(np.asarray(effax.vmap(effax.grad(getattr(nn, name)))(far))).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dtypes_are_kept(dtype):
    x = jnp.asarray(X, dtype)
    assert all(getattr(nn, name)(x).dtype == x.dtype for name in FORMULAS)


def test_exact_gelu_and_log1mexp():
    with effax.enable_x64(True):
        wanted = X * (1 + ERF(X / math.sqrt(2))) / 2
        np.testing.assert_allclose(nn.gelu(X, approximate=False), wanted, rtol=1e-9, atol=1e-12)
        positive = np.array([1e-9, 0.1, 0.6, 0.8, 30.0])
        wanted = np.where(
            positive < 0.7, np.log(-np.expm1(-positive)), np.log1p(-np.exp(-positive))
        )
        np.testing.assert_allclose(nn.log1mexp(positive), wanted, rtol=1e-9)
        slope = effax.vmap(effax.grad(nn.log1mexp))(positive)
        np.testing.assert_allclose(slope, 1 / np.expm1(positive), rtol=1e-7)


def test_glu():
    x = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(nn.glu(x), x[:, :2] * sigmoid(x[:, 2:]), rtol=1e-6)
    with pytest.raises(ValueError, match="even"):
        nn.glu(x[:, :3])


def test_lists_are_refused():
    with pytest.raises(TypeError, match="relu"):
        nn.relu([1.0, 2.0])


def test_squareplus_of_booleans_has_the_dtype_of_what_is_added():
    assert nn.squareplus(jnp.array(True), jnp.bfloat16(2)).dtype == jnp.bfloat16
    assert nn.squareplus(True, 4).dtype == jnp.float32
