"""Linear algebra in `lax`: factorisations of batches of matrices, and triangular systems."""

from __future__ import annotations

from typing import Any

from effax.api.custom import stop_gradient
from effax.effects import elementwise, linalg, matrices, shape, sorting
from effax.effects.types import int32, typeof
from effax.lax.shapes import repeated
from effax.lax.solve import custom_linear_solve
from effax.whole import whole

Array = Any
ArrayLike = Any


def _symmetrised(x: Array) -> Array:
    return elementwise.mul(elementwise.add(x, matrices.adjoint(x)), 0.5)


@whole("symmetrize_input")
def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular factor of positive definite Hermitian matrices.

    With `symmetrize_input`, of half the sum of the matrix and its adjoint; without, of what the
    lower triangle says. NaN for a matrix that is not positive definite.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.], [1., 1.]], dtype=float32)
    """
    return linalg.cholesky(_symmetrised(x) if symmetrize_input else x)


@whole("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """x with `x @ op(a) = b`, or `op(a) @ x = b` with `left_side`, for triangular a.

    Args:
      a: triangular matrices; the other triangle is not read.
      b: right sides; vectors where b has one axis less than a.
      left_side: which side of x the matrix stands on.
      lower: which triangle is read.
      transpose_a: op transposes.
      conjugate_a: op conjugates.
      unit_diagonal: the diagonal is taken to be 1, and not read.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> a = jnp.array([[2.0, 0.0], [1.0, 1.0]])
    >>> lax.linalg.triangular_solve(a, jnp.array([[2.0], [3.0]]), left_side=True, lower=True)
    Array([[1.], [2.]], dtype=float32)
    """
    rank = typeof(a).ndim
    vector = typeof(b).ndim == rank - 1
    if vector:
        b = shape.expand_dims(b, (rank - 1 if left_side else rank - 2,))
    x = linalg.triangular_solve(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    if vector:
        return shape.squeeze(x, (rank - 1 if left_side else rank - 2,))
    return x


@whole()
def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Both triangles in one matrix, the row exchanges, and the permutation they amount to.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> factors, pivots, permutation = lax.linalg.lu(jnp.array([[0.0, 2.0], [4.0, 2.0]]))
    >>> factors, permutation
    (Array([[4., 2.], [0., 2.]], dtype=float32), Array([1, 0], dtype=int32))
    """
    factors, pivots = linalg.lu(x)
    size = typeof(factors).shape[-2]
    return factors, pivots, linalg.pivots_to_permutation(pivots, size=size)


@whole("permutation_size")
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that a sequence of row exchanges amounts to.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([1, 2]), 3)
    Array([1, 2, 0], dtype=int32)
    """
    return linalg.pivots_to_permutation(pivots, size=permutation_size)


@whole("pivoting", "full_matrices")
def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True) -> tuple[Array, Array]:
    """Orthonormal columns q and an upper triangular r with `q @ r = x`.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> q, r = lax.linalg.qr(jnp.array([[3.0], [4.0]]), full_matrices=False)
    >>> jnp.abs(r)
    Array([[5.]], dtype=float32)
    """
    if pivoting:
        raise NotImplementedError("lax.linalg.qr: pivoting=True is not supported")
    q, r = linalg.qr(x, full_matrices=full_matrices)
    return q, r


@whole("lower", "symmetrize_input", "sort_eigenvalues", "subset_by_index")
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues (ascending) of Hermitian matrices.

    `subset_by_index` is the range of eigenvalues that are given.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> v, w = lax.linalg.eigh(jnp.diag(jnp.array([2.0, 1.0])))
    >>> w
    Array([1., 2.], dtype=float32)
    """
    v, w = linalg.eigh(_symmetrised(x) if symmetrize_input else x, lower=lower)
    if subset_by_index is not None:
        start, stop = subset_by_index
        v = shape.slice_axis(v, typeof(v).ndim - 1, start, stop)
        w = shape.slice_axis(w, typeof(w).ndim - 1, start, stop)
    return v, w


@whole("full_matrices", "compute_uv", "subset_by_index")
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """Singular vectors u, values s (descending) and v^H with `u @ diag(s) @ v^H = x`.

    The values alone where `compute_uv` is False; the range `subset_by_index` of them where given.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.svd(jnp.diag(jnp.array([1.0, 2.0])), compute_uv=False)
    Array([2., 1.], dtype=float32)
    """
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError("svd: subset_by_index needs full_matrices=False")
    parts = linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    if subset_by_index is not None:
        start, stop = subset_by_index
        axes = (-1, -1, -2)
        parts = [
            shape.slice_axis(y, typeof(y).ndim + axis, start, stop)
            for y, axis in zip(parts, axes, strict=False)
        ]
    if not compute_uv:
        return parts[0]
    s, u, vh = parts
    return u, s, vh


@whole("compute_left_eigenvectors", "compute_right_eigenvectors")
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
) -> list[Array]:
    """Eigenvalues of square matrices, then left and right eigenvectors where asked.

    Only on the CPU; only the eigenvalues have derivatives.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> len(lax.linalg.eig(jnp.eye(2)))
    3
    """
    return list(
        linalg.eig(
            x,
            compute_left=compute_left_eigenvectors,
            compute_right=compute_right_eigenvectors,
        )
    )


@whole("alpha", "beta", "symmetrize_output")
def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """`alpha * a @ a^T + beta * c`.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.symmetric_product(jnp.array([[1.0], [2.0]]), jnp.zeros((2, 2)))
    Array([[1., 2.], [2., 4.]], dtype=float32)
    """
    square = matrices.product(a_matrix, matrices.transpose(a_matrix))
    result = elementwise.add(elementwise.mul(square, alpha), elementwise.mul(c_matrix, beta))
    if symmetrize_output:
        lower = matrices.tril(result)
        return elementwise.add(lower, matrices.transpose(matrices.tril(result, -1)))
    return result


@whole()
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of the product of Householder reflections `1 - tau v v^H`.

    Reflection i has v of column i of a: 0 above the diagonal, 1 on it, the column's below.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.linalg.householder_product(jnp.array([[1.0], [2.0]]), jnp.array([0.4]))
    Array([[ 0.6], [-0.8]], dtype=float32)
    """
    from effax.lax.control import fori_loop
    from effax.lax.slicing import dynamic_index_in_dim

    count = typeof(taus).shape[-1]
    vectors = elementwise.add(matrices.tril(a, -1), matrices.identity_like(a))
    rank = typeof(a).ndim

    def reflect(step: Array, q: Array) -> Array:
        i = elementwise.sub(shape.scalar(count - 1, int32), step)
        v = dynamic_index_in_dim(vectors, i, rank - 1)
        tau = dynamic_index_in_dim(taus, i, rank - 2)
        seen = matrices.product(matrices.adjoint(v), q)
        dims = tuple(range(rank - 1))
        scale = shape.broadcast_in_dim(tau, shape=typeof(seen).shape, dims=dims)
        return elementwise.sub(q, matrices.product(v, elementwise.mul(scale, seen)))

    return fori_loop(0, count, reflect, matrices.identity_like(a))


def lu_solve(factors: Array, permutation: Array, b: Array, transposed: bool = False) -> Array:
    """x with `a @ x = b`, or `a^T @ x = b`, from the factors of `lu`."""
    flags = {"left_side": True, "conjugate_a": False}

    def half(rhs: Array, lower: bool) -> Array:
        return linalg.triangular_solve(
            factors, rhs, lower=lower, transpose_a=transposed, unit_diagonal=lower, **flags
        )

    if not transposed:
        return half(half(matrices.take_rows(b, permutation), True), False)
    x = half(half(b, False), True)
    lengths = typeof(permutation).shape
    last = len(lengths) - 1
    places = shape.iota(dtype=int32, shape=lengths, dimension=last)
    _, inverse = sorting.sort(permutation, places, dimension=last, is_stable=True, num_keys=1)
    return matrices.take_rows(x, inverse)


def solve(a: Array, b: Array) -> Array:
    """x with `a @ x = b` for matrices with one batch; its derivative solves one more system."""
    factors, _, permutation = lu(stop_gradient(a))
    return custom_linear_solve(
        lambda x: matrices.product(a, x),
        b,
        lambda _, y: lu_solve(factors, permutation, y),
        lambda _, y: lu_solve(factors, permutation, y, transposed=True),
    )


@whole("perturb_singular")
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """x with `a @ x = b` for tridiagonal a, by Thomas's algorithm.

    `dl`, `d` and `du` are the diagonal below the main one (its first element is not used), the
    main one, and the one above (its last element is not used).

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> none, d = jnp.zeros(3), jnp.array([1.0, 2.0, 4.0])
    >>> lax.linalg.tridiagonal_solve(none, d, none, jnp.ones((3, 1)))[:, 0]
    Array([1.  , 0.5 , 0.25], dtype=float32)
    """
    from effax.lax.control import scan

    if perturb_singular:
        raise NotImplementedError("tridiagonal_solve: perturb_singular=True is not supported")
    rank = typeof(b).ndim
    first = (rank - 2, *range(rank - 2), rank - 1)
    rows = shape.transpose(b, permutation=first)
    diagonals = [shape.transpose(x, permutation=(rank - 2, *range(rank - 2))) for x in (dl, d, du)]
    lengths = typeof(rows).shape[1:]

    def spread(x: Array) -> Array:
        return repeated(shape.expand_dims(x, (typeof(x).ndim,)), lengths)

    def down(carry: Any, row: Any) -> Any:
        upper, value = carry
        low, middle, high, right = row
        pivot = elementwise.sub(middle, elementwise.mul(low, upper))
        upper = elementwise.div(high, pivot)
        rest = elementwise.sub(right, elementwise.mul(spread(low), value))
        value = elementwise.div(rest, spread(pivot))
        return (upper, value), (upper, value)

    def up(x: Any, row: Any) -> Any:
        upper, value = row
        x = elementwise.sub(value, elementwise.mul(spread(upper), x))
        return x, x

    dtype = typeof(b).dtype
    start = shape.full(lengths[:-1], 0, dtype), shape.full(lengths, 0, dtype)
    _, swept = scan(down, start, (*diagonals, rows))
    _, xs = scan(up, start[1], swept, reverse=True)
    return shape.transpose(xs, permutation=(*range(1, rank - 1), 0, rank - 1))
