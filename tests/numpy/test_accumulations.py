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


@pytest.mark.parametrize("name", ["cumsum", "nancumsum", "cumulative_sum"])
@pytest.mark.parametrize("dtype, bound", [("bfloat16", 4e-3), ("float16", 5e-4)])
def test_narrow_floats_are_added_up_in_float32(name, dtype, bound):
    """One by one in bfloat16 they were wrong by 4e-2."""
    x = jnp.abs(jnp.sin(jnp.arange(8192.0))).astype(dtype)
    found = getattr(jnp, name)(x)
    assert found.dtype == x.dtype
    wanted = np.cumsum(np.asarray(x).astype(np.float64))
    np.testing.assert_allclose(np.asarray(found).astype(np.float64), wanted, rtol=bound)


def test_the_trapezoid_rule_adds_narrow_floats_in_float32():
    y = jnp.abs(jnp.sin(jnp.arange(8192.0))).astype("bfloat16")
    wanted = np.trapezoid(np.asarray(y).astype(np.float64))
    np.testing.assert_allclose(float(jnp.trapezoid(y)), wanted, rtol=4e-3)
