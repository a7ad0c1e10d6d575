"""Accumulations of single numbers: one axis, as NumPy has it, and no other."""

import numpy as np
import pytest

import effax.numpy as jnp

NAMES = ["cumsum", "cumprod", "nancumsum", "nancumprod"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_a_number_has_one_axis(name, axis):
    wanted = getattr(np, name)(np.float32(2), axis=axis)
    np.testing.assert_array_equal(getattr(jnp, name)(2.0, axis=axis), wanted, strict=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axis", [1, -2, (), (0, 1)])
def test_a_number_has_no_other_axis(name, axis):
    """Any axis was taken."""
    with pytest.raises((ValueError, TypeError)):
        getattr(np, name)(2.0, axis=axis)
    with pytest.raises((ValueError, TypeError)):
        getattr(jnp, name)(2.0, axis=axis)
