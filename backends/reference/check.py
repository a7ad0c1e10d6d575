"""Checks in the reference: one that does not hold raises."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.failures import Site, require
from effax.effects.rows.check import NAN, check, debug_check, detect


@rule(check)
def reference_check(
    holds: np.ndarray[Any, Any], *payload: np.ndarray[Any, Any], site: Site
) -> list[np.ndarray[Any, Any]]:
    require(site, holds, payload)
    return []


@rule(debug_check)
def reference_debug_check(*operands: np.ndarray[Any, Any], site: Site) -> list[Any]:
    return []


@rule(detect)
def reference_detect(
    *xs: np.ndarray[Any, Any], what: tuple[str, ...], covered: tuple[bool, ...], lanes: int
) -> list[np.ndarray[Any, Any]]:
    return [
        (x != x if question == NAN else x == 0).any(axis=tuple(range(lanes, x.ndim)))
        for x, question in zip(xs, what, strict=True)
    ]
