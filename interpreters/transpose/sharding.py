"""Shardings under transposition: a cotangent is cut up as its value is."""

from __future__ import annotations

from typing import Any

from effax.effects import sharding
from effax.interpreters.transpose.linear import unary


@unary(sharding.with_sharding_constraint)
def constraint_transpose(ct: Any, x: Any, *, sharding: Any) -> Any:
    return _constrained(ct, sharding=sharding)


_constrained = sharding.with_sharding_constraint
