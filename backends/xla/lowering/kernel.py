"""Kernels in StableHLO: a call of a compiler of kernels, or the loop over the grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.rows.kernel import kernel
from effax.effects.types import ShapedArray
from effax.interpreters.functor.kernel import loop


@rule(kernel)
def lower_kernel(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, **attributes: Any
) -> list[Name]:
    compiled = not attributes.get("interpret") and 0 not in attributes["grid"]
    if compiled and w.platform in ("cuda", "gpu"):
        from effax.backends.xla.lowering.blocks.triton_kernel import lower_triton

        return lower_triton(w, types, operands, attributes)
    if compiled and w.platform == "tpu":
        from effax.backends.xla.lowering.blocks.mosaic_kernel import lower_mosaic

        return lower_mosaic(w, types, operands, attributes)
    return interpreted(w, operands, attributes)


def interpreted(w: Writer, operands: Sequence[Name], attributes: dict[str, Any]) -> list[Name]:
    """Write the loop over the grid, for any platform."""
    return w.body(loop([x.type for x in operands], attributes), operands)
