"""Conversions under batch: the batch axis is one more axis."""

from __future__ import annotations

from effax.effects.conversion import (
    bitcast_convert_type,
    convert_element_type,
    reduce_precision,
)
from effax.interpreters.batch.batched import elementwise

elementwise(convert_element_type, bitcast_convert_type, reduce_precision)
