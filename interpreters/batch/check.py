"""Checks of a batch: one claim with an answer for each lane."""

from __future__ import annotations

from typing import Any

from effax.effects.check import check, debug_check
from effax.effects.failures import Site
from effax.interpreters.batch.batched import Batch, all_batched, rule


@rule(check)
def check_batch(handler: Batch, values: list[Any], batched: list[bool], *, site: Site) -> Any:
    return check(*all_batched(handler, values, batched), site=site), []


@rule(debug_check)
def debug_check_batch(handler: Batch, values: list[Any], batched: list[bool], *, site: Site) -> Any:
    return debug_check(*all_batched(handler, values, batched), site=site), []
