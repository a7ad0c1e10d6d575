"""Random operands."""

from __future__ import annotations

import functools
import math

import numpy as np

from jaxshims import _numerics as num


class ScalarShape:
    """Stands for a shape, but asks for a scalar and not for an array."""

    def __init__(self, name):
        self._name = name

    def __len__(self):
        return 0

    def __getitem__(self, i):
        raise IndexError(f"index {i} out of range of a scalar's shape")

    def __iter__(self):
        return iter(())

    def __repr__(self):
        return self._name

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


class _NumpyScalar(ScalarShape):
    pass


class _PythonScalar(ScalarShape):
    pass


NUMPY_SCALAR_SHAPE = _NumpyScalar("NUMPY_SCALAR_SHAPE")
PYTHON_SCALAR_SHAPE = _PythonScalar("PYTHON_SCALAR_SHAPE")

_PY_OF_KIND = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def is_valid_shape(shape, dtype):
    """Python scalars exist in the default dtypes only."""
    if shape is PYTHON_SCALAR_SHAPE:
        return np.dtype(dtype) in {
            np.dtype(bool),
            np.dtype(np.int64),
            np.dtype(np.float64),
            np.dtype(np.complex128),
            num.canonical(np.int64),
            num.canonical(np.float64),
            num.canonical(np.complex128),
        }
    return True


def _dims_of_shape(shape):
    if isinstance(shape, (list, tuple)):
        return tuple(shape)
    if isinstance(shape, ScalarShape):
        return ()
    if isinstance(shape, np.ndarray):
        return tuple(shape.tolist())
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    raise TypeError(f"no shape: {shape!r}")


def _as_operand(value, shape, dtype):
    """An ndarray, a numpy scalar or a Python scalar, as ``shape`` asks."""
    value = np.asarray(value)
    if shape is NUMPY_SCALAR_SHAPE:
        return np.dtype(dtype).type(value[()])
    if shape is PYTHON_SCALAR_SHAPE:
        return _PY_OF_KIND[num.kind_of(dtype)](value[()])
    out = np.asarray(value, dtype=dtype)
    assert out.shape == _dims_of_shape(shape), (out.shape, shape)
    return out


_cast_to_shape = _as_operand


def dtype_str(dtype):
    name = getattr(dtype, "name", None)
    if isinstance(name, str):
        return name
    return str(num.as_np_dtype(dtype))


def format_shape_dtype_string(shape, dtype):
    if (
        isinstance(shape, (list, tuple))
        and shape
        and isinstance(shape[0], (list, tuple, ScalarShape))
    ):
        return ",".join(format_shape_dtype_string(s, dtype) for s in shape)
    if shape is NUMPY_SCALAR_SHAPE:
        return dtype_str(dtype)
    if shape is PYTHON_SCALAR_SHAPE:
        return "py" + dtype_str(dtype)
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    return f"{dtype_str(dtype)}[{','.join(str(d) for d in _dims_of_shape(shape))}]"


def _rand_dtype(rand, shape, dtype, scale=1.0, post=lambda x: x):
    """``post(scale * rand(*dims))`` as an operand of the given dtype."""
    dims = _dims_of_shape(shape)
    dtype = np.dtype(dtype)

    def draw():
        return np.asarray(scale * rand(*dims))

    kind = num.kind_of(dtype)
    if kind == "c":
        real = np.finfo(dtype).dtype
        values = draw().astype(real) + 1j * draw().astype(real)
    elif kind == "b":
        values = draw().astype(bool)  # nearly always true: some tests count on it
    elif kind == "u":
        values = np.abs(draw()).astype(np.int64)
        values = values.astype(dtype)
    elif kind == "i" and dtype in num.SMALL_INTS:
        values = draw().astype(np.int8).astype(dtype)
    else:
        values = draw().astype(dtype)
    if kind == "f" and num.wide(dtype) != dtype:
        out = np.asarray(post(values.astype(np.float32))).astype(dtype)
    elif kind == "b":
        out = np.asarray(post(values))
    else:
        out = np.asarray(post(values)).astype(dtype)
    return _as_operand(out, shape, dtype)


def rand_default(rng, scale=3):
    return functools.partial(_rand_dtype, rng.randn, scale=scale)


def rand_nonzero(rng):
    def post(x):
        return np.where(x == 0, np.array(1, x.dtype), x)

    return functools.partial(_rand_dtype, rng.randn, scale=3, post=post)


def rand_positive(rng):
    return functools.partial(
        _rand_dtype, rng.rand, scale=2, post=lambda x: x + np.array(1, x.dtype)
    )


def rand_small(rng):
    return functools.partial(_rand_dtype, rng.randn, scale=1e-3)


def rand_not_small(rng, offset=10.0):
    def post(x):
        off = np.array(offset).astype(x.dtype)
        return np.where(x > 0, x + off, x - off)

    return functools.partial(_rand_dtype, rng.randn, scale=3.0, post=post)


def rand_small_positive(rng):
    return functools.partial(_rand_dtype, rng.rand, scale=2e-5)


def rand_uniform(rng, low=0.0, high=1.0):
    assert low < high, (low, high)

    def post(x):
        return x * np.array(high - low, x.dtype) + np.array(low, x.dtype)

    return functools.partial(_rand_dtype, rng.rand, post=post)


def rand_some_equal(rng):
    """Normal values, about half of which are the same one."""

    def post(x):
        if x.size == 0:
            return x
        chosen = np.asarray(rng.rand(*x.shape)) < 0.5
        return np.where(chosen, x.ravel()[0], x)

    return functools.partial(_rand_dtype, rng.randn, scale=100.0, post=post)


def _sprinkle(rng, specials):
    """Normal values with special ones put in at random places."""
    base = rand_default(rng)

    def rand(shape, dtype):
        dtype = np.dtype(dtype)
        kind = num.kind_of(dtype)
        if kind not in "fc":
            return base(shape, dtype)
        dims = _dims_of_shape(shape)
        if kind == "c":
            part = np.finfo(dtype).dtype
            parts = rand(dims, part), rand(dims, part)
            return _as_operand(
                np.asarray(parts[0] + 1j * np.asarray(parts[1]), dtype), shape, dtype
            )
        values = np.asarray(base(dims, dtype)).astype(num.wide(dtype))
        for special, probability in specials:
            hit = np.asarray(rng.rand(*dims)) < probability
            values = np.where(hit, np.array(special, values.dtype), values)
        return _as_operand(values.astype(dtype), shape, dtype)

    return rand


def rand_some_inf(rng):
    return _sprinkle(rng, [(np.inf, 0.1), (-np.inf, 0.1)])


def rand_some_nan(rng):
    return _sprinkle(rng, [(np.nan, 0.1), (-np.nan, 0.1)])


def rand_some_inf_and_nan(rng):
    return _sprinkle(rng, [(np.inf, 0.1), (-np.inf, 0.1), (np.nan, 0.1)])


def rand_some_zero(rng):
    base = rand_default(rng)

    def rand(shape, dtype):
        dims = _dims_of_shape(shape)
        values = np.asarray(base(dims, dtype))
        hit = np.asarray(rng.rand(*dims)) < 0.5
        return _as_operand(np.where(hit, np.array(0, dtype), values).astype(dtype), shape, dtype)

    return rand


def rand_int(rng, low=0, high=None):
    def fn(shape, dtype):
        nonlocal high
        top = high
        if low == 0 and top is None:
            dt = np.dtype(dtype)
            if num.kind_of(dt) in "iu":
                top = (
                    8
                    if dt in num.SMALL_INTS and dt.name.endswith("4")
                    else int(np.iinfo(dt).max)
                    if dt not in num.SMALL_INTS
                    else 2
                )
            else:
                raise ValueError("rand_int needs high= for a dtype that is no integer")
        values = rng.randint(
            low,
            high=top,
            size=_dims_of_shape(shape),
            dtype=np.int64 if (top or low) < 2**63 else np.uint64,
        )
        return _as_operand(np.asarray(values).astype(dtype), shape, dtype)

    return fn


def rand_unique_int(rng, high=None):
    def fn(shape, dtype):
        dims = _dims_of_shape(shape)
        pool = np.arange(math.prod(dims) if high is None else high)
        return rng.choice(pool.astype(dtype), size=dims, replace=False)

    return fn


def rand_indices_unique_along_axis(rng):
    """Index arrays that do not repeat themselves along ``axis``."""

    def fn(dim, shape, axis, allow_negative=True):
        axis = axis % len(shape)
        n = shape[axis]
        others = [d for i, d in enumerate(shape) if i != axis]
        rows = [rng.choice(dim, n, replace=False) for _ in range(math.prod(others))]
        out = np.array(rows, dtype=np.int64).reshape(*others, n)
        out = np.moveaxis(out, -1, axis)
        if allow_negative:
            out = np.where(rng.rand(*out.shape) < 0.5, out, out - dim)
        return out

    return fn


def rand_bool(rng):
    def fn(shape, dtype):
        return _as_operand(np.asarray(rng.rand(*_dims_of_shape(shape))) < 0.5, shape, dtype)

    return fn


def rand_fullrange(rng, standardize_nans=False):
    """Any bit pattern of the dtype."""

    def fn(shape, dtype, post=lambda x: x):
        dtype = np.dtype(dtype)
        dims = _dims_of_shape(shape)
        n = math.prod(dims)
        if dtype == np.bool_:
            values = rng.randint(0, 2, n).astype(bool)
        elif dtype in num.SMALL_INTS:
            info = np.arange(-8, 8) if dtype.name.startswith("i") else np.arange(16)
            values = rng.choice(info, n).astype(np.int8).astype(dtype)
        else:
            raw = rng.randint(0, 256, n * dtype.itemsize).astype(np.uint8)
            values = raw.view(dtype)
        if standardize_nans and num.kind_of(dtype) in "fc":
            bad = np.isnan(values.astype(num.wide(dtype)))
            values = np.where(bad, np.array(np.nan, dtype), values)
        out = np.asarray(post(values.reshape(dims))).astype(dtype)
        return _as_operand(out, shape, dtype)

    return fn


def rand_like(rng, x):
    shape, dtype = np.shape(x), num.dtype_of(x)
    out = np.asarray(_rand_dtype(rng.randn, shape, dtype))
    return out.item() if type(x) in (bool, int, float, complex) else out
