"""Naming: values that a policy of `checkpoint` can speak of, their memory, and what is kept.

And values of which XLA is told something, and what was not kept: `unstored`.
"""

from __future__ import annotations

from collections.abc import Sequence

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, POINTWISE, SOUND, STILL
from effax.effects.provenance import Tags
from effax.effects.types import ShapedArray


def _name_type(x: ShapedArray, *, name: str) -> ShapedArray:
    return x


named = Effect("name", family="naming", typing=_name_type, facts=POINTWISE | SOUND)
"""`name(x, name)`: x itself, under a name."""


def _annotated_type(x: ShapedArray, *, metadata: Tags) -> ShapedArray:
    return x


annotated = Effect(
    "xla_metadata_value", family="naming", typing=_annotated_type, facts=POINTWISE | LINEAR | SOUND
)
"""`xla_metadata_value(x, metadata)`: x itself; XLA gets the operation that makes it with metadata.
"""


def _moved_type(x: ShapedArray, *, src: str, dst: str) -> ShapedArray:
    return x


moved = Effect("to_memory", family="naming", typing=_moved_type, facts=POINTWISE | LINEAR | SOUND)
"""`to_memory(x, src, dst)`: x itself, in another memory of its device, by the names of both."""


def _nothing(*operands: ShapedArray, prevent: bool) -> tuple[ShapedArray, ...]:
    return ()


sink = Effect("dce_sink", family="naming", typing=_nothing, multiple=True, row="sink")
"""`dce_sink(*xs, prevent)`: keep values in the program, and with `prevent` in what is compiled."""


def _announced(
    *, effect: str, place: str, result_types: tuple[ShapedArray, ...]
) -> Sequence[ShapedArray]:
    return result_types


unstored = Effect("unstored", family="naming", typing=_announced, multiple=True, facts=STILL)
"""`unstored(effect, place, result_types)`: answers that an effect gave, and that were not kept.

It stands in programs that a derivative computes again; whoever performs it is refused, by the name
of the effect and the line that performed it.
"""
