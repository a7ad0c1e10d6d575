"""Checks under checkify: this is where they are answered."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.failures import Site
from effax.effects.rows.check import check, debug_check
from effax.effects.rows.logical import not_
from effax.effects.types import typeof
from effax.interpreters.checkify.checking import Checkify, rule


@rule(check, debug_check)
def claim_check(
    handler: Checkify, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> Any:
    """A claim of a kind that nobody asked for is left to an outer checkify, if there is one."""
    site: Site = attributes["site"]
    holds, *payload = operands
    if site.kind not in handler.kinds:
        return debug_check(*operands, site=site)
    handler.note(site.in_lanes(typeof(holds).shape), not_(holds), payload)
    return ()
