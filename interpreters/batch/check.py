"""Checks of a batch: one claim with an answer for each lane."""

from __future__ import annotations

from typing import Any

from effax.effects.failures import Site
from effax.effects.rows.check import check, debug_check, detect
from effax.interpreters.batch.batched import Batch, all_batched, rule


@rule(check)
def check_batch(handler: Batch, values: list[Any], batched: list[bool], *, site: Site) -> Any:
    return check(*all_batched(handler, values, batched), site=site), []


@rule(debug_check)
def debug_check_batch(handler: Batch, values: list[Any], batched: list[bool], *, site: Site) -> Any:
    return debug_check(*all_batched(handler, values, batched), site=site), []


@rule(detect)
def detect_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    what: tuple[str, ...],
    covered: tuple[bool, ...],
    lanes: int,
) -> Any:
    """Arrays of the batch and others are asked apart: the answer for the others is one for all.

    What covers an array need not be in the same part, so covering holds only where all are.
    """
    covered = covered if all(batched) else (False,) * len(values)
    results: list[Any] = [None] * len(values)
    for own in (True, False):
        places = [i for i, b in enumerate(batched) if b is own]
        if places:
            answers = detect(
                *(values[i] for i in places),
                what=tuple(what[i] for i in places),
                covered=tuple(covered[i] for i in places),
                lanes=lanes + own,
            )
            for i, one in zip(places, answers, strict=True):
                results[i] = one
    return results, batched
