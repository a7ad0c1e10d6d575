"""Sums of narrow floats are computed in float32, and rounded once.

In float16 the squares of 300 are infinite, and so are sums of 70 000 ones; in bfloat16 a sum of
ones ends at 256. JAX rounds in between in all of these.
"""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import nn, ops
from effax.scipy import stats

RISING = np.arange(-2500.0, 2500)
ONES = np.ones(70_000)
ZEROS = np.zeros(70_000, np.int32)
FUNCTIONS = {
    "std": (jnp.std, RISING),
    "nanstd": (jnp.nanstd, RISING),
    "sem": (stats.sem, RISING),
    "norm": (jnp.linalg.norm, RISING / 4),
    "norm of rows": (lambda x: jnp.linalg.norm(x.reshape(5, 1000), axis=1), RISING),
    "norm of a matrix": (lambda x: jnp.linalg.norm(x.reshape(50, 100)), RISING / 4),
    "vector_norm of order 3": (lambda x: jnp.linalg.vector_norm(x, ord=3), RISING / 4),
    "gradient of std": (effax.grad(jnp.std), RISING),
    "gradient of norm": (effax.grad(jnp.linalg.norm), RISING),
    "mean": (jnp.mean, ONES),
    "nanmean": (jnp.nanmean, ONES),
    "average": (lambda x: jnp.average(x, weights=x), ONES),
    "softmax": (nn.softmax, 0 * ONES),
    "log_softmax": (nn.log_softmax, 0 * ONES),
    "logsumexp": (nn.logsumexp, 0 * ONES),
    "standardize": (nn.standardize, RISING),
    "median": (jnp.median, np.full(4, 6e4)),
    "segment_sum": (lambda x: ops.segment_sum(x[:5001], ZEROS[:5001], 1), ONES),
    "segment_sum in buckets": (
        lambda x: ops.segment_sum(x[:5001], ZEROS[:5001], 1, bucket_size=1000),
        ONES,
    ),
    "bincount": (lambda x: jnp.bincount(ZEROS[:5001], weights=x[:5001], length=1), ONES),
    "histogram": (lambda x: jnp.histogram(x[:5001], bins=1)[0], ONES),
    "weighted histogram": (lambda x: jnp.histogram(x[:5001], 1, weights=x[:5001])[0], ONES),
    "slope of sinc": (effax.vmap(effax.grad(jnp.sinc)), np.linspace(0.03, 0.9, 30)),
}


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_narrow_floats_are_rounded_once(name, dtype):
    function, operand = FUNCTIONS[name]
    x = jnp.asarray(operand, dtype)
    found = function(x)
    assert found.dtype == dtype
    with effax.enable_x64(True):
        wanted = np.asarray(function(jnp.asarray(np.asarray(x).astype(np.float64))))
    units = 4 if "slope" not in name else 40
    bound = {"rtol": units * float(jnp.finfo(dtype).eps), "atol": 1e-7}
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), wanted, **bound)


def test_a_histogram_counts_more_than_float32_can():
    """2^24 + 1 is 2^24 in float32; ones that are added one by one end there, three do not."""
    with effax.enable_x64(True):
        x = jnp.zeros(2**24 + 3, "float32").at[0].set(1)
        counts, _ = jnp.histogram(x, 2)
    assert counts.tolist() == [2.0**24 + 2, 1]
