"""Checks backwards: a check of a tangent leaves nothing to propagate."""

from __future__ import annotations

from typing import Any

from effax.effects.rows.check import check, debug_check
from effax.interpreters.transpose.linear import rule


@rule(check, debug_check)
def check_transpose(cts: list[Any], *operands: Any, **attributes: Any) -> list[Any]:
    return [None for _ in operands]
