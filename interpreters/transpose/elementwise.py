"""Transposes of arithmetic, where it is linear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows.elementwise import add, copy, div, mul, neg, sub
from effax.interpreters.transpose.linear import is_linear, rule, unary


@rule(add)
def add_transpose(ct: Any, x: Any, y: Any) -> Sequence[Any]:
    """The same cotangent for both."""
    return ct if is_linear(x) else None, ct if is_linear(y) else None


@rule(sub)
def sub_transpose(ct: Any, x: Any, y: Any) -> Sequence[Any]:
    """The cotangent for x, its opposite for y."""
    return ct if is_linear(x) else None, neg(ct) if is_linear(y) else None


@rule(mul, one=True)
def mul_transpose(ct: Any, x: Any, y: Any) -> Sequence[Any]:
    """The cotangent times the factor that is known."""
    return (mul(ct, y), None) if is_linear(x) else (None, mul(x, ct))


@rule(div, fixed=(1,))
def div_transpose(ct: Any, x: Any, y: Any) -> Sequence[Any]:
    """The cotangent divided by the denominator."""
    return div(ct, y), None


@unary(neg)
def neg_transpose(ct: Any, x: Any) -> Any:
    """The opposite of the cotangent."""
    return neg(ct)


@unary(copy)
def copy_transpose(ct: Any, x: Any) -> Any:
    """The cotangent itself."""
    return ct
