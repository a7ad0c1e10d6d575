"""Transcendental effects under jvp: the chain rule over the table of derivatives."""

from __future__ import annotations

from effax.effects.rows import transcendental
from effax.interpreters.jvp.elementwise import differentiate

differentiate(transcendental)
