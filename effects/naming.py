"""Naming: values that a policy of `checkpoint` can speak of, and the memory it puts them in."""

from __future__ import annotations

from effax.effects.effect import Effect
from effax.effects.types import ShapedArray


def _name_type(x: ShapedArray, *, name: str) -> ShapedArray:
    return x


named = Effect("name", family="naming", typing=_name_type)
"""`name(x, name)`: x itself, under a name."""


def _moved_type(x: ShapedArray, *, src: str, dst: str) -> ShapedArray:
    return x


moved = Effect("to_memory", family="naming", typing=_moved_type)
"""`to_memory(x, src, dst)`: x itself, in another memory of its device, by the names of both."""
