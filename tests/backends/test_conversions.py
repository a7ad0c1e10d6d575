"""Conversions in compiled programs: LLVM takes some pairs of them for a truncation."""

import ml_dtypes
import numpy as np
import pytest

import effax
import effax.numpy as jnp

VALUES = [-3.0, 5, -1.5, -0.5, -0.0, np.nan, np.inf, -np.inf, -3e9, 3e9, -(2.0**31), -1e30, 2.0**31]


def as_unsigned(x, signed, unsigned):
    return x.astype(signed).astype(unsigned)


def viewed(x, signed, unsigned):
    return x.astype(signed).view(unsigned)


@pytest.mark.parametrize("way", [as_unsigned, viewed])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("signed", "unsigned"), [("int32", "uint32"), ("int64", "uint64"), ("int64", "uint32")]
)
def test_negative_floats_wrap_around_where_the_integers_become_floats_again(
    way, dtype, signed, unsigned
):
    if way is viewed and signed[3:] != unsigned[4:]:
        pytest.skip("a view of another width has another shape")
    with effax.enable_x64(True), np.errstate(all="ignore"):
        xs = jnp.asarray(np.array(VALUES).astype(getattr(ml_dtypes, dtype, dtype)))
        integers = way(xs, signed, unsigned)
        compiled = effax.jit(lambda x: way(x, signed, unsigned).astype("float64"))
        np.testing.assert_array_equal(compiled(xs), np.asarray(integers).astype("float64"))
        assert compiled(xs)[0] == 2.0 ** int(unsigned[4:]) - 3
        for i in range(len(VALUES)):
            alone = effax.jit(lambda x: way(x, signed, unsigned)[::-1].astype("float32"))
            wanted = np.asarray(integers[i : i + 1]).astype("float32")
            np.testing.assert_array_equal(alone(xs[i : i + 1]), wanted)


def test_other_conversions_are_as_plain_as_they_were():
    def program(x):
        return x.astype("int32"), x.astype("uint32"), x.astype("int8").astype("uint8")

    written = effax.jit(program).lower(jnp.ones(3)).as_text()
    assert "select" not in written
    assert "negate" not in written
