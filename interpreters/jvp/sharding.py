"""Shardings under jvp: a tangent is cut up as its primal is."""

from __future__ import annotations

from effax.effects import sharding
from effax.interpreters.jvp.dual import linear

linear(sharding.with_sharding_constraint)
