"""Products inside of functions follow `default_matmul_precision`, or need all digits and say so."""

import re

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import nn
from effax.scipy.optimize import minimize
from effax.scipy.sparse.linalg import bicgstab, cg, gmres

X = jnp.asarray(np.random.default_rng(0).standard_normal((2, 4, 2, 8)), "float32")
MATRIX = jnp.eye(8) + 0.1


def precisions(f, *args):
    return set(re.findall(r"precision = \[([^]]*)\]", effax.jit(f).lower(*args).as_text()))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: nn.dot_product_attention(x, x, x),
        lambda x: nn.dot_product_attention(x, x[:, :, :1], x[:, :, :1]),
        lambda x: jnp.cov(x[0, 0]),
        lambda x: jnp.corrcoef(x[0, 0]),
    ],
    ids=["attention", "grouped", "cov", "corrcoef"],
)
def test_the_default_precision_holds_inside(f):
    """Attention and covariances were in TF32 on GPUs whatever was asked for."""
    assert precisions(f, X) == {"DEFAULT, DEFAULT"}
    with effax.default_matmul_precision("highest"):
        assert precisions(f, X) == {"HIGHEST, HIGHEST"}
        assert precisions(effax.grad(lambda x: f(x).sum()), X) == {"HIGHEST, HIGHEST"}


@pytest.mark.parametrize("solve", [cg, bicgstab, gmres])
def test_solvers_need_all_digits(solve):
    assert precisions(lambda b: solve(lambda x: 2 * x, b)[0], X[0, 0, 0]) == {"HIGHEST, HIGHEST"}


def test_minima_need_all_digits():
    f = lambda b: minimize(lambda x: (x**2).sum(), b, method="BFGS").x  # noqa: E731
    assert precisions(f, X[0, 0, 0]) == {"HIGHEST, HIGHEST"}


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_narrow_operands_stay_narrow(mode):
    """XLA for GPUs took a float for what it was before it was made narrow."""
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    text = effax.jit(
        lambda x: nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
    )
    assert text.lower(jnp.ones((4, 32))).as_text().count("stablehlo.optimization_barrier") == 2
