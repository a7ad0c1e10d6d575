"""Numbers in even spacing: the same compiled and not, and made where they are used."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp

RANGES = [
    *((5,), (0,), (-3,), (5.5,), (2, 9), (2.0, 9.5), (9, 2, -2), (9.0, 2.0, -3.0), (0, 1, 0.25)),
    *((0, 300, 7), (0, 3000), (2, 2050), (300, 900, 200), (-5, -900, -200), (0, 70000, 3)),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64", "int32", "int8"])
@pytest.mark.parametrize("numbers", RANGES)
def test_arange_is_the_same_compiled(numbers, dtype):
    found = jnp.arange(*numbers, dtype=dtype)
    expected = np.arange(*numbers)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(fx.jit(lambda: jnp.arange(*numbers, dtype=dtype))(), found)
    if dtype in ("float32", "complex64", "int32") and found.dtype.kind != "i":
        np.testing.assert_array_equal(found, expected.astype(dtype))


def test_unsigned_numbers_go_down():
    down = fx.jit(lambda: jnp.arange(9, 2, -2, dtype="uint8"))()
    assert down.tolist() == [9, 7, 5, 3]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_a_program_holds_no_numbers_that_it_can_count(dtype):
    text = fx.jit(lambda x: x + jnp.arange(8, dtype=dtype)).lower(jnp.ones(8, dtype)).as_text()
    assert "stablehlo.iota" in text
    assert text.count("%a") == text.count("%a0")
