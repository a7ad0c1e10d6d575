"""Batching of condensed forms: the batch is one more axis before the matrices."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import condensed
from effax.interpreters.batch.batched import Batch, all_batched, rule
from effax.interpreters.batch.linalg import of_one_operand

for _effect in (
    condensed.schur,
    condensed.hessenberg,
    condensed.reflections,
    condensed.tridiagonal,
    condensed.pivoted_qr,
):
    rule(_effect)(of_one_operand(_effect))


@rule(condensed.tridiagonal_solve)
def tridiagonal_solve_batch(
    handler: Batch, values: list[Any], batched: list[bool], **attributes: Any
) -> Any:
    every = all_batched(handler, values, batched)
    return condensed.tridiagonal_solve(*every, **attributes), True
