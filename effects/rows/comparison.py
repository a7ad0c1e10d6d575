"""Comparison: questions about two numbers, answered by Booleans."""

from __future__ import annotations

from effax.effects.facts import SOUND, STILL
from effax.effects.signature import ANY, ORDERED, nary
from effax.effects.types import bool_

FAMILY = "comparison"

eq = nary("eq", FAMILY, ANY, lambda _: bool_, facts=STILL | SOUND)
"""`x == y`; NaN equals nothing."""
ne = nary("ne", FAMILY, ANY, lambda _: bool_, facts=STILL | SOUND)
"""`x != y`."""
lt = nary("lt", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""`x < y`."""
le = nary("le", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""`x <= y`."""
gt = nary("gt", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""`x > y`."""
ge = nary("ge", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""`x >= y`."""
eq_to = nary("eq_to", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""Equality in the total order of floats: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
lt_to = nary("lt_to", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""Whether x comes before y in the total order of floats."""
le_to = nary("le_to", FAMILY, ORDERED, lambda _: bool_, facts=STILL | SOUND)
"""Whether x comes before y in the total order of floats, or is y."""
