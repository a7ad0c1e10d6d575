"""jax._src.internal_test_util.lax_test_util: the tables that drive lax tests."""

from __future__ import annotations

import collections
import itertools

import numpy as np

import jaxshims
from jaxshims import test_util as jtu

float_dtypes = jtu.dtypes.all_floating
complex_dtypes = jtu.dtypes.complex
inexact_dtypes = float_dtypes + complex_dtypes
int_dtypes = jtu.dtypes.all_integer
uint_dtypes = jtu.dtypes.all_unsigned
bool_dtypes = jtu.dtypes.boolean
default_dtypes = float_dtypes + int_dtypes
all_dtypes = float_dtypes + complex_dtypes + int_dtypes + uint_dtypes + bool_dtypes
python_scalar_types = [bool, int, float, complex]

compatible_shapes = [[(3,)], [(3, 4), (3, 1), (1, 4)], [(2, 3, 4), (2, 1, 4)]]

_f32 = jtu.dtypes.supported([np.float32])
_f32_f64 = jtu.dtypes.floating
_f16_up = jtu.dtypes.supported([np.float16, np.float32, np.float64])
_numeric = float_dtypes + int_dtypes + complex_dtypes
_real = float_dtypes + int_dtypes
_every = inexact_dtypes + int_dtypes + uint_dtypes + bool_dtypes

OpRecord = collections.namedtuple("OpRecord", ["op", "nargs", "dtypes", "rng_factory", "tol"])

# One row per operation: name, arity, dtypes, operands, tolerance.
_TABLE = [
    ("neg", 1, _numeric, jtu.rand_small, None),
    ("sign", 1, _real + uint_dtypes, jtu.rand_small, None),
    ("floor", 1, float_dtypes, jtu.rand_small, None),
    ("ceil", 1, float_dtypes, jtu.rand_small, None),
    ("round", 1, float_dtypes, jtu.rand_default, None),
    ("nextafter", 2, _f16_up, jtu.rand_default, 0),
    ("is_finite", 1, float_dtypes, jtu.rand_small, None),
    ("exp", 1, inexact_dtypes, jtu.rand_small, None),
    ("exp2", 1, inexact_dtypes, jtu.rand_small, None),
    ("expm1", 1, inexact_dtypes, jtu.rand_small, {np.float64: 1e-8}),
    ("log", 1, inexact_dtypes, jtu.rand_positive, None),
    ("log1p", 1, inexact_dtypes, jtu.rand_positive, None),
    ("tanh", 1, inexact_dtypes, jtu.rand_small, {np.float64: 1e-9, np.complex128: 1e-7}),
    ("logistic", 1, inexact_dtypes, jtu.rand_default, None),
    ("sin", 1, inexact_dtypes, jtu.rand_default, None),
    ("cos", 1, inexact_dtypes, jtu.rand_default, None),
    ("atan2", 2, float_dtypes, jtu.rand_default, None),
    ("sqrt", 1, float_dtypes, jtu.rand_positive, None),
    ("sqrt", 1, complex_dtypes, jtu.rand_default, None),
    ("rsqrt", 1, float_dtypes, jtu.rand_positive, None),
    ("rsqrt", 1, complex_dtypes, jtu.rand_default, None),
    ("cbrt", 1, float_dtypes, jtu.rand_default, None),
    ("square", 1, inexact_dtypes, jtu.rand_default, None),
    ("reciprocal", 1, inexact_dtypes, jtu.rand_positive, None),
    ("tan", 1, inexact_dtypes, jtu.rand_default, {np.float32: 3e-5}),
    ("asin", 1, inexact_dtypes, jtu.rand_small, {np.complex128: 5e-12}),
    ("acos", 1, inexact_dtypes, jtu.rand_small, None),
    ("atan", 1, inexact_dtypes, jtu.rand_small, None),
    ("asinh", 1, inexact_dtypes, jtu.rand_default, {np.complex64: 1e-4, np.complex128: 1e-5}),
    ("acosh", 1, inexact_dtypes, jtu.rand_positive, None),
    ("atanh", 1, inexact_dtypes, jtu.rand_small, {np.float64: 1e-9}),
    ("sinh", 1, inexact_dtypes, jtu.rand_default, None),
    ("cosh", 1, inexact_dtypes, jtu.rand_default, None),
    ("lgamma", 1, float_dtypes, jtu.rand_positive, {np.float32: 1e-5, np.float64: 1e-14}),
    ("digamma", 1, float_dtypes, jtu.rand_positive, {np.float64: 1e-14}),
    ("betainc", 3, float_dtypes, jtu.rand_uniform, {np.float32: 2e-5, np.float64: 1e-12}),
    ("igamma", 2, _f32_f64, jtu.rand_positive, {np.float64: 1e-14}),
    ("igammac", 2, _f32_f64, jtu.rand_positive, {np.float64: 1e-14}),
    ("erf", 1, float_dtypes, jtu.rand_small, None),
    ("erfc", 1, float_dtypes, jtu.rand_small, None),
    ("erf_inv", 1, float_dtypes, jtu.rand_small, {np.float64: 1e-9}),
    ("bessel_i0e", 1, float_dtypes, jtu.rand_default, None),
    ("bessel_i1e", 1, float_dtypes, jtu.rand_default, None),
    ("real", 1, complex_dtypes, jtu.rand_default, None),
    ("imag", 1, complex_dtypes, jtu.rand_default, None),
    ("complex", 2, _f32_f64, jtu.rand_default, None),
    ("conj", 1, _f32_f64 + complex_dtypes, jtu.rand_default, None),
    ("abs", 1, _numeric, jtu.rand_default, None),
    ("pow", 2, inexact_dtypes, jtu.rand_positive, None),
    ("bitwise_and", 2, bool_dtypes, jtu.rand_small, None),
    ("bitwise_not", 1, bool_dtypes, jtu.rand_small, None),
    ("bitwise_or", 2, bool_dtypes, jtu.rand_small, None),
    ("bitwise_xor", 2, bool_dtypes, jtu.rand_small, None),
    ("population_count", 1, int_dtypes + uint_dtypes, jtu.rand_int, None),
    ("clz", 1, int_dtypes + uint_dtypes, jtu.rand_int, None),
    ("add", 2, _numeric, jtu.rand_small, None),
    ("sub", 2, _numeric, jtu.rand_small, None),
    ("mul", 2, _numeric, jtu.rand_small, None),
    ("mulhi", 2, int_dtypes + uint_dtypes, jtu.rand_fullrange, None),
    ("div", 2, _numeric, jtu.rand_nonzero, None),
    ("rem", 2, _real, jtu.rand_nonzero, None),
    ("max", 2, _every, jtu.rand_small, None),
    ("min", 2, _every, jtu.rand_small, None),
    ("eq", 2, _every, jtu.rand_some_equal, None),
    ("ne", 2, _every, jtu.rand_small, None),
    ("ge", 2, _real, jtu.rand_small, None),
    ("gt", 2, _real, jtu.rand_small, None),
    ("le", 2, _real, jtu.rand_small, None),
    ("lt", 2, _real, jtu.rand_small, None),
]


def lax_ops():
    return [OpRecord(*row) for row in _TABLE]


def lax_out_dtype_ops():
    return [OpRecord("mul", 2, float_dtypes + complex_dtypes + int_dtypes, jtu.rand_default, None)]


ReducerOpRecord = collections.namedtuple(
    "ReducerOpRecord", ["op", "reference_op", "init_val", "dtypes", "primitive"]
)
NamedReducerOpRecord = collections.namedtuple(
    "NamedReducerOpRecord", ["op", "reference_op", "dtypes"]
)


def _lax(name):
    return jaxshims.target_attr("lax." + name)


def _primitive(name):
    p = jaxshims.target_attr("extend.core.primitives." + name, None)
    return p if p is not None else jaxshims.MissingPublic("jax.extend.core.primitives." + name)


def lax_reduce_ops():
    rows = [
        ("add", np.add, 0, default_dtypes, "reduce_sum_p"),
        ("mul", np.multiply, 1, default_dtypes, "reduce_prod_p"),
        ("max", np.maximum, 0, uint_dtypes + bool_dtypes, "reduce_max_p"),
        ("max", np.maximum, -np.inf, float_dtypes, "reduce_max_p"),
        ("min", np.minimum, np.inf, float_dtypes, "reduce_min_p"),
    ]
    for t in (np.int32, np.int64):
        rows.append(("max", np.maximum, np.iinfo(t).min, [t], "reduce_max_p"))
    for t in (np.int32, np.int64, np.uint32, np.uint64):
        rows.append(("min", np.minimum, np.iinfo(t).max, [t], "reduce_min_p"))
    bitwise = int_dtypes + uint_dtypes + bool_dtypes
    rows += [
        ("bitwise_and", np.bitwise_and, -1, bitwise, "reduce_and_p"),
        ("bitwise_or", np.bitwise_or, 0, bitwise, "reduce_or_p"),
        ("bitwise_xor", np.bitwise_xor, 0, bitwise, "reduce_xor_p"),
    ]
    return [
        ReducerOpRecord(_lax(op), ref, init, types, _primitive(p))
        for op, ref, init, types, p in rows
    ]


def lax_named_reduce_ops():
    numeric = float_dtypes + complex_dtypes + int_dtypes + uint_dtypes
    bits = bool_dtypes + int_dtypes + uint_dtypes
    rows = [
        ("reduce_sum", np.sum, numeric),
        ("reduce_prod", np.prod, numeric),
        ("reduce_max", np.max, all_dtypes),
        ("reduce_min", np.min, all_dtypes),
        ("reduce_and", np.bitwise_and.reduce, bits),
        ("reduce_or", np.bitwise_or.reduce, bits),
        ("reduce_xor", np.bitwise_xor.reduce, bits),
    ]
    return [NamedReducerOpRecord(_lax(op), ref, types) for op, ref, types in rows]


def all_bdims(*shapes):
    """Every choice of batch axes but the one without any."""
    axes = [[None] + list(range(len(s) + 1)) for s in shapes]
    return (c for c in itertools.product(*axes) if any(b is not None for b in c))


def add_bdim(bdim_size, bdim, shape):
    shape = list(shape)
    if bdim is not None:
        shape.insert(bdim, bdim_size)
    return tuple(shape)


def args_slicer(args, bdims):
    def at(i):
        return [
            x if b is None else np.take(np.asarray(x), i, axis=b)
            for x, b in zip(args, bdims, strict=False)
        ]

    return at


def slicer(x, bdim):
    if bdim is None:
        return lambda _: x
    return lambda i: np.take(np.asarray(x), i, axis=bdim)
