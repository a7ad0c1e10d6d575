"""Logical: Booleans, and the bits of integers."""

from __future__ import annotations

from effax.effects.facts import SOUND, STILL
from effax.effects.signature import BITS, INTEGER, nary, unary

FAMILY = "logical"

and_ = nary("and", FAMILY, BITS, facts=STILL | SOUND)
"""`x & y`, bit by bit."""
or_ = nary("or", FAMILY, BITS, facts=STILL | SOUND)
"""`x | y`, bit by bit."""
xor = nary("xor", FAMILY, BITS, facts=STILL | SOUND)
"""`x ^ y`, bit by bit."""
not_ = unary("not", FAMILY, BITS, facts=STILL | SOUND)
"""`~x`, bit by bit."""
shift_left = nary("shift_left", FAMILY, INTEGER, facts=STILL | SOUND)
"""`x << y`; zero where y is not below the width of x."""
shift_right_logical = nary("shift_right_logical", FAMILY, INTEGER, facts=STILL | SOUND)
"""x shifted right by y bits, zeros coming in."""
shift_right_arithmetic = nary("shift_right_arithmetic", FAMILY, INTEGER, facts=STILL | SOUND)
"""x shifted right by y bits, copies of the sign bit coming in."""
population_count = unary("population_count", FAMILY, INTEGER, facts=STILL | SOUND)
"""The number of bits that are set."""
clz = unary("clz", FAMILY, INTEGER, facts=STILL | SOUND)
"""The number of bits before the first that is set."""
