"""Special functions under jvp: the chain rule over the table of derivatives."""

from __future__ import annotations

from effax.effects.rows import special
from effax.interpreters.jvp.elementwise import differentiate

differentiate(special)
