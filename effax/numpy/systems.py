"""Linear systems, inverses and determinants, as `numpy.linalg` has them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax import lax
from effax.api.custom.jvp import custom_jvp
from effax.eager.whole import opening, whole
from effax.effects import matrices
from effax.effects.rows import shape
from effax.effects.rows.complex import complex as complex_of
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import mul
from effax.effects.types import bit_width, finfo, float32, is_complex, real_dtype, typeof
from effax.effects.value import Array, ArrayLike, greatest
from effax.lax import linalg
from effax.lax.decompositions import solve as solve_systems
from effax.lax.shapes import broadcast_shapes, repeated
from effax.numpy.decompositions import floats, svd
from effax.operands.arguments import check_arrays
from effax.operands.promoting import arraylike


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


def _square(name: str, x: Array) -> int:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Argument to {name} must have shape [..., n, n], got {x.shape}")
    length: int = x.shape[-1]
    return length


@whole()
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Return x with `a @ x = b`.

    Args:
      a: array_like, (..., n, n).
      b: array_like, (n,) or (..., n, k).

    Raises:
      ValueError: where `a` is no batch of square matrices, or shapes don't fit.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    x, y, vector = right_sides(*floats("linalg.solve", a, b))
    found = solve_systems(x, y)
    return shape.squeeze(found, (found.ndim - 1,)) if vector else found


def right_sides(x: Array, y: Array) -> tuple[Array, Array, bool]:
    """The matrices and right sides of `solve`, of one batch, and whether the latter were a vector.

    Raises `ValueError` for shapes that don't fit, and for a batch of vectors.
    """
    if x.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={x.shape}")
    _square("solve", x)
    if y.ndim > 1 and x.ndim == y.ndim + 1 and x.shape[-1] == y.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"Invalid shapes for solve: {x.shape}, {y.shape}. For a batch of vectors, use "
            "solve(a, b[..., None]).squeeze(-1)."
        )
    vector = y.ndim == 1
    if vector:
        y = shape.expand_dims(y, (1,))
    if y.shape[-2:-1] != x.shape[-1:]:
        raise ValueError(
            f"Invalid shapes for solve: {x.shape}, {y.shape[:1] if vector else y.shape}."
        )
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = repeated(x, (*batch, *x.shape[-2:])), repeated(y, (*batch, *y.shape[-2:]))
    return x, y, vector


@whole()
def inv(a: ArrayLike) -> Array:
    """Return the inverse of square matrices.

    Args:
      a: array_like, (..., n, n).

    >>> import effax.numpy as jnp
    >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ], [0.  , 0.25]], dtype=float32)
    """
    (x,) = floats("linalg.inv", a)
    _square("inv", x)
    return solve_systems(x, matrices.identity_like(x))


def _sign_and_logarithm(x: Array) -> tuple[Array, Array]:
    factors, pivots, _ = linalg.lu(x)
    diagonal = matrices.diagonal(factors)
    sign = _parity(pivots, diagonal.dtype)
    sign = sign * jnp.prod(jnp.sign(diagonal), axis=-1)
    return sign, jnp.sum(jnp.log(jnp.abs(diagonal)), axis=-1)


def _parity(pivots: Array, dtype: Any) -> Array:
    """1 or -1: whether the number of rows exchanged is even."""
    places = lax.broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
    exchanged = jnp.sum(pivots != places, axis=-1)
    return (1 - 2 * (exchanged % 2)).astype(dtype)


@custom_jvp
def _slogdet(x: Array) -> tuple[Array, Array]:
    return _sign_and_logarithm(x)


@_slogdet.defjvp
def _slogdet_jvp(primals: Any, tangents: Any) -> Any:
    """The logarithm moves by the trace of `x^-1 dx`; the phase by its imaginary part."""
    (x,), (dx,) = primals, tangents
    sign, logarithm = _slogdet(x)
    moved = jnp.sum(matrices.diagonal(solve_systems(x, dx)), axis=-1)
    if not is_complex(x.dtype):
        return (sign, logarithm), (jnp.zeros_like(sign), moved)
    turned = sign * complex_of(jnp.zeros_like(jnp.imag(moved)), jnp.imag(moved))
    return (sign, logarithm), (turned, jnp.real(moved))


@whole("method")
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Return the sign of the determinant and the logarithm of its absolute value.

    Args:
      a: array_like, (..., n, n).
      method: the decomposition to use, "lu" (the default) or "qr".

    >>> import effax.numpy as jnp
    >>> jnp.linalg.slogdet(-jnp.eye(3))
    SlogdetResult(sign=Array(-1., dtype=float32), logabsdet=Array(0., dtype=float32))
    """
    (x,) = floats("linalg.slogdet", a)
    _square("slogdet()", x)
    if method == "qr":
        q, r = linalg.qr(x, full_matrices=False)
        diagonal = matrices.diagonal(r)
        sign = _slogdet(q)[0] * jnp.prod(jnp.sign(diagonal), axis=-1)
        return SlogdetResult(sign, jnp.sum(jnp.log(jnp.abs(diagonal)), axis=-1))
    if method not in (None, "lu"):
        raise ValueError(
            f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
        )
    if x.shape[-1] not in (1, 2):
        return SlogdetResult(*_slogdet(x))
    # A determinant this small needs no decomposition: it takes all dtypes, and keeps a weak type.
    wide = x if bit_width(x.dtype) >= 32 else x.astype(float32)
    sign, logarithm = _slogdet(wide)
    weak = typeof(x).weak_type
    return SlogdetResult(
        convert_element_type(sign, dtype=x.dtype, weak_type=weak),
        convert_element_type(logarithm, dtype=real_dtype(x.dtype), weak_type=weak),
    )


@custom_jvp
def _det(x: Array) -> Array:
    factors, pivots, _ = linalg.lu(x)
    diagonal = matrices.diagonal(factors)
    # The product of the other pivots may be infinite, and infinity times 0 is NaN.
    singular = jnp.any(diagonal == 0, axis=-1) & jnp.all(jnp.isfinite(diagonal), axis=-1)
    product = jnp.where(singular, 0, jnp.prod(diagonal, axis=-1))
    return _parity(pivots, x.dtype) * product


@_det.defjvp
def _det_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    value, moved = _adjugate_product(x, dx)
    return value, jnp.sum(matrices.diagonal(moved), axis=-1)


def _adjugate_product(x: Array, b: Array) -> tuple[Array, Array]:
    """The determinant, and `det(x) x^-1 b`, which a matrix of rank n - 1 has too.

    Partial pivoting brings its zero to the last place of the diagonal, so the product of the
    others stands there instead of the determinant divided by it.
    """
    factors, pivots, permutation = linalg.lu(x)
    n = x.shape[-1]
    diagonal = matrices.diagonal(factors)
    parity = _parity(pivots, x.dtype)[..., None]
    partial = jnp.concatenate([parity, parity * jnp.cumprod(diagonal, axis=-1)], axis=-1)
    value, others = partial[..., n], partial[..., n - 1]
    row, column = (lax.broadcasted_iota("int32", x.shape, x.ndim - i) == n - 1 for i in (2, 1))
    scaled = jnp.where(row & column, (1 / others)[..., None, None], factors)
    y = matrices.take_rows(b, permutation)
    solving = {"left_side": True}
    y = linalg.triangular_solve(scaled, y, lower=True, unit_diagonal=True, **solving)
    y = jnp.where(row, y, y * value[..., None, None])
    y = linalg.triangular_solve(scaled, y, **solving)
    # At rank n - 2 or less all cofactors are zero.
    return value, jnp.where((others == 0)[..., None, None], 0, y)


@whole()
def det(a: ArrayLike) -> Array:
    """Return the determinant of square matrices.

    Args:
      a: array_like, (..., n, n).

    >>> import effax.numpy as jnp
    >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    (x,) = floats("linalg.det", a)
    n = _square("det()", x)
    if n == 0:
        return jnp.ones(x.shape[:-2], x.dtype)
    if n == 1:
        return x[..., 0, 0]
    if n == 2:
        return x[..., 0, 0] * x[..., 1, 1] - x[..., 0, 1] * x[..., 1, 0]
    if n == 3:
        minors = [(1, 2), (2, 0), (0, 1)]
        terms = [
            x[..., 0, i] * (x[..., 1, j] * x[..., 2, k] - x[..., 1, k] * x[..., 2, j])
            for i, (j, k) in enumerate(minors)
        ]
        return terms[0] + terms[1] + terms[2]
    return _det(x)


@whole("hermitian")
def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Return the pseudo-inverse (Moore-Penrose), by the singular value decomposition.

    Args:
      a: array_like, (..., m, n).
      rtol: singular values not above `rtol` times the largest count as zero; by default
        `10 * max(m, n)` times the machine precision. An array of bounds is broadcast against the
        stack of matrices.
      hermitian: whether the matrices are Hermitian, so that `eigh` will do; each is first averaged
        with its adjoint.
      rcond: another name of `rtol`; only one of the two may be given.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.pinv(jnp.array([[2.0], [0.0]]))
    Array([[0.5, 0. ]], dtype=float32)
    """
    if rcond is not None:
        if rtol is not None:
            raise ValueError("pinv: only one of rtol and rcond may be specified.")
        rtol = rcond
    (x,) = floats("linalg.pinv", a)
    m, n = x.shape[-2:]
    if m == 0 or n == 0:
        return jnp.zeros((*x.shape[:-2], n, m), x.dtype)
    if rtol is None:
        rtol = 10.0 * greatest(m, n) * float(finfo(x.dtype).eps)
    if hermitian:
        x = (x + matrices.adjoint(x)) / 2
    bounds = jnp.asarray(rtol, dtype=real_dtype(x.dtype))
    lead = jnp.broadcast_shapes(bounds.shape, x.shape[:-2])
    if bounds.ndim > x.ndim - 2:  # several bounds per matrix
        x = jnp.broadcast_to(x, (*lead, m, n))
    return _pinv(x, jnp.broadcast_to(bounds, lead), hermitian)


def _pinv(x: Array, rtol: Array, hermitian: bool) -> Array:
    @custom_jvp
    def pseudo(x: Array, rtol: Array) -> Array:
        u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
        large = s > rtol[..., None] * s[..., :1]
        inverse = jnp.where(large, 1 / jnp.where(large, s, 1), 0).astype(x.dtype)
        return matrices.product(matrices.adjoint(vh) * inverse[..., None, :], matrices.adjoint(u))

    @pseudo.defjvp
    def pseudo_jvp(primals: Any, tangents: Any) -> Any:
        """Golub & Pereyra 1973, for matrices whose rank does not change."""
        x, rtol = primals
        dx = tangents[0]
        p = pseudo(x, rtol)
        product, adjoint = matrices.product, matrices.adjoint
        ph, dxh = adjoint(p), adjoint(dx)
        moved = -product(product(p, dx), p)
        if x.shape[-2] >= x.shape[-1]:
            s = product(product(p, ph), dxh)
            t = product(product(dxh, ph), p)
        else:
            s = product(p, product(ph, dxh))
            t = product(dxh, product(ph, p))
        moved = moved + s - product(product(s, x), p) + t - product(p, product(x, t))
        return p, moved

    return pseudo(x, rtol)


@whole("hermitian")
def matrix_rank(
    M: ArrayLike,  # noqa: N803  (NumPy's name)
    tol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    rtol: ArrayLike | None = None,
) -> Array:
    """Count the singular values above a tolerance.

    Args:
      M: array_like, (..., m, n); a vector or number has rank 1 unless it is 0.
      tol: the tolerance itself. An array of them is broadcast against the stack of matrices.
      hermitian: whether the matrices are Hermitian, so that `eigh` will do.
      rtol: the tolerance over the largest singular value, by default `max(m, n)` times the machine
        precision; only one of `tol` and `rtol` may be given.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.matrix_rank(jnp.ones((2, 2)))
    Array(1, dtype=int32)
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    check_arrays("matrix_rank", *(bound for bound in (tol, rtol) if bound is not None))
    (x,) = floats("linalg.matrix_rank", M)
    if x.ndim < 2:
        return jnp.any(x != 0).astype("int32")
    s = svd(x, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = greatest(*x.shape[-2:]) * float(finfo(s.dtype).eps)
        tol = jnp.max(s, axis=-1) * rtol
    bound = jnp.asarray(tol)
    return jnp.sum(s > jnp.expand_dims(bound, bound.ndim), axis=-1)


@opening
def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Return the least-squares solution of `a @ x = b`; residuals, rank and singular values of a.

    Args:
      a: array_like, (m, n).
      b: array_like, (m,) or (m, k).
      rcond: singular values below `rcond` times the largest count as zero; by default `max(m, n)`
        times the machine precision, and the machine precision for negative ones.
      numpy_resid: whether residuals are empty where NumPy's are; not under a transform.

    >>> import effax.numpy as jnp
    >>> x, *_ = jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
    >>> jnp.round(x, 4)
    Array([2.], dtype=float32)
    """
    x, residuals, rank, s = _lstsq(a, b, rcond)
    m, n = typeof(a).shape
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = jnp.zeros((0,), residuals.dtype)
    return x, residuals, rank, s


def _counted(s: Array, rcond: Array) -> Array:
    """Return whether each singular value counts: those as good as zero do not."""
    return (s > 0) & (s >= rcond * s[0])


@custom_jvp
def _least_squares(x: Array, right: Array, rcond: Array) -> tuple[Array, Array]:
    """The shortest solution, and the singular values."""
    u, s, vh = svd(x, full_matrices=False)
    large = _counted(s, rcond)
    inverse = jnp.where(large, 1 / jnp.where(large, s, 1), 0).astype(x.dtype)
    seen = matrices.product(matrices.adjoint(u), right)
    return matrices.product(matrices.adjoint(vh), inverse[:, None] * seen), s


@_least_squares.defjvp
def _least_squares_jvp(primals: Any, tangents: Any) -> Any:
    """Of the solution as `pinv(x) @ right`, which has a derivative where the singular vectors have
    none: where singular values are equal, as those of orthonormal columns."""
    x, right, rcond = primals
    dx, moved = tangents[:2]
    product, adjoint = matrices.product, matrices.adjoint
    u, s, vh = svd(x, full_matrices=False)
    inverse = _pinv(x, rcond, False)
    found = product(inverse, right)
    rest = right - product(x, found)
    back = product(product(inverse, adjoint(inverse)), product(adjoint(dx), rest))
    out = product(adjoint(dx), product(adjoint(inverse), found))
    out = out - product(inverse, product(x, out))
    along = matrices.diagonal(product(product(adjoint(u), dx), adjoint(vh)))
    moved = product(inverse, moved - product(dx, found)) + back + out
    return (found, s), (moved, jnp.real(along))


@whole()
def _lstsq(a: ArrayLike, b: ArrayLike, rcond: Any) -> tuple[Array, Array, Array, Array]:
    x, y = floats("linalg.lstsq", a, b)
    if x.ndim != 2:
        raise TypeError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    if y.ndim not in (1, 2):
        raise TypeError(f"{y.ndim}-dimensional array given. Array must be one or two-dimensional")
    if x.shape[0] != y.shape[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    right = y[:, None] if y.ndim == 1 else y
    eps = float(finfo(x.dtype).eps)
    if x.size == 0:
        s = jnp.zeros((0,), real_dtype(x.dtype))
        rank = jnp.zeros((), int)
        found = jnp.zeros((x.shape[1], right.shape[1]), x.dtype)
    else:
        if rcond is None:
            rcond = eps * greatest(*x.shape)
        else:
            rcond = jnp.where(jnp.asarray(rcond) < 0, eps, rcond)
        rcond = jnp.asarray(rcond, dtype=real_dtype(x.dtype))
        found, s = _least_squares(x, right, rcond)
        rank = jnp.sum(_counted(s, rcond))
    rest = right - matrices.product(x, found)
    residuals = jnp.sum(jnp.real(mul(rest, matrices.conj(rest))), axis=0)
    return (jnp.ravel(found) if y.ndim == 1 else found), residuals, rank, s


@whole("ind")
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Return the inverse of an array as a map from its last axes to its first `ind` ones.

    Args:
      a: array_like; the lengths of its first `ind` axes have the same product as the others.
      ind: the number of axes, positive.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 4)).shape
    (4, 2, 2)
    """
    (x,) = floats("linalg.tensorinv", a)
    count = operator.index(ind)
    if count <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    ours, rest = x.shape[:count], x.shape[count:]
    if math.prod(ours) != math.prod(rest):
        raise ValueError(
            f"linalg.tensorinv: the first ind={ind} axes must have as many elements as the rest, "
            f"got shape {x.shape}"
        )
    flat = shape.reshape(x, shape=(math.prod(ours), math.prod(rest)))
    return shape.reshape(inv(flat), shape=(*rest, *ours))


@whole("axes")
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Return x with `tensordot(a, x, x.ndim) = b`.

    Args:
      a: array_like, of the shape of `b` and then that of x, which have equally many elements.
      b: array_like.
      axes: axes of `a` to move to its end first; by default none.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.tensorsolve(2 * jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2)))
    Array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    x, y = floats("linalg.tensorsolve", a, b)
    if axes is not None:
        x = jnp.moveaxis(x, tuple(axes), tuple(range(x.ndim - len(axes), x.ndim)))
    lengths = x.shape[y.ndim :]
    if x.shape[: y.ndim] != y.shape:
        raise ValueError(
            f"linalg.tensorsolve: with axes={axes} moved to its end, a has the shape {x.shape}, "
            f"which must begin with the shape of b, {y.shape}"
        )
    if y.size != math.prod(lengths):
        raise ValueError(
            f"linalg.tensorsolve: there are {y.size} equations for {math.prod(lengths)} unknowns, "
            f"as a has the shape {x.shape} and b {y.shape}; the numbers must be equal"
        )
    flat = shape.reshape(x, shape=(y.size, math.prod(lengths)))
    return shape.reshape(solve(flat, jnp.ravel(y)), shape=lengths)


@whole("n")
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Return the n-th power of square matrices; for negative n, that of their inverses.

    Args:
      a: array_like, (..., m, m).
      n: the exponent, an int; the identity for 0.

    >>> import effax.numpy as jnp
    >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5)
    Array([[1, 5], [0, 1]], dtype=int32)
    """
    (x,) = map(jnp.asarray, arraylike("linalg.matrix_power", a))
    if x.ndim < 2:
        raise TypeError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if x.shape[-1] != x.shape[-2]:
        raise TypeError("Last 2 dimensions of the array must be square")
    times = operator.index(n)
    if times < 0:
        x, times = inv(x), -times
    if times == 0:
        return matrices.identity_like(x)
    result: Any = None
    power = x
    while True:
        if times % 2:
            result = power if result is None else jnp.matmul(result, power)
        times //= 2
        if not times:
            return result
        power = jnp.matmul(power, power)
