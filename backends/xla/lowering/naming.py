"""Names are not written; on CPU there is one memory, elsewhere XLA moves values between several."""

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


class InMemory(Name):
    """The name of a value in another memory than the device's own."""

    __slots__ = ("kind",)

    kind: str


@rule(naming.moved)
def lower_moved(w: Writer, types: Sequence[ShapedArray], x: Name, *, src: str, dst: str) -> Name:
    if w.platform == "cpu":
        return x
    w.leave = _brought_back
    placed = _placed(w, x, dst)
    if dst == "device" or src == "device":  # a residual's, which `checkpoint` moves back
        return placed
    there = InMemory(placed)
    there.type, there.kind = placed.type, dst
    return there


def _placed(w: Writer, x: Name, kind: str) -> Name:
    return w.op(
        f"stablehlo.custom_call @annotate_device_placement({x}) {{has_side_effect = true, "
        f'mhlo.frontend_attributes = {{_xla_buffer_placement = "{kind}"}}}} '
        f": ({x.text}) -> {x.text}",
        x.type,
    )


def _brought_back(w: Writer, results: Sequence[Name]) -> list[Name]:
    """Results of programs, in the device's memory: for a GPU, XLA would leave them elsewhere."""
    for x in results:
        if isinstance(x, InMemory):
            raise NotImplementedError(
                f"the result of a program in memory '{x.kind}' of a {w.platform}: memories other "
                "than the device's are for values inside of programs; move it back at the end by "
                "device_put(x, memory.Space.Device), or keep it in a NumPy array"
            )
    return [_placed(w, x, "device") for x in results]


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
