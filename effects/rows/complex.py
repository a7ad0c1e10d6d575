"""Complex: parts of complex numbers, and complex numbers of parts."""

from __future__ import annotations

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, POINTWISE, SOUND
from effax.effects.signature import COMPLEX, same, unary
from effax.effects.types import ShapedArray, complex_dtype, float32, float64, real_dtype

FAMILY = "complex"

real = unary("real", FAMILY, COMPLEX, real_dtype, facts=LINEAR | SOUND)
"""The real part."""
imag = unary("imag", FAMILY, COMPLEX, real_dtype, facts=LINEAR | SOUND)
"""The imaginary part."""
conj = unary("conj", FAMILY, COMPLEX, facts=LINEAR | SOUND)
"""The complex conjugate."""


def _complex_type(re: ShapedArray | None, im: ShapedArray | None) -> ShapedArray:
    part = same("complex", (re, im))
    if part.dtype not in (float32, float64):
        raise TypeError(f"complex takes parts of float32 or float64, but got {part.str_short()}")
    return part.update(dtype=complex_dtype(part.dtype))


complex = Effect(
    "complex", family=FAMILY, typing=_complex_type, literals=True, facts=POINTWISE | SOUND
)
"""The complex number of a real and an imaginary part."""
