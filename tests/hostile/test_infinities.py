"""Decompositions of matrices with an infinity end; LAPACK's singular values would go on forever."""

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

CODE = """
import sys
import effax as fx, effax.numpy as jnp
f = {
    "svd": jnp.linalg.svd,
    "svdvals": jnp.linalg.svdvals,
    "pinv": jnp.linalg.pinv,
    "by_qr": lambda x: fx.lax.linalg.svd(x, algorithm=fx.lax.linalg.SvdAlgorithm.QR),
}[sys.argv[1]]
for dtype in ("float32", "complex64"):
    x = jnp.arange(24.0).reshape(2, 4, 3).at[1, 2, 0].set(-jnp.inf).astype(dtype)
    for y in fx.tree.leaves(f(x)):
        assert not jnp.isnan(y[0]).any() and jnp.isnan(y[1]).all(), y
"""


@pytest.mark.parametrize("name", ["svd", "svdvals", "pinv", "by_qr"])
def test_singular_values_of_infinities_are_not_numbers(name):
    done = subprocess.run(
        [sys.executable, "-c", CODE, name], cwd=ROOT, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr[-800:]
