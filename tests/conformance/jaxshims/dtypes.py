"""jax._src.dtypes; what is not here comes from jax.dtypes or jax.numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import jaxshims
from jaxshims import _numerics as num

float0 = num.float0
bool_, int_, uint = np.bool_, np.int64, np.uint64
float_, complex_ = np.float64, np.complex128
bfloat16 = ml_dtypes.bfloat16

_float8_dtypes = num.FLOAT8[:2] + [np.dtype(ml_dtypes.float8_e8m0fnu)] + num.FLOAT8[2:]
_float4_dtypes = [np.dtype(ml_dtypes.float4_e2m1fn)]
_int_dtypes = [d for d in num.INTS + num.SMALL_INTS if num.kind_of(d) == "i"]
_weak_types = [int, float, complex]
_jax_types = (
    [np.dtype(bool)]
    + [d for d in num.SMALL_INTS + num.INTS]
    + num.FLOAT_TINY[:1]
    + num.FLOAT6
    + _float8_dtypes
    + [np.dtype(bfloat16)]
    + [np.dtype(f"float{n}") for n in (16, 32, 64)]
    + [np.dtype(f"complex{n}") for n in (64, 128)]
)

python_scalar_types = {bool, int, float, complex}
python_scalar_types_to_dtypes = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def default_int_dtype():
    return num.canonical(np.int64)


def default_uint_dtype():
    return num.canonical(np.uint64)


def default_float_dtype():
    return num.canonical(np.float64)


def default_complex_dtype():
    return num.canonical(np.complex128)


default_types = {
    "b": lambda: np.dtype(bool),
    "i": default_int_dtype,
    "u": default_uint_dtype,
    "f": default_float_dtype,
    "c": default_complex_dtype,
}


def itemsize_bits(dtype):
    public = jaxshims.target_attr("dtypes.itemsize_bits", None)
    if public is not None:
        return public(dtype)
    from jaxshims import lax_reference

    return lax_reference._bits(dtype)


def dtype(x):
    """The canonical dtype of a value, of a scalar type or of a dtype's name."""
    if x is None:
        raise ValueError("Invalid argument to dtype: None")
    if isinstance(x, type) and x in python_scalar_types:
        return num.canonical(python_scalar_types_to_dtypes[x])
    if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and issubclass(x, np.generic)):
        return _canonical_unless_allowed(x)
    if hasattr(x, "dtype"):
        d = num.as_np_dtype(x.dtype)
        return d if _is_target_value(x) else _canonical_unless_allowed(d)
    return num.canonical(num.dtype_of(x))


def _canonical_unless_allowed(dtype):
    from jaxshims import config

    if config.explicit_x64_dtypes.value == config.ExplicitX64Mode.ALLOW:
        return num.as_np_dtype(dtype)
    return num.canonical(dtype)


def _is_target_value(x):
    array = jaxshims.target_attr("Array", None)
    return array is not None and isinstance(x, array)


def is_weakly_typed(x):
    if type(x) in (int, float, complex):
        return True
    weak = getattr(x, "weak_type", None)
    if isinstance(weak, bool):
        return weak
    aval = getattr(x, "aval", None)
    return bool(getattr(aval, "weak_type", False))


def is_python_scalar(x):
    return type(x) in python_scalar_types


def to_inexact_dtype(dtype):
    dtype = np.dtype(dtype)
    kind = num.kind_of(dtype)
    if kind in "fc":
        return dtype
    return np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)


def to_floating_dtype(dtype):
    dtype = np.dtype(dtype)
    if num.kind_of(dtype) == "c":
        return np.finfo(dtype).dtype
    return to_inexact_dtype(dtype)


def to_complex_dtype(dtype):
    dtype = to_inexact_dtype(dtype)
    if num.kind_of(dtype) == "c":
        return dtype
    return np.dtype(np.complex128 if dtype == np.float64 else np.complex64)


def to_numeric_dtype(dtype):
    dtype = np.dtype(dtype)
    return np.dtype(np.int32) if dtype == np.bool_ else dtype


def canonicalize_value(x):
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype != float0:
        return np.asarray(x, num.canonical(x.dtype))
    return x


def supports_inf(dtype):
    dtype = np.dtype(dtype)
    if num.kind_of(dtype) not in "fc":
        return False
    with np.errstate(all="ignore"):
        return bool(
            np.isinf(
                np.array(np.inf)
                .astype(dtype)
                .astype(np.float64 if num.kind_of(dtype) == "f" else np.complex128)
            )
        )


def safe_to_cast(input_dtype_or_value, output_dtype_or_value):
    """Does promotion of the two give the output's dtype?"""
    if input_dtype_or_value is output_dtype_or_value:
        return True
    result_type = jaxshims.target_attr("dtypes.result_type")
    out = output_dtype_or_value
    if not (isinstance(out, type) and out in python_scalar_types):
        out = num.canonical(out)
    return result_type(input_dtype_or_value, out) == result_type(out)


for _name in (
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int1",
    "int2",
    "int4",
    "uint1",
    "uint2",
    "uint4",
):
    globals()[_name] = getattr(ml_dtypes, _name, None)
