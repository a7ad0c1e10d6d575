"""The sorting family, in every column."""

import ml_dtypes
import numpy as np
import pytest

import effax.numpy as jnp
from effax.effects.dtypes import is_inexact
from tests.samples import checks
from tests.samples.sorting import SAMPLES

IDS = [f"{effect}-{i}" for i, (effect, *_) in enumerate(SAMPLES)]
SMOOTH = [
    s
    for s in SAMPLES
    if all(np.isfinite(x).all() and np.size(x) for x in s[1])
    and any(is_inexact(np.asarray(x).dtype) and np.asarray(x).dtype.kind == "f" for x in s[1])
]


@pytest.mark.parametrize(("effect", "operands", "attributes"), SAMPLES, ids=IDS)
def test_xla_agrees_with_the_reference(effect, operands, attributes):
    checks.check_reference(effect, operands, attributes)


@pytest.mark.parametrize(
    ("effect", "operands", "attributes"), [s for s in SAMPLES if s[1]], ids=lambda x: str(x)[:20]
)
def test_batches(effect, operands, attributes):
    checks.check_batch(effect, operands, attributes)


@pytest.mark.parametrize(("effect", "operands", "attributes"), SMOOTH, ids=lambda x: str(x)[:20])
def test_derivatives(effect, operands, attributes):
    checks.check_derivative(effect, operands, attributes)


@pytest.mark.parametrize("dtype", ["float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e4m3b11fnuz"])
def test_a_nan_is_last_where_its_bits_are_those_of_minus_zero(dtype):
    """JAX 0.10 sorts it before all numbers."""
    x = np.array([[np.nan, 1, -2.5], [0, np.nan, 3]]).astype(getattr(ml_dtypes, dtype))
    found = jnp.sort(jnp.asarray(x)).astype("float32")
    np.testing.assert_array_equal(found, [[-2.5, 1, np.nan], [0, 3, np.nan]])
    np.testing.assert_array_equal(jnp.argsort(jnp.asarray(x)), [[2, 1, 0], [0, 2, 1]])
