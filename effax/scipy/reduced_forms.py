"""Schur's, Hessenberg's and polar forms, products with q, tridiagonal eigenproblems."""

from __future__ import annotations

from typing import Literal, overload

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import own_promotion, whole
from effax.effects import matrices
from effax.effects.dtypes import inexact_dtype
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import complex_dtype, is_complex, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax import linalg
from effax.numpy.decompositions import floats, floats_or_lists, opened_list, svd
from effax.operands.promoting import arraylike


@whole("output")
def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """Return t and unitary q with `q @ t @ q^H = a`, t upper triangular.

    With the output "real" t of a real matrix is real, with blocks of two rows for pairs of
    conjugate eigenvalues; with "complex" it is a triangle.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([[1., 2.], [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got {output=}.")
    (x,) = arraylike("schur", a)
    x = jnp.asarray(x)
    if output == "complex" and not is_complex(x.dtype):
        x = x.astype(complex_dtype(inexact_dtype(x.dtype)))
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        raise TypeError(
            f"schur: expected floats or complex numbers, got {x.dtype}; convert the array first"
        )
    t, q = linalg.schur(x)
    return t, q


@own_promotion
@whole()
def rsf2csf(
    T: ArrayLike,  # noqa: N803  (SciPy's name)
    Z: ArrayLike,  # noqa: N803
    check_finite: bool = True,
) -> tuple[Array, Array]:
    """Turn Schur's real form into the complex one: rotations make its blocks of two rows triangles.

    Batches of T and Z are broadcast against each other.

    Args:
      T: array_like, (..., n, n), Schur's real form.
      Z: array_like, (..., n, n), the matrix that transforms to it.
      check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> t, z = linalg.rsf2csf(jnp.array([[0.0, 1.0], [-1.0, 0.0]]), jnp.eye(2))
    >>> abs(t[1, 0])
    Array(0., dtype=float32)
    """
    t, z = floats_or_lists("scipy.linalg.rsf2csf", T, Z)
    for name, x in (("Z", z), ("T", t)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Input '{name}' must be square.")
    if t.shape[-1] != z.shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    wide = jnp.result_type(t.dtype, jnp.complex64)
    weak = typeof(t).weak_type
    lead = jnp.broadcast_shapes(t.shape[:-2], z.shape[:-2])
    found = [jnp.broadcast_to(x.astype(wide), (*lead, *x.shape[-2:])) for x in (t, z)]
    if t.shape[-1] >= 2:
        signature = "(n,n),(n,n)->(n,n),(n,n)"
        found = jnp.vectorize(_without_blocks, signature=signature)(*found)
    t, z = (convert_element_type(x, dtype=wide, weak_type=weak) for x in found)
    return t, z


def _without_blocks(t: Array, z: Array) -> tuple[Array, Array]:
    n, wide = t.shape[0], t.dtype
    places = jnp.arange(n)

    def step(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        """Turn rows and columns m - 1 and m so that the eigenvector of their block comes first."""
        t, z = state
        first = n - 2 - k
        block = lax.dynamic_slice(t, (first, first), (2, 2))
        (a, _), (c, d) = block
        small = jnp.abs(c) <= jnp.finfo(wide).eps * (jnp.abs(a) + jnp.abs(d))
        shift = jnp.linalg.eigvals(block)[0] - d  # the first of the two in LAPACK's order
        length = jnp.hypot(jnp.abs(shift), jnp.abs(c))
        length = jnp.where(small, 1, length)
        turn = jnp.array([[jnp.conj(shift), c], [-c, shift]]) / length
        turn = jnp.where(small, jnp.eye(2, dtype=wide), turn)
        # Elements below the blocks stay: they are nonzero if T was not a Schur form.
        rows = lax.dynamic_slice_in_dim(t, first, 2, 0)
        rows = jnp.where(places >= first, matrices.product(turn, rows), rows)
        t = lax.dynamic_update_slice_in_dim(t, rows, first, 0)
        back = matrices.adjoint(turn)
        columns = lax.dynamic_slice_in_dim(t, first, 2, 1)
        turned = matrices.product(columns, back)
        columns = jnp.where(places[:, None] <= first + 1, turned, columns)
        t = lax.dynamic_update_slice_in_dim(t, columns, first, 1)
        moved = matrices.product(lax.dynamic_slice_in_dim(z, first, 2, 1), back)
        z = lax.dynamic_update_slice_in_dim(z, moved, first, 1)
        return t.at[first + 1, first].set(0), z

    return lax.fori_loop(0, n - 1, step, (t, z))


@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[False] = ..., overwrite_a: bool = ..., check_finite: bool = ...
) -> Array: ...
@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[True], overwrite_a: bool = ..., check_finite: bool = ...
) -> tuple[Array, Array]: ...
@overload
def hessenberg(
    a: ArrayLike, *, calc_q: bool = ..., overwrite_a: bool = ..., check_finite: bool = ...
) -> Array | tuple[Array, Array]: ...
@whole("calc_q", "overwrite_a", "check_finite")
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """Return h, zero below the first subdiagonal, with `q @ h @ q^H = a`; and q if `calc_q`.

    Args:
      a: array_like, (..., n, n).
      calc_q: whether to return q too.
      overwrite_a, check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.hessenberg(jnp.eye(2))
    Array([[1., 0.], [0., 1.]], dtype=float32)
    """
    (x,) = floats("scipy.linalg.hessenberg", a)
    packed, taus = linalg.hessenberg(x)
    h = matrices.triu(packed, -1)
    if not calc_q:
        return h
    q = matrices.identity_like(h)
    if x.shape[-1] > 1:  # even two complex rows need a reflection, which makes the subdiagonal real
        inner = linalg.householder_product(packed[..., 1:, :-1], taus)
        q = q.at[..., 1:, 1:].set(inner)
    return h, q


@whole("side", "method", "eps", "max_iterations")
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Return u with orthonormal columns (or rows) and p with `u @ p = a`, or `p @ u = a`.

    The second where `side` is "left". `method` is "qdwh" (for a at least as tall as wide, or as
    wide as tall from the left), with `eps` and `max_iterations` as in `lax.linalg.qdwh`, or "svd",
    for any, with derivatives.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.polar(jnp.diag(jnp.array([2.0, -3.0])), method="svd")[1]
    Array([[2., 0.], [0., 3.]], dtype=float32)
    """
    (x,) = arraylike("polar", opened_list(a))
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        raise ValueError(f"data type {x.dtype} not inexact")
    if x.ndim < 2:
        raise ValueError(f"The input `a` must be a matrix or a batch of them, got {x.shape}.")
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    m, n = x.shape[-2:]
    if method == "qdwh":
        if (m < n) if side == "right" else (m > n):
            needed = "tall as wide" if side == "right" else "wide as tall"
            raise NotImplementedError(
                f"method='qdwh' needs a matrix at least as {needed} where {side=}, got {x.shape}; "
                "use method='svd'"
            )
        turned = x if side == "right" else matrices.adjoint(x)
        u, p = jnp.vectorize(
            lambda x: linalg.qdwh(x, eps=eps, max_iterations=max_iterations)[:2],
            signature="(m,n)->(m,n),(n,n)",
        )(turned)
        return (u if side == "right" else matrices.adjoint(u)), p
    if method != "svd":
        raise ValueError(f"Unknown polar decomposition method {method}.")
    left, s, right = svd(x, full_matrices=False)
    around = matrices.adjoint(right) if side == "right" else left
    scaled = around * s.astype(around.dtype)[..., None, :]
    p = matrices.product(scaled, matrices.adjoint(around))
    return matrices.product(left, right), p


@whole("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c")
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """Multiply `c` by the q of the economic `qr` of `a`; return the product, and r.

    Args:
      a: array_like, (..., m, n).
      c: array_like, a matrix or a stack of them; a vector gives a vector.
      mode: "right" for `c @ q`, "left" for `q @ c`.
      pivoting: whether columns are exchanged; their order is then returned third.
      conjugate: whether to multiply by the conjugate of q.
      overwrite_a, overwrite_c: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.qr_multiply(jnp.eye(2), jnp.array([1.0, 2.0]))[1]
    Array([[1., 0.], [0., 1.]], dtype=float32)
    """
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    x, y = floats_or_lists("scipy.linalg.qr_multiply", a, c)
    done = linalg.qr(x, pivoting=pivoting, full_matrices=False)
    q = matrices.conj(done[0]) if conjugate else done[0]
    rows, columns = q.shape[-2:]
    axis, wanted = (-1, rows) if mode == "right" else (0 if y.ndim == 1 else -2, columns)
    if y.shape[axis] != wanted:
        what = (
            ("c @ Q", f"{rows} rows", "columns")
            if mode == "right"
            else ("Q @ c", f"{columns} columns", "rows")
        )
        raise ValueError(
            f"Array shapes are not compatible for {what[0]} operation: a has shape {x.shape} so Q "
            f"has {what[1]}, but c has {y.shape[axis]} {what[2]} (expected {wanted})."
        )
    sides = (y, q) if mode == "right" else (q, y)
    rest = done[1:]
    if y.ndim > x.ndim:  # repeat r and the column order for each matrix of c's stack
        lead = jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        rest = tuple(jnp.broadcast_to(z, (*lead, *z.shape[x.ndim - 2 :])) for z in rest)
    return jnp.matmul(*sides, precision="highest"), *rest


@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[False] = ...,
    select: str = ...,
    select_range: tuple[float, float] | None = ...,
    tol: float | None = ...,
    key: Array | None = ...,
) -> tuple[Array, Array]: ...
@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[True],
    select: str = ...,
    select_range: tuple[float, float] | None = ...,
    tol: float | None = ...,
    key: Array | None = ...,
) -> Array: ...
@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = ...,
    select: str = ...,
    select_range: tuple[float, float] | None = ...,
    tol: float | None = ...,
    key: Array | None = ...,
) -> Array | tuple[Array, Array]: ...
@whole("eigvals_only", "select", "select_range", "tol")
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Array | None = None,
) -> Array | tuple[Array, Array]:
    """Return eigenvalues, ascending, and eigenvectors of the symmetric matrix of these diagonals.

    `select` is "a" (all) or "i" (those numbered from the first to the last of `select_range`).
    The whole matrix is made and given to `eigh`, so `tol` and `key` have no meaning here.

    Args:
      d: array_like, (n,), the diagonal; its real part is taken.
      e: array_like, (n - 1,), the diagonal below it, of the same dtype.
      eigvals_only: whether to return the eigenvalues without the eigenvectors.
      select: "a" or "i", as above.
      select_range: the first and the last number, from 0, for "i".
      tol, key: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.eigh_tridiagonal(jnp.array([1.0, 2.0]), jnp.zeros(1), eigvals_only=True)
    Array([1., 2.], dtype=float32)
    """
    d, e = (jnp.asarray(x) for x in arraylike("eigh_tridiagonal", *map(opened_list, (d, e))))
    if d.dtype != e.dtype:
        raise TypeError(
            f"diagonal and off-diagonal values must have same dtype, got {d.dtype} and {e.dtype}"
        )
    if d.ndim != 1 or e.shape != (d.shape[0] - 1,):
        raise TypeError(
            "eigh_tridiagonal takes vectors of lengths n and n - 1, got shapes "
            f"{d.shape} and {e.shape}"
        )
    if select not in ("a", "i", "v"):
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    n = d.shape[0]
    chosen = slice(None)
    if select == "v":
        raise NotImplementedError(
            "eigh_tridiagonal(..., select='v') is not implemented, as the number of results "
            "depends on the values; take all, and select with jnp.where"
        )
    if select == "i":
        if select_range is None:
            raise ValueError("for select='i', select_range must be specified.")
        first, last = (int(i) for i in select_range)
        if first > last:
            raise ValueError("Got empty index range in select_range.")
        if not 0 <= first <= last < n:
            raise ValueError(f"select_range {select_range} is not within 0 to {n - 1}")
        chosen = slice(first, last + 1)
    # Fill both halves, of which one is read, so that derivatives are those of the whole matrix.
    x = jnp.diag(jnp.real(d).astype(d.dtype)) + jnp.diag(e, -1) + jnp.diag(jnp.conj(e), 1)
    v, w = linalg.eigh(x, symmetrize_input=False)
    return w[chosen] if eigvals_only else (w[chosen], v[:, chosen])
