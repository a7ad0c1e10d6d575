"""Reductions under checkify: what a user's function makes of elements may be NaN."""

from __future__ import annotations

from effax.effects.rows.reduction import reduce
from effax.effects.rows.window import reduce_window
from effax.interpreters.checkify.checking import arithmetic, rule

rule(reduce, reduce_window)(arithmetic)
