"""Numbers below the least normal one, which threads of XLA's take for zeros."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.effects import config

SMALL = np.float32([1e-40, -1e-40, 1e-45, -5e-39, 1.1e-38, 0.0, -0.0, 2.0])
EXPONENTS = np.float32([-0.5, -3.0, 0.25, 0.5, -1.0])


@pytest.mark.parametrize("wrap", [lambda f: f, fx.jit])
def test_large_powers_and_roots_of_subnormal_numbers_are_numpys(wrap):
    x, y = np.resize(SMALL, 120_000), np.resize(EXPONENTS, 120_000)
    with np.errstate(all="ignore"):
        power = np.power(x.astype("float64"), y.astype("float64")).astype("float32")
    with config.fast_paths("all"):  # XLA's own forms take subnormal numbers for zeros
        np.testing.assert_allclose(wrap(jnp.power)(x, y), power, rtol=1e-6)
        np.testing.assert_allclose(wrap(jnp.cbrt)(x), np.cbrt(x), rtol=1e-6)
