"""Checks in the reference: one that does not hold raises."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.check import check, debug_check
from effax.effects.failures import Site, require


@rule(check)
def reference_check(
    holds: np.ndarray[Any, Any], *payload: np.ndarray[Any, Any], site: Site
) -> list[np.ndarray[Any, Any]]:
    require(site, holds, payload)
    return []


@rule(debug_check)
def reference_debug_check(*operands: np.ndarray[Any, Any], site: Site) -> list[Any]:
    return []
