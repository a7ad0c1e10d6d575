"""Systems solved from the factors of their matrices."""

from __future__ import annotations

from effax.effects import matrices
from effax.effects.rows import linalg, shape, sorting
from effax.effects.types import int32, typeof
from effax.effects.value import Array


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
