"""Linear algebra as calls: of LAPACK on the CPU, of cuSOLVER on NVIDIA's GPUs, of TPUs' own.

The targets are typed foreign functions that jaxlib and its plugins ship. Matrices are laid out by
columns, the batch before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from effax.backends.xla.lowering import linalg_tpu
from effax.backends.xla.lowering.arrays import resized
from effax.backends.xla.lowering.matrices import eigenvalues
from effax.backends.xla.lowering.matrices.calls import (
    flag,
    foreign,
    info_type,
    is_cuda,
    lapack_name,
    nan_unless,
    or_nan,
    require_lapack,
)
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.matrices import adjoint, all_finite, identity_like, triu
from effax.effects.rows import control, linalg
from effax.effects.rows.complex import imag, real
from effax.effects.rows.elementwise import add, is_finite
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.types import ShapedArray, int32, is_complex, real_dtype, typeof
from effax.effects.value import smallest
from effax.interpreters.stage import stage


@rule(linalg.cholesky)
def lower_cholesky(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    batch = len(x.shape) - 2
    if w.platform not in ("cpu", "cuda", "gpu"):
        factor = w.op(f"stablehlo.cholesky {x}, lower = true : {x.text}", types[0])
        return w.performed(_tril, factor)
    attributes = "lower = true" if is_cuda(w) else "uplo = 76 : ui8"
    factor, info = foreign(
        w, lapack_name(w, x, "potrf"), [x], [types[0], info_type(x, batch)], batch, attributes, 0
    )
    return w.performed(_tril, or_nan(w, factor, info))


def _tril(x: Any) -> Any:
    from effax.effects.matrices import tril

    return tril(x)


@rule(linalg.triangular_solve)
def lower_triangular_solve(
    w: Writer,
    types: Sequence[ShapedArray],
    a: Name,
    b: Name,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Name:
    conjugate_a = conjugate_a and is_complex(a.dtype)
    if conjugate_a and not transpose_a:
        from effax.effects.rows.complex import conj

        a = w.performed(conj, a)
        conjugate_a = False
    if w.platform != "cpu" or 0 in b.shape or 0 in a.shape:
        mode = "NO_TRANSPOSE"
        if transpose_a:
            mode = "ADJOINT" if conjugate_a else "TRANSPOSE"
        flags = (
            f"left_side = {flag(left_side)}, lower = {flag(lower)}, transpose_a = "
            f"#stablehlo<transpose {mode}>, unit_diagonal = {flag(unit_diagonal)}"
        )
        return w.op(
            f'"stablehlo.triangular_solve"({a}, {b}) {{{flags}}} : ({a.text}, {b.text}) -> '
            f"{tensor(types[0])}",
            types[0],
        )
    trans = "N"
    if transpose_a:
        trans = "C" if conjugate_a else "T"
    attributes = ", ".join(
        f"{name} = {ord(letter)} : ui8"
        for name, letter in (
            ("diag", "U" if unit_diagonal else "N"),
            ("side", "L" if left_side else "R"),
            ("trans_x", trans),
            ("uplo", "L" if lower else "U"),
        )
    )
    batch = len(a.shape) - 2
    return foreign(w, lapack_name(w, a, "trsm"), [a, b], types, batch, attributes, 1)[0]


@rule(linalg.lu)
def lower_lu(w: Writer, types: Sequence[ShapedArray], x: Name) -> list[Name]:
    """A singular matrix has factors too; only an illegal argument gives NaN."""
    if w.platform == "tpu":
        return linalg_tpu.lu(w, types, x)
    require_lapack(w, linalg.lu)
    batch = len(x.shape) - 2
    out, pivots, info = foreign(
        w, lapack_name(w, x, "getrf"), [x], [*types, info_type(x, batch)], batch, alias=0
    )
    from_zero = w.simple("subtract", [pivots, w.constant(1, pivots.type)], pivots.type)
    return [or_nan(w, out, info, "GE"), from_zero]


@rule(linalg.pivots_to_permutation)
def lower_pivots_to_permutation(
    w: Writer, types: Sequence[ShapedArray], pivots: Name, *, size: int
) -> Name:
    if is_cuda(w) and pivots.shape[-1] and size:
        # The kernel writes wherever a pivot points.
        ends = [w.constant(i, ShapedArray((), pivots.dtype)) for i in (0, size - 1)]
        pivots = w.simple("clamp", [ends[0], pivots, ends[1]], pivots.type)
        return foreign(w, "cu_lu_pivots_to_permutation", [pivots], types, len(pivots.shape) - 1)[0]
    return w.performed(lambda p: _permutation(p, size), pivots)


def _permutation(pivots: Any, size: int) -> Any:
    """The exchanges done one after the other on 0, 1, 2, ..., as a scan over the pivots."""
    from effax.effects.rows import shape

    type = typeof(pivots)
    batch = type.shape[:-1]
    last = len(batch)
    places = shape.iota(dtype=int32, shape=(*batch, size), dimension=last)
    if not type.shape[-1]:
        return places
    exchange = _exchange_in_batch if batch else _exchange
    types = [ShapedArray((), int32), typeof(places), ShapedArray(batch, int32)]
    _, order = control.scan(
        shape.scalar(0, int32),
        places,
        shape.transpose(pivots, permutation=(last, *range(last))),
        body=stage(exchange, types, "exchange").program,
        consts=0,
        carry=2,
        length=type.shape[-1],
        reverse=False,
        unroll=1,
    )
    return order


def _exchange(i: Any, order: Any, pivot: Any) -> list[Any]:
    """Two elements are read and written where they are."""
    from effax.effects.rows.indexing import dynamic_slice, dynamic_update_slice

    one, other = dynamic_slice(order, i, sizes=(1,)), dynamic_slice(order, pivot, sizes=(1,))
    order = dynamic_update_slice(order, other, i)
    return [add(i, 1), dynamic_update_slice(order, one, pivot)]


def _exchange_in_batch(i: Any, order: Any, pivot: Any) -> list[Any]:
    """The pivots differ from lane to lane: all elements are compared with their places."""
    from effax.effects.rows import comparison, shape
    from effax.effects.rows.reduction import reduce_sum
    from effax.effects.rows.selection import select_n

    lengths = typeof(order).shape
    last = len(lengths) - 1
    spread = tuple(range(last))

    def element(here: Any) -> Any:
        picked = reduce_sum(select_n(here, 0, order), axes=(last,))
        return shape.broadcast_in_dim(picked, shape=lengths, dims=spread)

    numbers = shape.iota(dtype=int32, shape=lengths, dimension=last)
    here = comparison.eq(numbers, shape.broadcast_in_dim(i, shape=lengths, dims=()))
    there = comparison.eq(numbers, shape.broadcast_in_dim(pivot, shape=lengths, dims=spread))
    one, other = element(here), element(there)
    return [add(i, 1), select_n(here, select_n(there, order, one), other)]


def reflections(w: Writer, effect: Any, x: Name) -> tuple[Name, Name]:
    """Householder's reflections of a matrix below its r, and their factors."""
    taus = x.type.update(shape=(*x.shape[:-2], smallest(*x.shape[-2:])), weak_type=False)
    if w.platform == "tpu":
        return linalg_tpu.reflections(w, effect, x, taus)
    require_lapack(w, effect)
    batch = len(x.shape) - 2
    packed, tau = foreign(
        w, lapack_name(w, x, "geqrf"), [x], [x.type.strong(), taus], batch, alias=0
    )
    return packed, tau


@rule(linalg.qr)
def lower_qr(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, full_matrices: bool
) -> list[Name]:
    """Householder's reflections, multiplied out."""
    return multiplied_out(w, *reflections(w, linalg.qr, x), *types)


def multiplied_out(
    w: Writer, packed: Name, tau: Name, q_type: ShapedArray, r_type: ShapedArray
) -> list[Name]:
    """The factors q and r that reflections and the triangle above them stand for."""
    batch = len(packed.shape) - 2
    reflectors = resized(w, packed, batch + 1, q_type.shape[-1])
    if w.platform == "tpu":
        q = linalg_tpu.multiplied_out(w, reflectors, tau)
    else:
        product = "ungqr" if is_complex(packed.dtype) else "orgqr"
        target = lapack_name(w, packed, product, "orgqr")
        (q,) = foreign(w, target, [reflectors, tau], [q_type], batch, alias=0)
    return [q, w.performed(triu, resized(w, packed, batch, r_type.shape[-2]))]


@rule(linalg.eigh)
def lower_eigh(w: Writer, types: Sequence[ShapedArray], x: Name, *, lower: bool) -> list[Name]:
    if w.platform == "tpu":
        return linalg_tpu.eigh(w, types, x, lower)
    require_lapack(w, linalg.eigh)
    batch = len(x.shape) - 2
    if is_cuda(w):
        target, attributes = "cusolver_syevd_ffi", f"algorithm = 0 : ui8, lower = {flag(lower)}"
    else:
        target = lapack_name(w, x, "heevd" if is_complex(x.dtype) else "syevd")
        attributes = f"mode = {ord('V')} : ui8, uplo = {ord('L' if lower else 'U')} : ui8"
    *results, info = foreign(w, target, [x], [*types, info_type(x, batch)], batch, attributes, 0)
    return [or_nan(w, y, info) for y in results]


@rule(linalg.svd)
def lower_svd(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    full_matrices: bool,
    compute_uv: bool,
    by_qr: bool = False,
) -> list[Name]:
    if w.platform != "tpu" or by_qr:
        require_lapack(w, linalg.svd)
    batch = len(x.shape) - 2
    m, n = x.shape[-2:]
    k = smallest(m, n)
    values = x.type.strong().update(shape=(*x.shape[:-2], k), dtype=real_dtype(x.dtype))
    if not k:  # LAPACK refuses an empty matrix
        zeros = [w.constant(0, t) for t in types]
        return [zeros[0], *[w.performed(identity_like, y) for y in zeros[1:]]]
    if w.platform == "tpu":
        return linalg_tpu.svd(w, types, x, full_matrices, compute_uv)
    if is_cuda(w):
        if by_qr or max(m, n) > _JACOBI:
            found = _svd_by_qr(w, x, values, types, full_matrices)
        else:
            found = _svd_by_jacobi(w, x, values, types, compute_uv)
        # cuSOLVER's code is that of success for a matrix with a NaN or an infinity.
        good = w.performed(all_finite, x)
        return [nan_unless(w, good, y) for y in found]
    x = w.performed(_nan_unless_finite, x)
    whole = not compute_uv or full_matrices
    u_type = x.type.strong().update(shape=(*x.shape[:-2], m, m if whole else k))
    v_type = x.type.strong().update(shape=(*x.shape[:-2], n if whole else k, n))
    mode = "N" if not compute_uv else ("A" if full_matrices else "S")
    _, s, u, vh, info = foreign(
        w,
        lapack_name(w, x, "gesvd" if by_qr else "gesdd"),
        [x],
        [x.type.strong(), values, u_type, v_type, info_type(x, batch)],
        batch,
        f"mode = {ord(mode)} : ui8",
        0,
    )
    return [or_nan(w, y, info) for y in ((s, u, vh) if compute_uv else (s,))]


def _nan_unless_finite(x: Any) -> Any:
    """LAPACK's singular values of a matrix with an infinity never end; those of a NaN are NaN."""
    parts = (real(x), imag(x)) if is_complex(typeof(x).dtype) else (x,)
    return select_n(reduce(and_, map(is_finite, parts)), float("nan"), x)


def _svd_by_jacobi(
    w: Writer, x: Name, values: ShapedArray, types: Sequence[ShapedArray], compute_uv: bool
) -> list[Name]:
    """cuSOLVER's Jacobi method, of u and v; of square ones the columns asked for are taken.

    Matrices of up to 32 rows and columns are done in batches, which have square ones alone.
    """
    batch = len(x.shape) - 2
    m, n = x.shape[-2:]
    k = smallest(m, n)
    economical = k > 32 and (not compute_uv or types[1].shape[-1] == k)
    full = [
        x.type.strong().update(shape=(*x.shape[:-2], size, k if economical else size))
        for size in (m, n)
    ]
    _, s, u, v, info = foreign(
        w,
        "cusolver_gesvdj_ffi",
        [x],
        [x.type.strong(), values, *full, info_type(x, batch)],
        batch,
        f"compute_uv = {flag(compute_uv)}, full_matrices = {flag(not economical)}",
        0,
    )
    if not compute_uv:
        return [or_nan(w, s, info)]
    u = resized(w, u, batch + 1, types[1].shape[-1])
    vh = w.performed(adjoint, resized(w, v, batch + 1, types[2].shape[-2]))
    return [or_nan(w, y, info) for y in (s, u, vh)]


_JACOBI = 1024
"""The largest matrix that is decomposed by Jacobi's method on a GPU, as jax has it."""


def _svd_by_qr(
    w: Writer, x: Name, values: ShapedArray, types: Sequence[ShapedArray], full_matrices: bool
) -> list[Name]:
    """cuSOLVER's QR method, of tall matrices: a wide one is given by rows, as its transpose."""
    batch = len(x.shape) - 2
    m, n = x.shape[-2:]
    wide, full, k = m < n, full_matrices and len(types) > 1, smallest(m, n)
    u, vh = (
        x.type.strong().update(shape=(*x.shape[:-2], *shape))
        for shape in ((m, m if full else k), (n if full else k, n))
    )
    _, s, left, right, info = foreign(
        w,
        "cusolver_gesvd_ffi",
        [x],
        [x.type.strong(), values, *((vh, u) if wide else (u, vh)), info_type(x, batch)],
        batch,
        f"compute_uv = {flag(len(types) > 1)}, full_matrices = {flag(full)}, "
        f"transposed = {flag(wide)}",
        0,
        by_columns=not wide,
    )
    found = (s, right, left) if wide else (s, left, right)
    return [or_nan(w, y, info) for y in found[: len(types)]]


@rule(linalg.eig)
def lower_eig(
    w: Writer,
    types: Sequence[ShapedArray],
    x: Name,
    *,
    compute_left: bool,
    compute_right: bool,
) -> list[Name]:
    if 0 in x.shape:
        return [w.constant(0, t) for t in types]
    if w.platform == "tpu":
        return linalg_tpu.eig(w, types, x, compute_left, compute_right)
    if not is_cuda(w):
        return eigenvalues.by_lapack(w, types, x, compute_left, compute_right)
    if compute_left:
        return eigenvalues.by_lapack_for_gpu(w, types, x, compute_left, compute_right)
    return eigenvalues.by_cusolver(w, types, x, compute_right)
