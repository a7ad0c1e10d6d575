"""Transcendental effects under jvp: the chain rule over the table of derivatives."""

from __future__ import annotations

from effax.effects.transcendental import FAMILY
from effax.interpreters.jvp.elementwise import differentiate

differentiate(FAMILY)
