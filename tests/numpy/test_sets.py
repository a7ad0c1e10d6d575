"""Sets of elements, as NumPy has them."""

import numpy as np
import pytest

import effax.numpy as jnp


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64", "bool"])
def test_elements_taken_for_unique_are_left_out_where_neighbours_are_equal(dtype):
    """The sorted elements decide, as in NumPy, also where the promise does not hold."""
    rng = np.random.default_rng(0)
    for lengths in ((4, 4), (8, 1), (0, 3), (0, 0), (1, 0)):
        a, b = (rng.integers(0, 5, n).astype(dtype) for n in lengths)
        wanted = np.setxor1d(a, b, assume_unique=True)
        np.testing.assert_array_equal(jnp.setxor1d(a, b, assume_unique=True), wanted)
