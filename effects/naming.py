"""Naming: values that a policy of `checkpoint` can speak of."""

from __future__ import annotations

from effax.effects.effect import Effect
from effax.effects.types import ShapedArray


def _name_type(x: ShapedArray, *, name: str) -> ShapedArray:
    return x


named = Effect("name", family="naming", typing=_name_type)
"""`name(x, name)`: x itself, under a name."""
