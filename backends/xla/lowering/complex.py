"""Complex parts in StableHLO."""

from __future__ import annotations

from collections.abc import Sequence

from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.rows.complex import complex, conj, imag, real
from effax.effects.types import ShapedArray, real_dtype


@rule(real)
def lower_real(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    return w.simple("real", [x], types[0])


@rule(imag)
def lower_imag(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    return w.simple("imag", [x], types[0])


@rule(complex)
def lower_complex(w: Writer, types: Sequence[ShapedArray], re: Name, im: Name) -> Name:
    return w.simple("complex", [re, im], types[0])


@rule(conj)
def lower_conj(w: Writer, types: Sequence[ShapedArray], x: Name) -> Name:
    part = types[0].update(dtype=real_dtype(x.dtype))
    re, im = w.simple("real", [x], part), w.simple("imag", [x], part)
    return w.simple("complex", [re, w.simple("negate", [im], part)], types[0])
