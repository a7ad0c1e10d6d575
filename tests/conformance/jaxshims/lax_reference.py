"""NumPy models of lax operations (jax._src.lax_reference).

Elementwise functions are evaluated in a wider type than the operand's and
rounded once.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math

import numpy as np
import scipy.special

from jaxshims import _numerics as num

_builtin_slice = builtins.slice
_abs, _max, _min, _round = abs, max, min, round

_WIDER = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


def _wider(dtype):
    dtype = np.dtype(dtype)
    if dtype in num.CUSTOM_FLOATS:
        return np.dtype(np.float32)
    return _WIDER.get(dtype, dtype)


def _elementwise(fn, real_result=False):
    @functools.wraps(fn)
    def op(*args):
        dtype = num.dtype_of(args[0])
        with np.errstate(all="ignore"):
            out = fn(*(np.asarray(a).astype(_wider(dtype)) for a in args))
        return np.asarray(out).astype(dtype)

    return op


neg = np.negative
sign = np.sign
floor = _elementwise(np.floor)
ceil = _elementwise(np.ceil)
round = _elementwise(
    lambda x: np.trunc(
        x + np.copysign(np.nextafter(np.array(0.5, x.dtype), np.array(0, x.dtype)), x)
    )
)
nextafter = np.nextafter


def is_finite(x):
    return np.isfinite(np.asarray(x).astype(_wider(x.dtype)))


exp = _elementwise(np.exp)
exp2 = _elementwise(np.exp2)
expm1 = _elementwise(np.expm1)
log = _elementwise(np.log)
log1p = _elementwise(np.log1p)
tanh = _elementwise(np.tanh)
logistic = _elementwise(lambda x: 1 / (1 + np.exp(-x)))
sin = _elementwise(np.sin)
cos = _elementwise(np.cos)
tan = _elementwise(np.tan)
asin = _elementwise(np.arcsin)
acos = _elementwise(np.arccos)
atan = _elementwise(np.arctan)
atan2 = _elementwise(np.arctan2)
sinh = _elementwise(np.sinh)
cosh = _elementwise(np.cosh)
asinh = _elementwise(np.arcsinh)
acosh = _elementwise(np.arccosh)
atanh = _elementwise(np.arctanh)
sqrt = _elementwise(np.sqrt)
rsqrt = _elementwise(lambda x: 1 / np.sqrt(x))
cbrt = _elementwise(np.cbrt)
square = _elementwise(np.square)
reciprocal = _elementwise(np.reciprocal)
lgamma = _elementwise(scipy.special.gammaln)
digamma = _elementwise(scipy.special.digamma)
betainc = _elementwise(scipy.special.betainc)
igamma = _elementwise(scipy.special.gammainc)
igammac = _elementwise(scipy.special.gammaincc)
erf = _elementwise(scipy.special.erf)
erfc = _elementwise(scipy.special.erfc)
erf_inv = _elementwise(scipy.special.erfinv)
bessel_i0e = _elementwise(scipy.special.i0e)
bessel_i1e = _elementwise(scipy.special.i1e)
pow = _elementwise(np.power)

real = np.real
imag = np.imag


def complex(x, y):
    dtype = np.complex64 if np.asarray(x).dtype == np.float32 else np.complex128
    return (np.asarray(x) + 1j * np.asarray(y)).astype(dtype)


def conj(x):
    x = np.asarray(x)
    if x.dtype.kind != "c":
        return x.astype(np.complex64 if x.dtype == np.float32 else np.complex128)
    return np.conj(x)


def abs(x):
    x = np.asarray(x)
    if x.dtype.kind == "c":
        wide = np.abs(x.astype(np.complex128))
        return wide.astype(np.finfo(x.dtype).dtype)
    return np.abs(x)


bitwise_and = np.bitwise_and
bitwise_or = np.bitwise_or
bitwise_xor = np.bitwise_xor
bitwise_not = np.bitwise_not


def _unsigned(x):
    x = np.asarray(x)
    return x.view(f"u{x.dtype.itemsize}")


def population_count(x):
    bits = np.unpackbits(_unsigned(x)[..., None].view(np.uint8), axis=-1)
    return bits.sum(axis=-1).astype(x.dtype)


def clz(x):
    u = np.asarray(_unsigned(x))
    n = u.dtype.itemsize * 8
    out = np.full(u.shape, n, np.int64)
    for bit in range(n):
        out = np.where((u >> np.array(bit, u.dtype)) & np.array(1, u.dtype), n - 1 - bit, out)
    return out.astype(np.asarray(x).dtype)


def add(x, y):
    return np.add(x, y)


def sub(x, y):
    return np.subtract(x, y)


def mul(x, y, out_dtype=None):
    if out_dtype is not None:
        x, y = np.asarray(x).astype(out_dtype), np.asarray(y).astype(out_dtype)
    return np.multiply(x, y)


def mulhi(x, y):
    x, y = np.asarray(x), np.asarray(y)
    shift = x.dtype.itemsize * 8
    out = (x.astype(object) * y.astype(object)) // (1 << shift)
    return np.asarray(out).astype(x.dtype)


def div(x, y):
    x, y = np.asarray(x), np.asarray(y)
    if num.kind_of(x.dtype) in "iu":
        q = np.floor_divide(x, y)
        toward_zero = (np.remainder(x, y) != 0) & ((x < 0) != (y < 0))
        return (q + toward_zero).astype(x.dtype)
    return _elementwise(np.divide)(x, y)


def rem(x, y):
    x = np.asarray(x)
    return np.fmod(x, y).astype(x.dtype)


max = np.maximum
min = np.minimum
eq, ne = np.equal, np.not_equal
ge, gt, le, lt = np.greater_equal, np.greater, np.less_equal, np.less


def convert_element_type(operand, dtype):
    return np.asarray(operand).astype(dtype)


def _bits(dtype):
    dtype = np.dtype(dtype)
    if dtype in num.SMALL_INTS:
        return int(dtype.name.lstrip("uint"))
    return dtype.itemsize * 8


def bitcast_convert_type(operand, dtype):
    operand, dtype = np.asarray(operand), np.dtype(dtype)
    n_in, n_out = _bits(operand.dtype), _bits(dtype)
    if n_in >= 8:
        raw = np.ascontiguousarray(operand)[..., None].view(np.uint8)
        bits = np.unpackbits(raw, axis=-1, bitorder="little")
    else:
        values = operand.astype(np.int8).view(np.uint8)
        bits = np.unpackbits(values[..., None], axis=-1, bitorder="little")
        bits = bits[..., :n_in]
    if n_in < n_out:
        assert bits.shape[-2] * n_in == n_out
        bits = bits.reshape(*bits.shape[:-2], n_out)
    elif n_in > n_out:
        bits = bits.reshape(*bits.shape[:-1], n_in // n_out, n_out)
    if n_out >= 8:
        packed = np.packbits(bits, axis=-1, bitorder="little")
        return np.ascontiguousarray(packed).view(dtype)[..., 0]
    padding = np.zeros(bits.shape[:-1] + (8 - n_out,), np.uint8)
    if not dtype.name.startswith("u"):  # sign extension
        padding = padding + bits[..., -1:]
    packed = np.packbits(np.concatenate([bits, padding], -1), axis=-1, bitorder="little")[..., 0]
    return (
        packed.view(np.int8).astype(dtype)
        if not dtype.name.startswith("u")
        else packed.astype(dtype)
    )


def clamp(min, operand, max):
    dtype = operand.dtype
    wide = _wider(dtype)
    return np.minimum(
        np.maximum(np.asarray(operand).astype(wide), np.asarray(min).astype(wide)),
        np.asarray(max).astype(wide),
    ).astype(dtype)


def concatenate(operands, dimension):
    return np.concatenate(operands, axis=dimension)


def select(pred, on_true, on_false):
    return np.where(pred, on_true, on_false).astype(on_true.dtype)


def slice(operand, start_indices, limit_indices, strides=None):
    strides = strides or (1,) * operand.ndim
    return operand[tuple(map(_builtin_slice, start_indices, limit_indices, strides))]


def _clamped_starts(shape, starts, sizes):
    return [
        int(np.clip(int(s), 0, d - n))
        for s, d, n in zip(np.asarray(starts).ravel(), shape, sizes, strict=False)
    ]


def dynamic_slice(operand, start_indices, slice_sizes):
    starts = _clamped_starts(operand.shape, start_indices, slice_sizes)
    return operand[
        tuple(_builtin_slice(s, s + n) for s, n in zip(starts, slice_sizes, strict=False))
    ]


def dynamic_update_slice(operand, update, start_indices):
    starts = _clamped_starts(operand.shape, start_indices, update.shape)
    out = np.array(operand)
    out[tuple(_builtin_slice(s, s + n) for s, n in zip(starts, update.shape, strict=False))] = (
        update
    )
    return out


def transpose(operand, permutation):
    return np.transpose(operand, permutation)


def broadcast(operand, sizes):
    return np.broadcast_to(operand, tuple(sizes) + np.shape(operand))


def broadcast_in_dim(operand, shape, broadcast_dimensions):
    operand = np.asarray(operand)
    inner = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, operand.shape, strict=False):
        inner[d] = n
    return np.broadcast_to(operand.reshape(inner), shape)


def reshape(operand, new_sizes, dimensions=None):
    if dimensions is not None:
        operand = np.transpose(operand, dimensions)
    return np.reshape(operand, new_sizes)


def squeeze(array, dimensions):
    return np.squeeze(array, tuple(dimensions))


def pad(operand, padding_value, padding_config):
    lo, hi, interior = zip(*padding_config, strict=False) if operand.ndim else ((), (), ())
    spread = [
        _max(d + (d - 1) * i, 0) if d else 0 for d, i in zip(operand.shape, interior, strict=False)
    ]
    out = np.full(spread, np.asarray(padding_value), operand.dtype)
    out[tuple(_builtin_slice(None, None, i + 1) for i in interior)] = operand
    # Negative amounts cut off.
    out = out[
        tuple(
            _builtin_slice(_max(-low, 0), d - _max(-h, 0))
            for low, h, d in zip(lo, hi, spread, strict=False)
        )
    ]
    return (
        np.pad(
            out,
            [(_max(low, 0), _max(h, 0)) for low, h in zip(lo, hi, strict=False)],
            constant_values=np.asarray(padding_value),
        )
        if operand.ndim
        else out
    )


def _pad_amounts(padding, in_shape, window, strides):
    if not isinstance(padding, str):
        return [tuple(p) for p in padding]
    if padding.upper() == "VALID":
        return [(0, 0)] * len(in_shape)
    assert padding.upper() == "SAME", padding
    out = []
    for d, w, s in zip(in_shape, window, strides, strict=False):
        n_out = -(-d // s)
        total = _max((n_out - 1) * s + w - d, 0)
        out.append((total // 2, total - total // 2))
    return out


def _windows(operand, window, strides):
    """All windows: shape out_dims + window."""
    view = np.lib.stride_tricks.sliding_window_view(operand, window)
    return view[tuple(_builtin_slice(None, None, s) for s in strides)]


_NP_REDUCERS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def reduce_window(operand, init_val, op, window_dimensions, window_strides, padding, base_dilation):
    operand = np.asarray(operand)
    dtype = operand.dtype
    n = operand.ndim
    dilation = tuple(base_dilation) if base_dilation else (1,) * n
    x = pad(operand, init_val, [(0, 0, d - 1) for d in dilation])
    amounts = _pad_amounts(padding, x.shape, window_dimensions, window_strides)
    x = pad(x, init_val, [(low, h, 0) for low, h in amounts])
    windows = _windows(x, tuple(window_dimensions), tuple(window_strides)) if n else x
    out_shape = windows.shape[:n]
    flat = windows.reshape(out_shape + (-1,))
    reducer = op if isinstance(op, np.ufunc) else _NP_REDUCERS.get(getattr(op, "__name__", ""))
    acc = np.broadcast_to(np.asarray(init_val, dtype), out_shape)
    for i in range(flat.shape[-1]):
        item = flat[..., i]
        acc = reducer(acc, item) if reducer is not None else np.asarray(op(acc, item))
    return np.asarray(acc).astype(dtype)


def conv_with_general_padding(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation):
    """lhs is NCHW..., rhs is OIHW...; a correlation, as lax's."""
    dtype = lhs.dtype
    wide = np.dtype(np.float64) if num.kind_of(dtype) == "f" else dtype
    x, w = np.asarray(lhs).astype(wide), np.asarray(rhs).astype(wide)
    k = x.ndim - 2
    lhs_dilation = tuple(lhs_dilation or (1,) * k)
    rhs_dilation = tuple(rhs_dilation or (1,) * k)
    zero = np.zeros((), wide)
    x = pad(x, zero, [(0, 0, 0)] * 2 + [(0, 0, d - 1) for d in lhs_dilation])
    w = pad(w, zero, [(0, 0, 0)] * 2 + [(0, 0, d - 1) for d in rhs_dilation])
    amounts = _pad_amounts(padding, x.shape[2:], w.shape[2:], window_strides)
    x = pad(x, zero, [(0, 0, 0)] * 2 + [(low, h, 0) for low, h in amounts])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=tuple(range(2, 2 + k)))
    windows = windows[
        (_builtin_slice(None),) * 2 + tuple(_builtin_slice(None, None, s) for s in window_strides)
    ]
    # windows: N, C, out..., window...
    axes = [1] + list(range(2 + k, 2 + 2 * k))
    out = np.tensordot(windows, w, (axes, [1] + list(range(2, 2 + k))))
    return np.moveaxis(out, -1, 1).astype(dtype)


def conv(lhs, rhs, window_strides, padding):
    return conv_with_general_padding(lhs, rhs, window_strides, padding, None, None)


def dot(lhs, rhs):
    dtype = np.asarray(lhs).dtype
    wide = np.dtype(bool) if dtype == np.bool_ else _wider(dtype)
    return np.asarray(np.dot(np.asarray(lhs).astype(wide), np.asarray(rhs).astype(wide))).astype(
        dtype
    )


def dot_general(lhs, rhs, dimension_numbers):
    (lc, rc), (lb, rb) = dimension_numbers
    dtype = np.asarray(lhs).dtype
    wide = _wider(dtype)
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    low = [None] * lhs.ndim
    r = [None] * rhs.ndim
    batch = []
    for i, j in zip(lb, rb, strict=False):
        low[i] = r[j] = next(letters)
        batch.append(low[i])
    for i, j in zip(lc, rc, strict=False):
        low[i] = r[j] = next(letters)
    free = []
    for side in (low, r):
        for i, c in enumerate(side):
            if c is None:
                side[i] = next(letters)
                free.append(side[i])
    spec = f"{''.join(low)},{''.join(r)}->{''.join(batch + free)}"
    out = np.einsum(spec, np.asarray(lhs).astype(wide), np.asarray(rhs).astype(wide))
    return np.asarray(out).astype(dtype)


def ragged_dot(lhs, rhs, group_sizes):
    dtype = np.asarray(lhs).dtype
    wide = _wider(dtype)
    lhs, rhs = np.asarray(lhs).astype(wide), np.asarray(rhs).astype(wide)
    out = np.zeros((lhs.shape[0], rhs.shape[2]), wide)
    start = 0
    for g, size in enumerate(np.asarray(group_sizes)):
        end = start + int(size)
        out[start:end] = lhs[start:end] @ rhs[g]
        start = end
    return out.astype(dtype)


def sort(operand, dimension=-1, kind=None):
    operand = np.asarray(operand)
    wide = num.wide(operand.dtype)
    return np.sort(operand.astype(wide), axis=dimension, kind=kind).astype(operand.dtype)


def sort_key_val(keys, values, dimension=-1):
    keys, values = np.asarray(keys), np.asarray(values)
    order = np.argsort(keys.astype(num.wide(keys.dtype)), axis=dimension, kind="stable")
    return (
        np.take_along_axis(keys, order, dimension),
        np.take_along_axis(values, order, dimension),
    )


def top_k(operand, k, axis=-1):
    """The k largest, the first of equal ones first."""
    operand = np.moveaxis(np.asarray(operand), axis, -1)
    rows = operand.reshape(-1, operand.shape[-1])
    idx = np.empty((rows.shape[0], k), np.int32)
    for i, row in enumerate(rows):
        order = sorted(range(len(row)), key=lambda j: (-row[j].item(), j))
        idx[i] = order[:k]
    idx = idx.reshape(operand.shape[:-1] + (k,))
    values = np.take_along_axis(operand, idx.astype(np.int64), -1)
    return np.moveaxis(values, -1, axis), np.moveaxis(idx, -1, axis)


def reduce(operand, init_value, computation, dimensions):
    out = np.asarray(operand)
    for d in sorted(dimensions, reverse=True):
        acc = np.asarray(init_value)
        for i in range(out.shape[d]):
            acc = np.asarray(computation(acc, np.take(out, i, d)))
        out = acc
    return out


del itertools, math
