"""Conversions under checkify: NaN stays NaN, and bits that happen to be NaN were asked for."""

from __future__ import annotations

from effax.effects.conversion import bitcast_convert_type, convert_element_type, reduce_precision
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(convert_element_type, bitcast_convert_type, reduce_precision)
