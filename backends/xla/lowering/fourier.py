"""Fourier transforms in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence

from effax.backends.xla.lowering.shape import listed
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.rows import fourier
from effax.effects.types import ShapedArray


@rule(fourier.fft)
def lower_fft(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, fft_type: str, fft_lengths: tuple[int, ...]
) -> Name:
    if 0 in x.shape:  # an empty batch
        return w.constant(0, types[0])
    return w.op(
        f"stablehlo.fft {x}, type = {fft_type}, length = {listed(fft_lengths)} : ({x.text}) -> "
        f"{tensor(types[0])}",
        types[0],
    )
