"""Condensed forms as calls of LAPACK, which the CPU only has; tridiagonal systems everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.linalg import reflections, resized
from effax.backends.xla.lowering.matrices.calls import (
    foreign,
    info_type,
    is_gpu,
    lapack_name,
    or_nan,
    require_cpu,
    require_lapack,
)
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.matrices import triu
from effax.effects.rows import condensed, control, shape
from effax.effects.rows.elementwise import div, mul, sub
from effax.effects.types import ShapedArray, is_complex, typeof
from effax.interpreters.stage import stage


@rule(condensed.schur)
def lower_schur(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, compute_vectors: bool
) -> list[Name]:
    """LAPACK gives eigenvalues too, of a real matrix as two parts, and how many it has sorted."""
    require_cpu(w, condensed.schur)
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
    require_cpu(w, condensed.hessenberg)
    batch = len(x.shape) - 2
    n = x.shape[-1]
    if n < 2:
        return [x, w.constant(0, types[1])]
    results = [*types, info_type(x, batch)]
    attributes = f"low = 1 : i32, high = {n} : i32"
    *found, info = foreign(w, lapack_name(w, x, "gehrd"), [x], results, batch, attributes, 0)
    return [or_nan(w, y, info) for y in found]


@rule(condensed.reflections)
def lower_reflections(w: Writer, types: Sequence[ShapedArray], x: Name) -> list[Name]:
    if 0 in x.shape[-2:]:
        return [x, w.constant(0, types[1])]
    return [*reflections(w, condensed.reflections, x)]


@rule(condensed.tridiagonal)
def lower_tridiagonal(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, lower: bool
) -> list[Name]:
    require_lapack(w, condensed.tridiagonal)
    batch = len(x.shape) - 2
    name = lapack_name(w, x, "hetrd" if is_complex(x.dtype) else "sytrd", "sytrd")
    attributes = f"uplo = {ord('L' if lower else 'U')} : ui8"
    if is_gpu(w):
        attributes = f"lower = {'true' if lower else 'false'}"
    *found, info = foreign(w, name, [x], [*types, info_type(x, batch)], batch, attributes, 0)
    return [or_nan(w, y, info) for y in found]


@rule(condensed.pivoted_qr)
def lower_pivoted_qr(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, full_matrices: bool
) -> list[Name]:
    """Reflections multiplied out, as `qr` does; a zero says that a column is free to move."""
    require_cpu(w, condensed.pivoted_qr)
    batch = len(x.shape) - 2
    m, n = x.shape[-2:]
    q_type, r_type, order = types
    free = w.constant(0, order)
    taus = x.type.strong().update(shape=(*x.shape[:-2], min(m, n)))
    packed, order_from_one, tau = foreign(
        w, lapack_name(w, x, "geqp3"), [x, free], [x.type.strong(), order, taus], batch, alias=0
    )
    reflectors = resized(w, packed, batch + 1, q_type.shape[-1])
    product = lapack_name(w, x, "ungqr" if is_complex(x.dtype) else "orgqr")
    (q,) = foreign(w, product, [reflectors, tau], [q_type], batch, alias=0)
    r = w.performed(triu, resized(w, packed, batch, r_type.shape[-2]))
    return [q, r, w.simple("subtract", [order_from_one, w.constant(1, order)], order)]


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
    """By elimination with exchanges of rows on the CPU and GPU, without them (Thomas) elsewhere."""
    if perturb_singular:
        require_cpu(w, condensed.tridiagonal_solve)
    if is_gpu(w) and b.shape[-2] > 2 and 0 not in b.shape:  # cuSPARSE needs three rows or more
        return foreign(w, "cusparse_gtsv2_ffi", [dl, d, du, b], types, len(b.shape) - 2, alias=3)[0]
    if w.platform != "cpu" or 0 in b.shape:
        return w.performed(_eliminate, dl, d, du, b)
    batch = len(b.shape) - 2
    if perturb_singular:
        return foreign(w, "tridiagonal_solve_perturbed_ffi", [dl, d, du, b], types, batch)[0]
    results = [*(x.type.strong() for x in (dl, d, du)), types[0], info_type(b, batch)]
    *_, found, info = foreign(w, lapack_name(w, b, "gtsv"), [dl, d, du, b], results, batch)
    return or_nan(w, found, info)


def _eliminate(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """Downwards, each row less its left neighbour's; then upwards."""
    type = typeof(b)
    last = type.ndim - 2
    first = (last, *range(last))
    diagonals = [shape.transpose(x, permutation=first) for x in (dl, d, du)]
    rows = shape.transpose(b, permutation=(*first, last + 1))
    row, side = typeof(rows).update(shape=typeof(rows).shape[1:]).strong(), type.shape[:last]
    element = row.update(shape=side)

    def spread(x: Any) -> Any:
        return shape.broadcast_in_dim(x, shape=row.shape, dims=tuple(range(len(side))))

    def down(upper: Any, value: Any, low: Any, middle: Any, high: Any, right: Any) -> Sequence[Any]:
        pivot = sub(middle, mul(low, upper))
        upper = div(high, pivot)
        value = div(sub(right, mul(spread(low), value)), spread(pivot))
        return [upper, value, upper, value]

    def up(below: Any, upper: Any, value: Any) -> Sequence[Any]:
        found = sub(value, mul(spread(upper), below))
        return [found, found]

    start = [shape.full(t.shape, 0, t.dtype) for t in (element, row)]
    descent = stage(down, [element, row, element, element, element, row], "down").program
    given = {"consts": 0, "length": type.shape[last], "unroll": 1}
    *_, uppers, values = control.scan(
        *start, *diagonals, rows, body=descent, carry=2, reverse=False, **given
    )
    ascent = stage(up, [row, element, row], "up").program
    _, found = control.scan(start[1], uppers, values, body=ascent, carry=1, reverse=True, **given)
    return shape.transpose(found, permutation=(*range(1, last + 1), 0, last + 1))
