"""Derivatives of condensed forms: of triangles and of systems; the others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effax.effects.effect import Effect
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.matrices import rows, take_rows, transpose
from effax.effects.rows import condensed, shape
from effax.effects.rows.elementwise import mul, neg
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import rule, total
from effax.interpreters.jvp.linalg import qr_tangents

_ADVICE = {
    condensed.schur: "use eigvals or eigh, which have derivatives",
    condensed.hessenberg: "use qr or eigh, which have derivatives",
    condensed.reflections: "use qr, whose q and r have derivatives",
    condensed.tridiagonal: "use eigh, which has a derivative",
}


def _without(effect: Effect, advice: str) -> Callable[..., Any]:
    def refused_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
        if tangents[0] is not None:
            raise UnsupportedDerivativeError(
                f"{effect.name}: its derivative is not implemented; {advice}"
            )
        done = effect(*primals, **attributes)
        return done, [None] * len(done)

    return refused_jvp


for _effect, _advice in _ADVICE.items():
    rule(_effect, pure=True)(_without(_effect, _advice))


@rule(condensed.pivoted_qr, pure=True)
def pivoted_qr_jvp(primals: list[Any], tangents: list[Any], *, full_matrices: bool) -> Any:
    """The derivative of `qr`, for the columns in their new order."""
    q, r, order = condensed.pivoted_qr(primals[0], full_matrices=full_matrices)
    if tangents[0] is None:
        return [q, r, order], [None, None, None]
    a, da = (transpose(take_rows(transpose(x), order)) for x in (primals[0], tangents[0]))
    return [q, r, order], [*qr_tangents(q, r, a, da, full_matrices), None]


@rule(condensed.tridiagonal_solve, pure=True)
def tridiagonal_solve_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """`dx = a⁻¹ (db - da x)`."""
    dl, d, du, b = primals
    x = condensed.tridiagonal_solve(dl, d, du, b, **attributes)
    *diagonals, db = tangents
    moved = [None if t is None else neg(_times(t, x, i)) for i, t in enumerate(diagonals)]
    side = total([db, *moved])
    if side is None:
        return x, None
    return x, condensed.tridiagonal_solve(dl, d, du, side, **attributes)


def _times(diagonal: Any, x: Any, which: int) -> Any:
    """The product of a matrix that is one diagonal, the lower, main or upper, with x.

    The element of a diagonal that is not read is cut off. So its derivative is 0 also where x, or
    a cotangent, is infinite.
    """
    axis = typeof(x).ndim - 2
    n = typeof(x).shape[axis]
    if which == 1 or n == 0:
        return mul(rows(diagonal, x), x)
    read, met = ((1, n), (0, n - 1)) if which == 0 else ((0, n - 1), (1, n))
    met_rows = shape.slice_axis(x, axis, *met)
    product = mul(rows(shape.slice_axis(diagonal, axis, *read), met_rows), met_rows)
    return shape.pad_axis(product, axis, *((1, 0) if which == 0 else (0, 1)))
