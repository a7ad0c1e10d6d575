"""Eigenvalues of large Hermitian matrices and singular values, from those of small matrices.

The compilers of TPUs know triangular factors, QR and the eigenvalues of small matrices. The rest is
written here in effects, over arrays with one axis of matrices.

Sources: Golub & Van Loan, "Matrix Computations", section 8.5 (Jacobi's method by blocks, in the
order of a tournament); Nakatsukasa, Bai & Gygi 2010, "Optimizing Halley's iteration for computing
the matrix polar decomposition"; Nakatsukasa & Higham 2013, "Stable and efficient spectral divide
and conquer algorithms" (singular values by it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.effects import matrices
from effax.effects.matrices import adjoint, product, take_rows
from effax.effects.rows import comparison, control, elementwise, linalg, reduction, shape
from effax.effects.rows.complex import complex as complex_
from effax.effects.rows.complex import imag, real
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import add, div, mul, sub
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.rows.sorting import sort
from effax.effects.types import finfo, int32, is_complex, real_dtype, typeof
from effax.interpreters.stage import stage

SWEEPS: Final = 16
"""The most sweeps that Jacobi's method makes; three to six suffice, as convergence is quadratic."""

TALL: Final = 1.15
"""The ratio of rows to columns from which a matrix is replaced by its triangular factor."""


def _eps(x: Any) -> float:
    return float(finfo(real_dtype(typeof(x).dtype)).eps)


def _everywhere(numbers: Any, like: Any) -> Any:
    """A number for each matrix, at all its elements and in their dtype."""
    t = typeof(like)
    numbers = convert_element_type(numbers, dtype=t.dtype, weak_type=False)
    return shape.broadcast_in_dim(numbers, shape=t.shape, dims=(0,))


def _divided(x: Any, size: Any) -> Any:
    """Each matrix by its own size; not as complex numbers, for which GPUs square the size."""
    if not is_complex(typeof(x).dtype):
        return div(x, _everywhere(size, x))
    return complex_(*(div(part, _everywhere(size, part)) for part in (real(x), imag(x))))


def _real(x: Any) -> Any:
    return real(x) if is_complex(typeof(x).dtype) else x


def _square_sum(x: Any) -> Any:
    return reduction.reduce_sum(elementwise.square(elementwise.abs(x)), axes=(1, 2))


def _divided_by_size(x: Any) -> tuple[Any, Any]:
    """Matrices whose largest element has size 1, or 0, and the sizes that they were divided by."""
    size = reduction.reduce_max(elementwise.abs(x), axes=(1, 2))
    size = select_n(comparison.eq(size, 0), size, 1)
    return _divided(x, size), size


def _hermitian(x: Any, lower: bool) -> Any:
    """The Hermitian matrix of which x holds one triangle."""
    half = matrices.tril(x, -1) if lower else matrices.triu(x, 1)
    t = typeof(x)
    diagonal = convert_element_type(_real(x), dtype=t.dtype, weak_type=False)
    return add(add(half, adjoint(half)), select_n(matrices.on_diagonal(x), 0, diagonal))


def _or_nan(x: Any, values: Any) -> Any:
    """Matrices x, NaN where some of their values are."""
    total = reduction.reduce_sum(values, axes=(1,))
    bad = shape.broadcast_in_dim(comparison.ne(total, total), shape=typeof(x).shape, dims=(0,))
    return select_n(bad, x, float("nan"))


# ---- eigenvalues


def block_size(n: int, largest: int) -> tuple[int, int]:
    """The number of blocks of a matrix of n rows, and their rows: two are at most `largest`."""
    blocks = 2 * -(-n // (largest // 2 * 2))
    return blocks, -(-n // blocks)


def moves(blocks: int) -> np.ndarray[Any, Any]:
    """A tournament: (rounds, places), from which place each place is taken after each round.

    All blocks meet in pairs, places 0 and 1, 2 and 3, and so on, the smaller number first. After
    the last round they are where they were.
    """
    ring = [*range(0, blocks, 2), *range(blocks - 1, 0, -2)]
    rounds = []
    for _ in range(blocks - 1):
        pairs = [sorted((ring[i], ring[-1 - i])) for i in range(blocks // 2)]
        rounds.append([x for pair in pairs for x in pair])
        ring = [ring[0], ring[-1], *ring[1:-1]]
    following = [*rounds[1:], rounds[0]]
    found = [[now.index(x) for x in then] for now, then in zip(rounds, following, strict=True)]
    return np.array(found, np.int32)


def eigh(x: Any, order: Any, *, lower: bool, largest: int) -> list[Any]:
    """Eigenvectors and ascending eigenvalues, by those of matrices of up to `largest` rows.

    Pairs of blocks are made diagonal, the smaller eigenvalues in the block that comes first, until
    what is outside of the blocks has vanished. `order` holds the `moves` of the blocks.
    """
    n = typeof(x).shape[-1]
    blocks, side = block_size(n, largest)
    a, size = _divided_by_size(_hermitian(x, lower))
    a = _padded(a, blocks * side)
    turned = _sharpened(_turned(a, order, side))
    # Rayleigh's quotients: their error is the square of the vectors'.
    quotients = mul(product(turned, a), matrices.conj(turned))
    values = _real(reduction.reduce_sum(quotients, axes=(2,)))
    places = shape.iota(dtype=int32, shape=typeof(values).shape, dimension=1)
    values, places = sort(values, places, dimension=1, is_stable=True, num_keys=1)
    values, places = (shape.slice_axis(y, 1, 0, n) for y in (values, places))
    vectors = adjoint(shape.slice_axis(take_rows(turned, places), 2, 0, n))
    return [_or_nan(vectors, values), mul(values, _everywhere(size, values))]


def _padded(a: Any, length: int) -> Any:
    """The matrix with eigenvalues above all its own in rows and columns that are added."""
    n = typeof(a).shape[-1]
    if n == length:
        return a
    sums = reduction.reduce_sum(elementwise.abs(a), axes=(2,))
    above = add(reduction.reduce_max(sums, axes=(1,)), 1)
    for axis in (1, 2):
        a = shape.pad_axis(a, axis, 0, length - n)
    row = shape.iota(dtype=int32, shape=typeof(a).shape, dimension=1)
    added = and_(matrices.on_diagonal(a), comparison.ge(row, n))
    return select_n(added, a, _everywhere(above, a))


def _sharpened(u: Any) -> Any:
    """Columns or rows made orthonormal again after rounding, by half a Newton-Schulz step."""
    return sub(mul(u, 1.5), mul(product(u, product(adjoint(u), u)), 0.5))


def _turned(a: Any, order: Any, side: int) -> Any:
    """The unitary t by which `t @ a @ t^H` is diagonal."""

    def turn(a: Any, turned: Any, places: Any) -> list[Any]:
        vectors, _ = linalg.eigh(_pairs(a, 2 * side), lower=True)
        back = adjoint(vectors)
        # What is Hermitian is its own adjoint, so rows alone are multiplied and moved.
        a = _times_pairs(back, adjoint(_times_pairs(back, a)))
        a = _moved(adjoint(_moved(a, places, side)), places, side)
        return [a, _moved(_times_pairs(back, turned), places, side)]

    def going(step: Any, rest: Any, *_: Any) -> list[Any]:
        left = comparison.gt(rest, (4 * _eps(rest)) ** 2)
        return [and_(comparison.lt(step, SWEEPS), reduction.reduce_or(left, axes=(0,)))]

    def sweep(step: Any, rest: Any, a: Any, turned: Any, order: Any) -> list[Any]:
        places = typeof(order)
        row = places.update(shape=places.shape[1:])
        a, turned = control.scan(
            a,
            turned,
            order,
            body=stage(turn, [typeof(a), typeof(turned), row], "turn").program,
            consts=0,
            carry=2,
            length=places.shape[0],
            reverse=False,
            unroll=1,
        )
        return [add(step, 1), _outside(a, side), a, turned, order]

    start = [shape.scalar(0, int32), _outside(a, side), a, matrices.identity_like(a), order]
    types = [typeof(y) for y in start]
    found = control.while_loop(
        *start,
        cond=stage(going, types, "going").program,
        body=stage(sweep, types, "sweep").program,
        cond_consts=0,
        body_consts=0,
    )
    return found[3]


def _outside(a: Any, side: int) -> Any:
    """The part of each matrix's square sum that is outside of the blocks on the diagonal."""
    t = typeof(a)
    row, column = (
        div(shape.iota(dtype=int32, shape=t.shape, dimension=axis), side) for axis in (1, 2)
    )
    others = select_n(comparison.eq(row, column), a, 0)
    return div(_square_sum(others), _square_sum(a))


def _pairs(a: Any, side: int) -> Any:
    """The blocks of this size on the diagonals, as (count * blocks, side, side)."""
    count, n, _ = typeof(a).shape
    cut = [
        shape.slice_axis(shape.slice_axis(a, 1, i, i + side), 2, i, i + side)
        for i in range(0, n, side)
    ]
    found = shape.concatenate(*(shape.expand_dims(x, (1,)) for x in cut), axis=1)
    return shape.reshape(found, shape=(count * len(cut), side, side))


def _times_pairs(blocks: Any, a: Any) -> Any:
    """The product of a matrix of blocks on the diagonal, and a."""
    t = typeof(a)
    many, side, _ = typeof(blocks).shape
    parts = shape.reshape(a, shape=(many, side, t.shape[-1]))
    return shape.reshape(product(blocks, parts), shape=t.shape)


def _moved(a: Any, places: Any, side: int) -> Any:
    """The rows of a, by blocks, from other places."""
    count, n, m = typeof(a).shape
    blocks = n // side
    rows = shape.reshape(a, shape=(count, blocks, side * m))
    found = take_rows(rows, shape.broadcast_in_dim(places, shape=(count, blocks), dims=(1,)))
    return shape.reshape(found, shape=(count, n, m))


# ---- singular values


def svd(x: Any, *, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """Singular values, descending; and u and v^H if asked."""
    m, n = typeof(x).shape[-2:]
    if m < n:
        given = {"full_matrices": full_matrices, "compute_uv": compute_uv}
        s, *vectors = svd(adjoint(x), **given)
        return [s, *(adjoint(y) for y in reversed(vectors))]
    outer = None
    full = full_matrices and compute_uv and m > n
    if full or m > TALL * n:
        outer, x = linalg.qr(x, full_matrices=full)
        x = shape.slice_axis(x, 1, 0, n)
    x, size = _divided_by_size(x)
    turned = _unitary(x)
    h = product(adjoint(turned), x)
    v, values = linalg.eigh(mul(add(h, adjoint(h)), 0.5), lower=True)
    # From the largest on; rounding may leave some below zero.
    values = elementwise.max(shape.rev(values, dims=(1,)), 0)
    s = mul(values, _everywhere(size, values))
    if not compute_uv:
        return [s]
    v = shape.rev(v, dims=(2,))
    u = _orthonormal(product(turned, v), values)
    if outer is not None:
        u = product(shape.slice_axis(outer, 2, 0, n), u)
    if full:
        u = shape.concatenate(u, shape.slice_axis(outer, 2, n, m), axis=2)
    return [s, *(_or_nan(y, values) for y in (u, adjoint(v)))]


def weights(least: float, eps: float) -> list[tuple[float, float, float]]:
    """Weights (a, b, c) of Halley's iteration for singular values from `least` to 1."""
    found = []
    while abs(1 - least) > eps:
        square = least**2
        root = (4 * (1 - square) / square**2) ** (1 / 3)
        one = (1 + root) ** 0.5
        a = one + max(8 - 4 * root + 8 * (2 - square) / (square * one), 0.0) ** 0.5 / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        found.append((a, b, c))
        least = min(least * (a + b * square) / (1 + c * square), 1.0)
    return found


def _unitary(x: Any) -> Any:
    """The factor with orthonormal columns of the polar decomposition.

    Columns for singular values that are nothing but rounding are whatever comes out.
    """
    size = elementwise.sqrt(_square_sum(x))
    size = select_n(comparison.eq(size, 0), size, 1)
    u = _divided(x, size)
    found = weights(_eps(x), 10 * _eps(x))
    u = _iterated(u, _halley_by_qr, [w for w in found if w[2] > 100])
    u = _iterated(u, _halley_by_cholesky, [w for w in found if w[2] <= 100])
    return _sharpened(u)


def _iterated(
    u: Any, step: Callable[[Any, Sequence[Any]], Any], every: Sequence[Sequence[float]]
) -> Any:
    """u after a step for each of the weights, in a loop that is compiled once."""
    dtype = real_dtype(typeof(u).dtype)
    columns = [
        shape.concatenate(*(shape.full((1,), x, dtype) for x in column), axis=0)
        for column in zip(*every, strict=True)
    ]

    def body(u: Any, *numbers: Any) -> list[Any]:
        t = typeof(u)
        wide = [convert_element_type(x, dtype=t.dtype, weak_type=False) for x in numbers]
        return [step(u, [shape.broadcast_in_dim(x, shape=t.shape, dims=()) for x in wide])]

    types = [typeof(u), *(typeof(c).update(shape=()) for c in columns)]
    return control.scan(
        u,
        *columns,
        body=stage(body, types, step.__name__).program,
        consts=0,
        carry=1,
        length=len(every),
        reverse=False,
        unroll=1,
    )[0]


def _halley_by_qr(u: Any, weights: Sequence[Any]) -> Any:
    """One step, for weights that would square a bad condition."""
    a, b, c = weights
    _, m, n = typeof(u).shape
    root, part = elementwise.sqrt(c), div(b, c)
    one = matrices.identity_like(shape.slice_axis(u, 1, 0, n))
    q, _ = linalg.qr(shape.concatenate(mul(u, root), one, axis=1), full_matrices=False)
    above, below = shape.slice_axis(q, 1, 0, m), shape.slice_axis(q, 1, m, m + n)
    turned = product(above, adjoint(below))
    return add(mul(u, part), mul(turned, div(sub(a, part), root)))


def _halley_by_cholesky(u: Any, weights: Sequence[Any]) -> Any:
    """One step, for small weights."""
    a, b, c = weights
    part = div(b, c)
    n = typeof(u).shape[-1]
    inner = mul(product(adjoint(u), u), shape.slice_axis(c, 1, 0, n))
    factor = linalg.cholesky(add(inner, matrices.identity_like(inner)))
    turned = u
    for transposed in (True, False):
        turned = linalg.triangular_solve(
            factor,
            turned,
            left_side=False,
            lower=True,
            transpose_a=transposed,
            conjugate_a=transposed,
            unit_diagonal=False,
        )
    return add(mul(u, part), mul(turned, sub(a, part)))


def _orthonormal(u: Any, values: Any) -> Any:
    """Columns made orthonormal where the smallest singular value is nothing but rounding."""
    n = typeof(u).shape[-1]
    ends = [shape.slice_axis(values, 1, i, i + 1) for i in (0, n - 1)]
    small = comparison.le(ends[1], mul(ends[0], n * _eps(u)))

    def again(u: Any) -> list[Any]:
        q, r = linalg.qr(u, full_matrices=False)
        diagonal = matrices.diagonal(r)
        size = elementwise.abs(diagonal)
        none = comparison.eq(size, 0)
        signs = div(
            select_n(none, diagonal, 1),
            convert_element_type(
                select_n(none, size, 1), dtype=typeof(diagonal).dtype, weak_type=False
            ),
        )
        return [mul(q, matrices.columns(signs, q))]

    branches = tuple(stage(f, [typeof(u)], "columns").program for f in (lambda u: [u], again))
    chosen = convert_element_type(
        reduction.reduce_or(small, axes=(0, 1)), dtype=int32, weak_type=False
    )
    return control.cond(chosen, u, branches=branches)[0]
