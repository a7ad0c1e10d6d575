"""Condensed forms as calls of LAPACK on the CPU; in effects where a platform has no library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from effax.backends.xla.lowering import linalg_tpu
from effax.backends.xla.lowering.linalg import multiplied_out, reflections
from effax.backends.xla.lowering.matrices import householder, schur, tridiagonal
from effax.backends.xla.lowering.matrices.batches import write_for_batch
from effax.backends.xla.lowering.matrices.calls import (
    flag,
    foreign,
    info_type,
    is_cuda,
    lapack_name,
    or_nan,
)
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.effect import Effect
from effax.effects.matrices import identity_like
from effax.effects.rows import condensed, shape
from effax.effects.types import ShapedArray, int32, is_complex
from effax.effects.value import smallest


@rule(condensed.schur)
def lower_schur(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, compute_vectors: bool
) -> list[Name]:
    """LAPACK gives eigenvalues too, of a real matrix as two parts, and how many it has sorted."""
    if 0 in x.shape:
        return [w.constant(0, t) for t in types]
    if w.platform != "cpu":
        function = partial(schur.schur, compute_vectors=compute_vectors)
        return _written(w, condensed.schur, function, types, x)
    batch = len(x.shape) - 2
    square = types[0]
    values = square.update(shape=square.shape[:-1])
    parts = [values] * (1 if is_complex(x.dtype) else 2)
    count = info_type(x, batch)
    attributes = f"mode = {ord('V' if compute_vectors else 'N')} : ui8, sort = {ord('N')} : ui8"
    results = [square, square, *parts, count, count]
    form, vectors, *_, info = foreign(
        w, lapack_name(w, x, "gees"), [x], results, batch, attributes, 0
    )
    return [or_nan(w, y, info) for y in (form, vectors)[: len(types)]]


@rule(condensed.hessenberg)
def lower_hessenberg(w: Writer, types: Sequence[ShapedArray], x: Name) -> list[Name]:
    batch = len(x.shape) - 2
    n = x.shape[-1]
    if n < 2:
        return [x, w.constant(0, types[1])]
    if w.platform != "cpu":
        return _written(w, condensed.hessenberg, householder.hessenberg, types, x)
    results = [*types, info_type(x, batch)]
    attributes = f"low = 1 : i32, high = {n} : i32"
    *found, info = foreign(w, lapack_name(w, x, "gehrd"), [x], results, batch, attributes, 0)
    return [or_nan(w, y, info) for y in found]


def _written(
    w: Writer,
    effect: Effect,
    function: Callable[..., Any],
    types: Sequence[ShapedArray],
    x: Name,
) -> list[Name]:
    """Write a reduction in effects, for the dtypes that the platform's calls support too."""
    if w.platform == "tpu":
        linalg_tpu.require_32_bits(effect, x)
    return write_for_batch(w, function, types, x)


@rule(condensed.reflections)
def lower_reflections(w: Writer, types: Sequence[ShapedArray], x: Name) -> list[Name]:
    if 0 in x.shape[-2:]:
        return [x, w.constant(0, types[1])]
    return [*reflections(w, condensed.reflections, x)]


@rule(condensed.tridiagonal)
def lower_tridiagonal(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, lower: bool
) -> list[Name]:
    if 0 in x.shape:
        return [w.constant(0, t) for t in types]
    if not is_cuda(w) and w.platform != "cpu":
        function = partial(householder.tridiagonal, lower=lower)
        return _written(w, condensed.tridiagonal, function, types, x)
    batch = len(x.shape) - 2
    name = lapack_name(w, x, "hetrd" if is_complex(x.dtype) else "sytrd", "sytrd")
    attributes = f"uplo = {ord('L' if lower else 'U')} : ui8"
    if is_cuda(w):
        attributes = f"lower = {flag(lower)}"
    *found, info = foreign(w, name, [x], [*types, info_type(x, batch)], batch, attributes, 0)
    return [or_nan(w, y, info) for y in found]


@rule(condensed.pivoted_qr)
def lower_pivoted_qr(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, full_matrices: bool
) -> list[Name]:
    """Reflections multiplied out, as `qr` does."""
    q_type, r_type, order_type = types
    if w.platform != "cpu" and 0 in x.shape:
        order = w.performed(lambda x: _first_order(x, order_type), x)
        return [w.performed(identity_like, w.constant(0, q_type)), w.constant(0, r_type), order]
    own = x.type.strong()
    taus = own.update(shape=(*x.shape[:-2], smallest(*x.shape[-2:])))
    if w.platform == "cpu":
        packed, tau, order = _pivoted_by_lapack(w, [own, order_type, taus], x)
    else:
        results = [own, taus, order_type]
        packed, tau, order = _written(w, condensed.pivoted_qr, householder.pivoted, results, x)
    return [*multiplied_out(w, packed, tau, q_type, r_type), order]


def _first_order(x: Any, type: ShapedArray) -> Any:
    """The columns of x as they are."""
    return shape.iota(dtype=int32, shape=type.shape, dimension=len(type.shape) - 1)


def _pivoted_by_lapack(w: Writer, types: Sequence[ShapedArray], x: Name) -> tuple[Name, Name, Name]:
    """The reflections, their factors and the order; zero says that a column is free to move."""
    order = types[1]
    free = w.constant(0, order)
    packed, from_one, tau = foreign(
        w, lapack_name(w, x, "geqp3"), [x, free], types, len(x.shape) - 2, alias=0
    )
    return packed, tau, w.simple("subtract", [from_one, w.constant(1, order)], order)


@rule(condensed.tridiagonal_solve)
def lower_tridiagonal_solve(
    w: Writer,
    types: Sequence[ShapedArray],
    dl: Name,
    d: Name,
    du: Name,
    b: Name,
    *,
    perturb_singular: bool,
) -> Name:
    """By elimination with exchanges of rows, in effects where no library has it."""
    batch = len(b.shape) - 2
    if 0 in b.shape:
        return w.constant(0, types[0])
    gpu = is_cuda(w)
    if perturb_singular and (gpu or w.platform == "cpu"):
        return foreign(w, _PERTURBED[gpu], [dl, d, du, b], types, batch)[0]
    if gpu and b.shape[-2] > 2:  # cuSPARSE needs three rows or more
        return foreign(w, "cusparse_gtsv2_ffi", [dl, d, du, b], types, batch, alias=3)[0]
    if w.platform != "cpu":
        solve = partial(tridiagonal.solve, perturb_singular=perturb_singular)
        return w.performed(solve, dl, d, du, b)
    results = [*(x.type.strong() for x in (dl, d, du)), types[0], info_type(b, batch)]
    *_, found, info = foreign(w, lapack_name(w, b, "gtsv"), [dl, d, du, b], results, batch)
    return or_nan(w, found, info)


_PERTURBED = {False: "tridiagonal_solve_perturbed_ffi", True: "cu_tridiagonal_solve_perturbed"}
"""The functions that move small pivots, of jaxlib and of CUDA's plugin."""
