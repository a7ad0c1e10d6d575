"""Contractions under checkify: sums of products may give NaN."""

from __future__ import annotations

from effax.effects.contraction import dot_general
from effax.interpreters.checkify.checking import computes, spreads

computes(dot_general)
spreads(dot_general)
