"""Names are not written."""

from __future__ import annotations

from collections.abc import Sequence

from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects import naming
from effax.effects.types import ShapedArray


@rule(naming.named)
def lower_named(w: Writer, types: Sequence[ShapedArray], x: Name, *, name: str) -> Name:
    return x
