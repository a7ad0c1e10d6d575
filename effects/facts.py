"""Facts about effects that hold for every operand: columns derive cells from them."""

from __future__ import annotations

from enum import Flag, auto
from typing import Final


class Facts(Flag):
    """Facts of an effect's row besides its types."""

    NONE = 0
    POINTWISE = auto()
    """Element i of the result depends on element i of each operand, and on no other: the axis of a
    batch is one more axis."""
    LINEAR = auto()
    """Linear in all operands taken together: the tangent goes the same way."""
    BILINEAR = auto()
    """Linear in each of its two operands: the product rule."""
    STILL = auto()
    """The result is constant in the operands: it has no tangent."""
    SOUND = auto()
    """The result is NaN only where an operand is: no check for NaN is needed."""
    SPREADING = auto()
    """An element of the one result is NaN if one of any operand is."""


NONE: Final = Facts.NONE
POINTWISE: Final = Facts.POINTWISE
LINEAR: Final = Facts.LINEAR
BILINEAR: Final = Facts.BILINEAR
STILL: Final = Facts.STILL
SOUND: Final = Facts.SOUND
SPREADING: Final = Facts.SPREADING
