"""Accuracy: elementary functions computed as exactly as someone asks for."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from effax.effects.effect import Effect, find_effect
from effax.effects.facts import POINTWISE
from effax.effects.types import ShapedArray


class AccuracyMode(enum.Enum):
    """The accuracy of an elementary function on hardware that offers a choice."""

    HIGHEST = 1
    DEFAULT = 2

    def __repr__(self) -> str:
        return f"AccuracyMode.{self.name}"

    __str__ = __repr__


def _check(tolerance: Tolerance, attribute: Any, value: Any) -> None:
    if value < 0:
        raise ValueError(f"Tolerances must be non-negative: {attribute.name}={value}")


@attrs.frozen(slots=True)
class Tolerance:
    """The largest allowed error of an elementary function.

    By `atol + rtol * abs(value)`, or by `ulps` places of the last digit. Raises `ValueError` where
    all three are zero, or one is negative.
    """

    atol: float = attrs.field(default=0.0, converter=float, validator=_check)
    rtol: float = attrs.field(default=0.0, converter=float, validator=_check)
    ulps: int = attrs.field(default=0, converter=int, validator=_check)

    def __attrs_post_init__(self) -> None:
        if not (self.atol or self.rtol or self.ulps):
            raise ValueError("At least one of atol, rtol, or ulps must be set.")


def _accurate_type(x: ShapedArray, *, function: str, accuracy: Any) -> ShapedArray:
    found: ShapedArray = find_effect(function).infer((x,), {})
    return found


accurate = Effect("accurate", family="accuracy", typing=_accurate_type, facts=POINTWISE)
"""`accurate(x, function, accuracy)`: the effect of that name, to a `Tolerance` or in a mode.

To all but the compiler it is the effect itself.
"""
