"""Dtypes, tolerances and comparisons shared by the shims (numpy only)."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import jaxshims

float0 = np.dtype([("float0", np.void, 0)])

bfloat16 = np.dtype(ml_dtypes.bfloat16)


def _ml(*names):
    return [np.dtype(getattr(ml_dtypes, n)) for n in names if hasattr(ml_dtypes, n)]


FLOAT8 = _ml(
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
)
FLOAT_TINY = _ml("float4_e2m1fn", "float8_e8m0fnu")
FLOAT6 = _ml("float6_e2m3fn", "float6_e3m2fn")
SMALL_INTS = _ml("int1", "int2", "int4", "uint1", "uint2", "uint4")
CUSTOM_FLOATS = [bfloat16] + FLOAT8 + FLOAT_TINY + FLOAT6

INTS = [np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)]

DEFAULT_TOLERANCE = {d: 0 for d in [float0, np.dtype(bool)] + INTS + SMALL_INTS}
DEFAULT_TOLERANCE.update({d: 1e-1 for d in FLOAT8})
DEFAULT_TOLERANCE.update({d: 1.0 for d in FLOAT_TINY})
DEFAULT_TOLERANCE.update(
    {
        bfloat16: 1e-2,
        np.dtype(np.float16): 1e-3,
        np.dtype(np.float32): 1e-6,
        np.dtype(np.float64): 1e-15,
        np.dtype(np.complex64): 1e-6,
        np.dtype(np.complex128): 1e-15,
    }
)

DEFAULT_GRADIENT_TOLERANCE = {d: 1e-1 for d in FLOAT8}
DEFAULT_GRADIENT_TOLERANCE.update({d: 1.0 for d in FLOAT_TINY})
DEFAULT_GRADIENT_TOLERANCE.update(
    {
        bfloat16: 1e-1,
        np.dtype(np.float16): 1e-2,
        np.dtype(np.float32): 2e-3,
        np.dtype(np.float64): 1e-5,
        np.dtype(np.complex64): 1e-3,
        np.dtype(np.complex128): 1e-5,
    }
)


def as_dict(tol) -> dict:
    if tol is None:
        return {}
    if isinstance(tol, dict):
        return {np.dtype(k): v for k, v in tol.items()}
    return {k: tol for k in DEFAULT_TOLERANCE}


def tolerance(dtype, tol=None, default=None):
    """The tolerance for ``dtype``: out of ``tol`` (number or dict) or default."""
    default = DEFAULT_TOLERANCE if default is None else default
    if tol is None:
        pass
    elif isinstance(tol, dict):
        by_dtype = as_dict(tol)
        if dtype in by_dtype:
            return by_dtype[dtype]
    else:
        return tol
    return default.get(np.dtype(dtype), 0)


def kind_of(dtype) -> str:
    """'b', 'i', 'u', 'f', 'c', 'V' or 'O'; bfloat16 and friends are 'f'."""
    dtype = np.dtype(dtype)
    if dtype in CUSTOM_FLOATS:
        return "f"
    if dtype in SMALL_INTS:
        return "u" if dtype.name.startswith("u") else "i"
    return dtype.kind


def wide(dtype):
    """A dtype in which numpy can do arithmetic on values of ``dtype``."""
    dtype = np.dtype(dtype)
    kind = kind_of(dtype)
    if kind == "f" and (dtype in CUSTOM_FLOATS or dtype.itemsize < 4):
        return np.dtype(np.float32)
    if dtype in SMALL_INTS:
        return np.dtype(np.int32)
    return dtype


def x64_enabled() -> bool:
    config = jaxshims.target_attr("config")
    for name in ("jax_enable_x64", "x64_enabled"):
        try:
            return bool(getattr(config, name))
        except AttributeError:
            pass
    return False


_NARROW = {
    np.dtype(np.int64): np.dtype(np.int32),
    np.dtype(np.uint64): np.dtype(np.uint32),
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}


def canonical(dtype):
    """64-bit dtypes become 32-bit ones when x64 is off."""
    dtype = as_np_dtype(dtype)
    if x64_enabled():
        return dtype
    return _NARROW.get(dtype, dtype)


def is_extended(dtype) -> bool:
    return (
        not isinstance(dtype, np.dtype)
        and not isinstance(dtype, type)
        and hasattr(dtype, "type")
        and hasattr(dtype, "itemsize") is False
    )


def as_np_dtype(dtype):
    try:
        return np.dtype(dtype)
    except TypeError:
        return dtype  # an extended dtype, such as that of random keys


_PY = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


def dtype_of(x):
    """The dtype an array library gives ``x`` (Python scalars: the default)."""
    if type(x) in _PY:
        return canonical(_PY[type(x)])
    d = getattr(x, "dtype", None)
    if d is not None:
        return as_np_dtype(d)
    return np.asarray(x).dtype


def _comparable(x):
    x = np.asarray(x)
    if x.dtype in CUSTOM_FLOATS:
        return x.astype(np.float32)
    if x.dtype in SMALL_INTS:
        return x.astype(np.int32)
    if x.dtype == float0:
        return np.zeros(x.shape, bool)
    return x


def assert_close(actual, desired, atol=None, rtol=None, err_msg=""):
    """np.testing.assert_allclose with per-dtype default tolerances."""
    da, db = dtype_of(actual), dtype_of(desired)
    a = max(tolerance(da, atol), tolerance(db, atol))
    r = max(tolerance(da, rtol), tolerance(db, rtol))
    x, y = _comparable(actual), _comparable(desired)
    with np.errstate(invalid="ignore", over="ignore"):
        if x.dtype.kind == "b" and y.dtype.kind == "b":
            np.testing.assert_array_equal(x, y, err_msg=err_msg)
        else:
            np.testing.assert_allclose(x, y, atol=a, rtol=r, err_msg=err_msg)
