"""Conversions in compiled programs: LLVM takes some pairs of them for a truncation."""

import warnings

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


NARROW = [
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
]


def of(dtype):
    """Some numbers of a dtype: all of 16 bits; of more, those about the ties of narrow floats."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if dtype.kind == "i":
        return np.arange(-70000, 70000).astype(dtype)
    if dtype.itemsize < 4:
        count = 1 << ml_dtypes.finfo(dtype).bits
        return np.arange(count, dtype=f"u{dtype.itemsize}").view(dtype)
    exponents, parts = np.meshgrid(np.arange(-24, 20.0), 1 + np.arange(64) / 64)
    about = np.ldexp(parts, exponents.astype(int)).ravel().astype(dtype)
    sides = [about, np.nextafter(about, dtype.type(0)), np.nextafter(about, dtype.type(np.inf))]
    sizes = np.concatenate([*sides, np.array([0, np.inf, np.nan, 1e30, 3.4998, 1e-40], dtype)])
    return np.concatenate([sizes, -sizes])


def nearest(x, dtype):
    """The numbers that `ml_dtypes` makes of others: of float64 by way of float32, rounded to odd."""
    if x.dtype == np.float64:
        single = x.astype("float32")
        inexact = (single.astype("float64") != x) & np.isfinite(single)
        bits = np.where(abs(single) > abs(x), single.view("i4") - 1, single.view("i4"))
        x = np.where(inexact, bits | 1, single.view("i4")).astype("i4").view("float32")
    return x.astype("float32").astype(dtype)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "given", ["float32", "float64", "bfloat16", "float16", "int32", "float8_e4m3fn", "float8_e5m2"]
)
def test_narrow_floats_are_the_nearest(given, dtype):
    """In operations alone, in programs and in loops, with the sign of zero."""
    narrow = np.dtype(getattr(ml_dtypes, dtype))
    with effax.enable_x64(True), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of casts that overflow, by ml_dtypes
        x = of(given)
        wanted = nearest(x, narrow).astype("float64")
        wanted[np.isnan(x.astype("float32")) & (dtype == "float4_e2m1fn")] = 0.0  # it has no NaN
        xs = jnp.asarray(x)
        found = {
            "alone": xs.astype(narrow),
            "reversed": effax.jit(lambda x: x[::-1].astype(narrow))(xs)[::-1],
            "back": effax.jit(lambda x: x.astype(narrow).astype("float64"))(xs),
        }
        if dtype != "float8_e5m2fnuz":  # XLA reads its numbers below 2**-14 wrongly in a loop
            loop = effax.jit(
                lambda x: effax.lax.map(lambda e: e.astype(narrow).astype("float64"), x)
            )
            found["in a loop"] = loop(xs)
    nan = np.isnan(x.astype("float32"))
    for way, y in found.items():
        y = np.asarray(y).astype("float64")
        y[nan & (y == 0)] = 0.0
        np.testing.assert_array_equal(y, wanted, err_msg=way)
        np.testing.assert_array_equal(
            np.signbit(y[y == 0]), np.signbit(wanted[y == 0]), err_msg=way
        )


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_become_integers(dtype):
    x = of(dtype)
    x = x[np.isfinite(x.astype("float32"))]
    wanted = x.astype("float32").astype("int32")
    np.testing.assert_array_equal(jnp.asarray(x).astype("int32"), wanted)
    np.testing.assert_array_equal(effax.jit(lambda x: x.astype("int32"))(x), wanted)
