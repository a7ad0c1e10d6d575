"""Names are not written; and on CPU there is one memory, whatever its names."""

from __future__ import annotations

from collections.abc import Sequence

from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects import naming
from effax.effects.types import ShapedArray


@rule(naming.named)
def lower_named(w: Writer, types: Sequence[ShapedArray], x: Name, *, name: str) -> Name:
    return x


@rule(naming.moved)
def lower_moved(w: Writer, types: Sequence[ShapedArray], x: Name, *, src: str, dst: str) -> Name:
    if w.platform != "cpu":
        raise NotImplementedError(
            f"moving a value from memory '{src}' to '{dst}' is not "
            f"supported on {w.platform}; leave it where it is (in a policy of checkpoint: "
            "save_only_these_names), or compute it again"
        )
    return x
