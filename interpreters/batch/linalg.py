"""Batching of linear algebra: the batch is one more axis before the matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effax.effects.effect import Effect
from effax.effects.rows import linalg, shape
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch, all_batched, rule


def of_one_operand(effect: Effect) -> Callable[..., Any]:
    def of_one_operand_batch(
        handler: Batch, values: list[Any], batched: list[bool], **attributes: Any
    ) -> Any:
        done = effect(*values, **attributes)
        return done, ([True] * len(done) if effect.multiple else True)

    return of_one_operand_batch


for _effect in (
    linalg.cholesky,
    linalg.lu,
    linalg.pivots_to_permutation,
    linalg.qr,
    linalg.eigh,
    linalg.svd,
    linalg.eig,
):
    rule(_effect)(of_one_operand(_effect))


@rule(linalg.triangular_solve)
def triangular_solve_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, left_side: bool, **attributes: Any
) -> Any:
    """One matrix for many right sides: they are one right side, with more columns (or rows)."""
    a, b = values
    if batched[0] or typeof(a).ndim > 2:
        both = all_batched(handler, values, batched)
        return linalg.triangular_solve(*both, left_side=left_side, **attributes), True
    size, m, n = typeof(b).shape
    if not left_side:
        many = shape.reshape(b, shape=(size * m, n))
        done = linalg.triangular_solve(a, many, left_side=False, **attributes)
        return shape.reshape(done, shape=(size, m, n)), True
    many = shape.reshape(shape.transpose(b, permutation=(1, 0, 2)), shape=(m, size * n))
    done = linalg.triangular_solve(a, many, left_side=True, **attributes)
    return shape.transpose(shape.reshape(done, shape=(m, size, n)), permutation=(1, 0, 2)), True
