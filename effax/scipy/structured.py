"""Matrices of a special structure, as `scipy.linalg` has them; vectors may come in batches."""

from __future__ import annotations

import math
import sys
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import own_promotion, whole
from effax.effects.value import Array, ArrayLike, DTypeLike
from effax.lax.shapes import broadcast_shapes
from effax.numpy.decompositions import floats
from effax.operands.arguments import cast, concrete_int
from effax.operands.promoting import arraylike, promote_dtypes


def _array(name: str, x: ArrayLike) -> Array:
    (value,) = arraylike(name, x)
    return jnp.asarray(value)


def _positive(name: str, n: Any) -> int:
    if (size := concrete_int(n, f"the n of {name}")) < 1:
        raise ValueError(f"n must be a positive integer; got {size}.")
    return size


def _grid(rows: int, columns: int) -> tuple[Array, Array]:
    """The row and the column of each place, to be broadcast."""
    return jnp.arange(rows)[:, None], jnp.arange(columns)


@own_promotion
@whole()
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return the matrix whose diagonals are constant, of this first column and first row.

    The row is by default the conjugate of the column; its first element is not used.

    Args:
      c: array_like, (..., m), the first column.
      r: array_like, (..., n), the first row.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.toeplitz(jnp.arange(3))
    Array([[0, 1, 2], [1, 0, 1], [2, 1, 0]], dtype=int32)
    """
    column = jnp.atleast_1d(_array("toeplitz", c))
    row = jnp.conj(column) if r is None else jnp.atleast_1d(_array("toeplitz", r))
    return _by_diagonals(column[..., ::-1], row, lambda i, j, n: n - 1 - i + j)


def _by_diagonals(first: Array, second: Array, place: Any) -> Array:
    """Elements of the first vector and then, but for its first, of the second."""
    n, m = first.shape[-1], second.shape[-1]
    batch = broadcast_shapes(first.shape[:-1], second.shape[:-1])
    both = jnp.concatenate(
        [
            jnp.broadcast_to(first, (*batch, n)),
            jnp.broadcast_to(second[..., 1:], (*batch, max(m - 1, 0))),
        ],
        axis=-1,
    )
    both = lax.convert_element_type(both, both.dtype)  # strongly typed, whatever the operands are
    if n == 0 or m == 0:
        return jnp.zeros((*batch, n, m), both.dtype)
    return both[..., place(*_grid(n, m), n)]


@own_promotion
@whole()
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return the matrix whose antidiagonals are constant, of this first column and last row.

    The row is by default zeros; its first element is not used.

    Args:
      c: array_like, (..., m), the first column.
      r: array_like, (..., n), the last row.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.hankel(jnp.array([1, 2, 3]))
    Array([[1, 2, 3], [2, 3, 0], [3, 0, 0]], dtype=int32)
    """
    column = _array("hankel", c)
    row = jnp.zeros_like(column) if r is None else _array("hankel", r)
    for name, x in (("c", column), ("r", row)):
        if x.ndim < 1:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    return _by_diagonals(column, row, lambda i, j, n: i + j)


@own_promotion
@whole()
def circulant(c: ArrayLike) -> Array:
    """Return the matrix of this first column, each other being the one before rotated down.

    Args:
      c: array_like, (..., n), the first column.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2], [2, 1, 3], [3, 2, 1]], dtype=int32)
    """
    column = jnp.atleast_1d(_array("circulant", c))
    n = column.shape[-1]
    if n == 0:
        return jnp.zeros((*column.shape, 0), column.dtype)
    i, j = _grid(n, n)
    return column[..., (i - j) % n]


@own_promotion
@whole()
def companion(a: ArrayLike) -> Array:
    """Return the matrix whose characteristic polynomial has these coefficients, the highest first.

    Args:
      a: array_like, (..., n + 1), the coefficients; n is at least 1.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.companion(jnp.array([1, -10, 31]))
    Array([[ 10., -31.], [  1., 0.]], dtype=float32)
    """
    (x,) = floats("companion", a)
    x = jnp.atleast_1d(x)
    if x.shape[-1] < 2:
        raise ValueError(
            f"The length of `a` along the last axis must be at least 2; got shape {x.shape}."
        )
    n = x.shape[-1] - 1
    below = jnp.broadcast_to(jnp.eye(n - 1, n, dtype=x.dtype), (*x.shape[:-1], n - 1, n))
    top = -x[..., 1:] / x[..., :1]
    return jnp.concatenate([top[..., None, :], below], axis=-2)


@own_promotion
@whole()
def fiedler(a: ArrayLike) -> Array:
    """Return the absolute differences of all pairs of elements.

    Args:
      a: array_like, (..., n), the elements.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.fiedler(jnp.array([1, 4]))
    Array([[0, 3], [3, 0]], dtype=int32)
    """
    x = jnp.atleast_1d(_array("fiedler", a))
    return jnp.abs(x[..., :, None] - x[..., None, :])


@own_promotion
@whole()
def fiedler_companion(a: ArrayLike) -> Array:
    """Return a matrix of five diagonals whose characteristic polynomial has these coefficients.

    Args:
      a: array_like, (..., n + 1), the coefficients, the highest first.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.fiedler_companion(jnp.array([1, -10, 31]))
    Array([[ 10., -31.], [  1., 0.]], dtype=float32)
    """
    (x,) = floats("fiedler_companion", a)
    x = jnp.atleast_1d(x)
    if x.shape[-1] == 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but got an "
            f"array of shape {x.shape}."
        )
    n = x.shape[-1] - 1
    if n == 0:
        return x[..., :0, None][..., :0]
    x = -x / x[..., :1]
    if n == 1:
        return x[..., 1:, None]
    made = jnp.zeros((*x.shape[:-1], n, n), x.dtype)
    made = made.at[..., 0, 0].set(x[..., 1])
    ones = [(range(3, n, 2), range(1, n - 2, 2)), (range(0, n - 2, 2), range(2, n, 2)), ([1], [0])]
    for i, j in ones:
        made = made.at[..., jnp.array(list(i), int), jnp.array(list(j), int)].set(1)
    even, odd = jnp.arange(0, n - 1, 2), jnp.arange(1, n - 1, 2)
    made = made.at[..., even, even + 1].set(x[..., 2::2])
    return made.at[..., odd + 1, odd].set(x[..., 3::2])


@own_promotion
@whole("n", "mode")
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """Return the matrix c with `c @ v == convolve(a, v, mode)` for vectors v of length n.

    `mode` is "full", "same" or "valid".

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.convolution_matrix(jnp.array([1, 2]), 2)
    Array([[1, 0], [2, 1], [0, 2]], dtype=int32)
    """
    n = _positive("convolution_matrix", n)
    x = _array("convolution_matrix", a)
    if x.ndim == 0:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar")
    if x.shape[-1] == 0:
        raise ValueError(f"len(a) must be at least 1; got shape {x.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    m = x.shape[-1]
    length = {"full": m + n - 1, "same": max(m, n), "valid": max(m, n) - min(m, n) + 1}[mode]
    skipped = {"full": 0, "same": (min(m, n) - 1) // 2, "valid": min(m, n) - 1}[mode]
    i, j = _grid(length, n)
    place = i + skipped - j
    inside = (place >= 0) & (place < m)
    return jnp.where(inside, x[..., jnp.clip(place, 0, m - 1)], jnp.zeros((), x.dtype))


@own_promotion
@whole("n", "scale", "dtype")
def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Return the matrix of the discrete Fourier transform.

    Args:
      n: the number of points.
      scale: None, "sqrtn" (a unitary matrix) or "n" (divided by n).
      dtype: the dtype of the result; by default the default complex dtype.

    >>> from effax.scipy import linalg
    >>> linalg.dft(2).real
    Array([[ 1., 1.], [ 1., -1.]], dtype=float32)
    """
    size = max(concrete_int(n, "the n of dft"), 0)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    wanted = jnp.result_type(complex) if dtype is None else jnp.dtype(dtype)
    if not jnp.issubdtype(wanted, jnp.complexfloating):
        raise ValueError(f"dtype must be a complex floating-point type; got {wanted}.")
    if size == 0:
        return jnp.zeros((0, 0), wanted)
    i, j = _grid(size, size)
    # Reduce the angles to one turn while they are still integers.
    turns = ((i * j) % size).astype(jnp.finfo(wanted).dtype) * (-2 * math.pi / size)
    made = lax.complex(jnp.cos(turns), jnp.sin(turns))
    return made / {None: 1, "sqrtn": math.sqrt(size), "n": size}[scale]


@own_promotion
@whole("n", "dtype")
def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Return Hadamard's matrix of ones and minus ones with orthogonal rows.

    Args:
      n: the number of rows, a power of 2.
      dtype: the dtype of the result; by default the default integer dtype.

    >>> from effax.scipy import linalg
    >>> linalg.hadamard(2)
    Array([[ 1, 1], [ 1, -1]], dtype=int32)
    """
    if n < 1 or n != int(n) or int(n) & (int(n) - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    i, j = _grid(int(n), int(n))
    odd = lax.population_count(i & j) % 2
    return (1 - 2 * odd).astype(dtype)


@own_promotion
@whole("n", "full")
def helmert(n: int, full: bool = False) -> Array:
    """Return Helmert's matrix: orthonormal contrasts of n values, after their mean if `full`.

    >>> from effax.scipy import linalg
    >>> linalg.helmert(2)
    Array([[ 0.707..., -0.707...]], dtype=float32)
    """
    n = _positive("helmert", n)
    i, j = _grid(n, n)
    step = jnp.maximum(i, 1).astype(float)
    contrast = jnp.where(j < i, 1.0, jnp.where(j == i, -step, 0.0)) / jnp.sqrt(step * (step + 1))
    made = jnp.where(i == 0, 1 / math.sqrt(n), contrast)
    return made if full else made[1:]


@own_promotion
@whole("n")
def hilbert(n: int) -> Array:
    """Return Hilbert's matrix, of elements `1 / (i + j + 1)`.

    Args:
      n: the number of rows.

    >>> from effax.scipy import linalg
    >>> linalg.hilbert(2)
    Array([[1. , 0.5 ], [0.5 , 0.33333334]], dtype=float32)
    """
    i, j = _grid(*[max(concrete_int(n, "the n of hilbert"), 0)] * 2)
    return 1 / (i + j + 1).astype(float)


@own_promotion
@whole("n")
def invhilbert(n: int) -> Array:
    """Return the inverse of `hilbert(n)`, from its closed form.

    >>> from effax.scipy import linalg
    >>> linalg.invhilbert(2)
    Array([[ 4., -6.], [-6., 12.]], dtype=float32)
    """
    n = max(concrete_int(n, "the n of invhilbert"), 0)
    largest = int(sys.float_info.max)
    parts = [
        (-1) ** k * float(min(math.comb(n + k, n) * n * math.comb(n - 1, k), largest))
        for k in range(n)
    ]
    part = jnp.array(parts, float)
    i, j = _grid(n, n)
    return part[:, None] * part / (i + j + 1).astype(float)


def _kind(kind: str | None) -> str:
    known = ("symmetric", "lower", "upper")
    if kind is not None and kind not in known:
        raise ValueError(f"Expected kind to be one of: {list(known)}; got {kind}")
    return kind or "symmetric"


def _binomials(n: int) -> Array:
    """The lower triangle of binomial coefficients: each row is the one before and that, moved."""
    first = jnp.zeros(n).at[:1].set(1)

    def row(values: Array, _: None) -> Any:
        return values + jnp.concatenate([jnp.zeros(1), values[:-1]]), values

    return lax.scan(row, first, None, length=n)[1]


@own_promotion
@whole("n", "kind")
def pascal(n: int, kind: str | None = None) -> Array:
    """Return Pascal's matrix of binomial coefficients.

    Args:
      n: the number of rows.
      kind: "symmetric", "lower" or "upper"; None for "symmetric".

    >>> from effax.scipy import linalg
    >>> linalg.pascal(3)
    Array([[1., 1., 1.], [1., 2., 3.], [1., 3., 6.]], dtype=float32)
    """
    n, kind = max(concrete_int(n, "the n of pascal"), 0), _kind(kind)
    if n == 0:
        return jnp.zeros((0, 0))
    if kind == "symmetric":
        # Each row is the cumulative sum of the row before.
        ones = jnp.ones(n, "float32")
        return lax.scan(lambda row, _: (jnp.cumsum(row), row), ones, None, length=n)[1]
    lower = _binomials(n).astype("float32")
    return lower if kind == "lower" else lower.T


@own_promotion
@whole("n", "kind")
def invpascal(n: int, kind: str | None = None) -> Array:
    """Return the inverse of `pascal(n, kind)`.

    >>> from effax.scipy import linalg
    >>> linalg.invpascal(2)
    Array([[ 2., -1.], [-1., 1.]], dtype=float32)
    """
    n, kind = max(concrete_int(n, "the n of invpascal"), 0), _kind(kind)
    if n == 0:
        return jnp.zeros((0, 0))
    i, j = _grid(n, n)
    inverse = _binomials(n) * (1 - 2 * ((i + j) % 2))
    if kind == "symmetric":
        return jnp.matmul(inverse.T, inverse, precision="highest")
    return inverse if kind == "lower" else inverse.T


@own_promotion
@whole()
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Return Leslie's matrix: fecundities f in the first row, survival rates s below the diagonal.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.leslie(jnp.array([1.0, 2.0]), jnp.array([0.5]))
    Array([[1. , 2. ], [0.5, 0. ]], dtype=float32)
    """
    births, rates = promote_dtypes(
        jnp.atleast_1d(_array("leslie", f)), jnp.atleast_1d(_array("leslie", s))
    )
    if births.shape[-1] < 2:
        raise ValueError(
            f"The length of f along the last axis must be at least 2; got shape {births.shape}."
        )
    if rates.shape[-1] != births.shape[-1] - 1:
        raise ValueError(
            "Incorrect lengths for f and s: the last axis of s has one element fewer than that of "
            f"f, got shapes {births.shape} and {rates.shape}"
        )
    n = births.shape[-1]
    batch = broadcast_shapes(births.shape[:-1], rates.shape[:-1])
    made = cast(
        jnp.zeros((*batch, n, n), births.dtype), births.dtype, births.weak_type and rates.weak_type
    )
    below = jnp.arange(n - 1)
    return made.at[..., 0, :].set(births).at[..., below + 1, below].set(rates)
