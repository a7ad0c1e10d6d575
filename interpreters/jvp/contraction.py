"""Derivatives of the contraction family: the product rule."""

from __future__ import annotations

from effax.effects import contraction
from effax.interpreters.jvp.dual import bilinear

bilinear(contraction.dot_general)
