"""Elementwise effects under jvp: the chain rule over the table of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from effax.effects.effect import Effect
from effax.effects.rows import elementwise
from effax.effects.rows.complex import complex, conj, imag, real
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import abs, div, mul, neg, sign, sub
from effax.effects.types import finfo, is_complex, is_float, typeof
from effax.interpreters.composites.calculus import along, not_zero, partials, tables
from effax.interpreters.jvp.dual import rule, total


def chain_rule(effect: Effect) -> Callable[..., Any]:
    """The rule of an effect in the table: the sum of its partial derivatives times the tangents."""

    if len(partials[effect]) == 1 and callable(partials[effect][0]):
        return _unary_chain_rule(effect)

    def chain_rule_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
        ans = effect(*primals, **attributes)
        terms = [
            along(effect, i, t, ans, primals, attributes)
            for i, t in enumerate(tangents)
            if t is not None
        ]
        return ans, total(terms)

    return chain_rule_jvp


def _unary_chain_rule(effect: Effect) -> Callable[..., Any]:
    """The same where there is one operand, with a formula for its derivative."""
    derivative: Any
    (derivative,) = partials[effect]

    def unary_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
        (x,), (dx,) = primals, tangents
        ans = effect(x, **attributes)
        return ans, None if dx is None else mul(dx, derivative(ans, x, **attributes))

    return unary_jvp


def differentiate(row: ModuleType) -> None:
    """Fill the cells of the effects of a row that are in the table of derivatives."""
    for effect, parts in tables[row].items():
        if any(parts):
            rule(effect, pure=True)(chain_rule(effect))


differentiate(elementwise)
_real_abs_jvp = chain_rule(abs)


@rule(div, pure=True)
def div_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """One reciprocal, by which derivatives of all orders multiply: XLA begins a kernel at each
    quotient that is read twice, 29 of them in the sixth derivative of `sin(x) / (1 + x * x)`."""
    (x, y), (dx, dy) = primals, tangents
    ans = div(x, y)
    if dy is None:
        return ans, None if dx is None else div(dx, y)
    if _has_few_exponents(typeof(y).dtype):
        along_y = mul(dy, ans)
        return ans, div(neg(along_y) if dx is None else sub(dx, along_y), y)
    inverse = div(1.0, y)
    if dx is None:
        return ans, mul(dy, neg(mul(ans, inverse)))
    return ans, mul(sub(dx, mul(dy, ans)), inverse)


def _has_few_exponents(dtype: Any) -> bool:
    """Whether reciprocals of many large numbers are not normal, as of float16 from 2^14 on."""
    return is_float(dtype) and int(finfo(dtype).nexp) < 8


@rule(abs, pure=True)
def abs_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """The absolute value of a complex number moves by the tangent's part along the number."""
    (x,), (dx,) = primals, tangents
    if dx is None or not is_complex(typeof(x).dtype):
        return _real_abs_jvp(primals, tangents)
    ans = abs(x)
    size = convert_element_type(ans, dtype=typeof(x).dtype, weak_type=False)
    return ans, real(mul(dx, div(conj(x), not_zero(size))))


@rule(sign, pure=True)
def sign_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """A complex number of length 1 turns by the tangent's part across it; a real sign is still."""
    (x,), (dx,) = primals, tangents
    ans = sign(x)
    if dx is None or not is_complex(typeof(x).dtype):
        return ans, None
    angle = div(imag(mul(dx, conj(ans))), not_zero(abs(x)))
    return ans, mul(ans, complex(0.0, angle))
