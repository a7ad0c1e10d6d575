"""Data types, and how close two results of a type have to be."""

from __future__ import annotations

import functools

import numpy as np

from jaxshims import _numerics as num
from jaxshims.test_util.devices import _t


def supported_dtypes():
    types_ = {
        np.bool_,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.uint8,
        np.uint16,
        np.uint32,
        np.uint64,
        np.float16,
        np.float32,
        np.float64,
        np.complex64,
        np.complex128,
        num.bfloat16.type,
    }
    types_ |= {d.type for d in num.SMALL_INTS if d.name in ("int4", "uint4")}
    if not num.x64_enabled():
        types_ -= {np.int64, np.uint64, np.float64, np.complex128}
    return types_


class _Dtypes:
    """Lists of scalar types, without those that need x64 while it is off."""

    def supported(self, dtypes):
        have = supported_dtypes()
        return type(dtypes)(d for d in dtypes if np.dtype(d).type in have)


def _dtype_list(*scalar_types):
    return property(lambda self: self.supported(list(scalar_types)))


_floating = (np.float32, np.float64)
_all_floating = (num.bfloat16.type, np.float16) + _floating
_integer = (np.int32, np.int64)
_all_integer = (np.int8, np.int16) + _integer
_unsigned = (np.uint32, np.uint64)
_all_unsigned = (np.uint8, np.uint16) + _unsigned
_complex = (np.complex64, np.complex128)
_Dtypes.floating = _dtype_list(*_floating)
_Dtypes.all_floating = _dtype_list(*_all_floating)
_Dtypes.integer = _dtype_list(*_integer)
_Dtypes.all_integer = _dtype_list(*_all_integer)
_Dtypes.unsigned = _dtype_list(*_unsigned)
_Dtypes.all_unsigned = _dtype_list(*_all_unsigned)
_Dtypes.complex = _dtype_list(*_complex)
_Dtypes.boolean = _dtype_list(np.bool_)
_Dtypes.inexact = _dtype_list(*_floating, *_complex)
_Dtypes.all_inexact = _dtype_list(*_all_floating, *_complex)
_Dtypes.numeric = _dtype_list(*_floating, *_integer, *_unsigned, *_complex)
_Dtypes.custom_floats = _dtype_list(num.bfloat16.type)
_Dtypes.all = _dtype_list(*_all_floating, *_all_integer, *_all_unsigned, *_complex, np.bool_)

dtypes = _Dtypes()


def num_float_bits(dtype):
    return np.finfo(num.canonical(dtype)).bits


def to_default_dtype(arr):
    """Casts to the default dtype of the array's kind (bool stays bool)."""
    arr = np.asarray(arr)
    default = {"i": np.int64, "u": np.uint64, "f": np.float64, "c": np.complex128}.get(
        num.kind_of(arr.dtype)
    )
    if default is None:
        return arr
    return arr.astype(num.canonical(default))


def with_jax_dtype_defaults(func, use_defaults=True):
    """Wraps a numpy function: results get jax's default dtypes.

    ``use_defaults`` is a bool, or a tree of bools in the shape of the result.
    """

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        result = func(*args, **kwargs)
        if isinstance(use_defaults, bool):
            if not use_defaults:
                return result
            return _t("tree_util.tree_map")(to_default_dtype, result)
        return _t("tree_util.tree_map")(
            lambda arr, use: to_default_dtype(arr) if use else arr, result, use_defaults
        )

    return wrapped


def _check_dtypes_match(xs, ys):
    def check(x, y):
        dx, dy = num.dtype_of(x), num.dtype_of(y)
        if not num.x64_enabled():
            dx, dy = num.canonical(dx), num.canonical(dy)
        assert dx == dy, f"{dx} != {dy}"

    _t("tree_util.tree_map")(check, xs, ys)


def default_tolerance():
    return dict(num.DEFAULT_TOLERANCE)


default_gradient_tolerance = num.DEFAULT_GRADIENT_TOLERANCE


def tolerance(dtype, tol=None):
    return num.tolerance(num.canonical(dtype), tol)


def join_tolerance(tol1, tol2):
    """The larger of two tolerances, dtype by dtype."""
    a, b = num.as_dict(tol1), num.as_dict(tol2)
    out = dict(a)
    for k, v in b.items():
        out[k] = max(v, a.get(k, tolerance(k)))
    for k, v in a.items():
        if k not in b:
            out[k] = max(v, tolerance(k))
    return out


def _assert_numpy_allclose(a, b, atol=None, rtol=None, err_msg=""):
    num.assert_close(a, b, atol=atol, rtol=rtol, err_msg=err_msg)


def check_eq(xs, ys, err_msg=""):
    def eq(x, y):
        num.assert_close(x, y, err_msg=err_msg)

    _t("tree_util.tree_map")(eq, xs, ys)


def is_sequence(x) -> bool:
    return isinstance(x, (list, tuple))
