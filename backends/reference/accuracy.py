"""Accuracy in the reference: it is as exact as it can be."""

from __future__ import annotations

from typing import Any

from effax.backends.reference.table import rule, rules
from effax.effects.effect import find_effect
from effax.effects.rows.accuracy import accurate


@rule(accurate)
def reference_accurate(x: Any, *, function: str, accuracy: Any) -> Any:
    return rules[find_effect(function)](x)
