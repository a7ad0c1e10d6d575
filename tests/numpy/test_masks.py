"""`where` of reductions: NumPy broadcasts the mask to the array's rank, and refuses a higher one."""

import numpy as np
import pytest

import effax.numpy as jnp

FOLDS = ["sum", "prod", "max", "min", "all", "any", "mean", "var", "std"]
NANS = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]
NEUTRAL = {"max": {"initial": 0}, "min": {"initial": 9}}


def words(name):
    return NEUTRAL.get(name.removeprefix("nan"), {})


@pytest.mark.parametrize("name", FOLDS + NANS)
@pytest.mark.parametrize(("of", "mask"), [((), (3,)), ((2,), (3, 2)), ((1, 2), (4, 3, 2))])
def test_a_mask_with_more_axes_is_refused(name, of, mask):
    """JAX sums some axes of the mask, effax summed all of them; NumPy refuses."""
    a, where = np.ones(of, np.float32), np.ones(mask, bool)
    with pytest.raises(ValueError, match=r"operand|broadcast|where"):
        getattr(np, name)(a, where=where, **words(name))
    with pytest.raises(ValueError, match="more axes than the array"):
        getattr(jnp, name)(a, where=where, **words(name))


@pytest.mark.parametrize("name", FOLDS + NANS)
@pytest.mark.parametrize("mask", [(), (3,), (2, 1), (1, 3)])
def test_a_mask_of_a_lower_rank_is_broadcast(name, mask):
    a, where = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(mask, bool)
    found = getattr(jnp, name)(a, axis=0, where=where, **words(name))
    np.testing.assert_allclose(found, getattr(np, name)(a, axis=0, where=where, **words(name)))


@pytest.mark.parametrize("nan", ["", "nan"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
def test_a_mask_that_is_not_boolean_is_refused_by_the_function_that_was_called(nan, name):
    name = nan + name
    initial = {"initial": 0.0} if name.endswith(("max", "min")) else {}
    with pytest.raises(ValueError, match=rf"jnp\.{name}: where must be None or a boolean array"):
        getattr(jnp, name)(jnp.ones(3), where=jnp.array([1, 0, 1]), **initial)
