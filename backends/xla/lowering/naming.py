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
            f"checkpoint_policies: moving a residual from memory '{src}' to '{dst}' is not "
            f"supported on {w.platform}; store it (save_only_these_names) or compute it again"
        )
    return x
