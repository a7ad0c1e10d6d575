"""Selections under checkify: NaN that is not selected harms nobody, and was noted where made."""

from __future__ import annotations

from effax.effects.selection import clamp, select_n
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(select_n, clamp)
