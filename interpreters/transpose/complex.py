"""Transposes of complex parts, with respect to the bilinear form (x, y) -> Re(x y)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows.complex import complex, conj, imag, real
from effax.effects.rows.elementwise import neg
from effax.interpreters.transpose.linear import is_linear, rule, unary


@unary(real)
def real_transpose(ct: Any, x: Any) -> Any:
    """The cotangent as a complex number."""
    return complex(ct, 0.0)


@unary(imag)
def imag_transpose(ct: Any, x: Any) -> Any:
    """Minus i times the cotangent: Im(x) c = Re(x (-i c))."""
    return complex(0.0, neg(ct))


@unary(conj)
def conj_transpose(ct: Any, x: Any) -> Any:
    """The conjugate."""
    return conj(ct)


@rule(complex)
def complex_transpose(ct: Any, x: Any, y: Any) -> Sequence[Any]:
    """The real part, and the opposite of the imaginary part."""
    return real(ct) if is_linear(x) else None, neg(imag(ct)) if is_linear(y) else None
