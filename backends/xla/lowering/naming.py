"""Names are not written; and on CPU there is one memory, whatever its names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.callback import layout
from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.provenance import Tags
from effax.effects.rows import naming
from effax.effects.types import ShapedArray
from effax.interpreters.residual.replaying import unkept


@rule(naming.named)
def lower_named(w: Writer, types: Sequence[ShapedArray], x: Name, *, name: str) -> Name:
    return x


@rule(naming.annotated)
def lower_annotated(w: Writer, types: Sequence[ShapedArray], x: Name, *, metadata: Tags) -> Name:
    w.tag(x, metadata)
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


@rule(naming.sink)
def lower_sink(w: Writer, types: Sequence[ShapedArray], *xs: Name, prevent: bool) -> list[Name]:
    for x in xs if prevent and w.platform == "cpu" else ():
        w.ops(
            f"stablehlo.custom_call @dce_sink({x}) {{api_version = 4 : i32, backend_config = {{}}, "
            f"has_side_effect = true, operand_layouts = [{layout(x.type)}], result_layouts = []}} "
            f": ({x.text}) -> ()",
            (),
        )
    return []


@rule(naming.unstored)
def lower_unstored(w: Writer, types: Sequence[ShapedArray], **told: Any) -> list[Name]:
    raise UnsupportedDerivativeError(unkept(**told))
