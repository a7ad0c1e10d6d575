"""The derivatives of elementary functions: one table, for every interpreter that needs them.

`partials[effect]` gives, for each operand, the derivative of the result with respect to it:

- a function of `(ans, *operands, **attributes)`, where `ans` is the effect's own result;
- `over(f)`, when the derivative is `1 / f(ans, *operands)`;
- a Python number, when it is constant: 1.0 and -1.0 for sums, 0.0 for steps;
- `unknown(reason)`, when no formula is implemented.

Functions are analytic: for complex operands these are complex derivatives, which is what forward
mode needs. What is only real-linear (`real`, `imag`, `conj`, `abs` and `sign` of a complex number)
is not here. Operands may be Python numbers, where the effect allows them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import attrs

from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.rows import elementwise, shape, special, transcendental
from effax.effects.rows.comparison import eq, ge, lt
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import (
    abs,
    add,
    cbrt,
    ceil,
    copy,
    div,
    floor,
    integer_pow,
    max,
    min,
    mul,
    neg,
    nextafter,
    pow,
    rem,
    round,
    rsqrt,
    sign,
    sqrt,
    square,
    stop_gradient,
    sub,
)
from effax.effects.rows.logical import and_
from effax.effects.rows.selection import select_n
from effax.effects.rows.special import (
    bessel_i0e,
    bessel_i0e_grad,
    bessel_i1e,
    beta_density,
    digamma,
    erf,
    erf_inv,
    erfc,
    gamma_density,
    igamma,
    igamma_grad_a,
    igammac,
    lgamma,
    polygamma,
    random_gamma_grad,
    regularized_incomplete_beta,
    regularized_incomplete_betac,
    zeta,
)
from effax.effects.rows.transcendental import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    logaddexp,
    logistic,
    sin,
    sinh,
    tan,
    tanh,
)
from effax.effects.types import is_complex, is_integer, typeof

Derivative = Callable[..., Any]


@attrs.frozen(slots=True, eq=False)
class Over:
    """A derivative that is one over something, so that a product with it is a quotient."""

    denominator: Derivative


@attrs.frozen(slots=True, eq=False)
class Unknown:
    """A derivative that exists, but for which no formula is implemented."""

    reason: str


over, unknown = Over, Unknown
Partial = Derivative | Over | Unknown | float


def like(x: Any, number: complex) -> Any:
    """An array of the type of x, the number everywhere."""
    type = typeof(x)
    return shape.full(type.shape, number, type.dtype)


def arrays(*operands: Any) -> tuple[Any, ...]:
    """The operands, with Python numbers among them as arrays of the others' type."""
    peer = next(x for x in operands if type(x) not in LITERALS)
    return tuple(like(peer, x) if type(x) in LITERALS else x for x in operands)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`."""
    return select_n(condition, no, yes)


def _plus(x: Any, number: float) -> Any:
    """`x + number`, also for a Python number x."""
    return x + number if type(x) in LITERALS else add(x, number)


def not_zero(x: Any) -> Any:
    """x, with ones in place of zeros: a denominator."""
    if type(x) in LITERALS:
        return x or 1.0
    return where(eq(x, 0), 1.0, x)


def _share(x: Any, ans: Any, y: Any) -> Any:
    """Return x's share of a change when ans is chosen from x and y: one half at ties."""
    tie = where(eq(y, ans), like(ans, 0.5), like(ans, 1.0))
    return where(eq(x, ans), tie, 0.0)


def _pow_dx(ans: Any, x: Any, y: Any) -> Any:
    """y x^(y-1); for y = 0 it is zero, also where x is zero."""
    if type(y) not in LITERALS and is_integer(typeof(y).dtype):
        n = convert_element_type(y, dtype=typeof(ans).dtype, weak_type=False)
        x = like(ans, x) if type(x) in LITERALS else x
        return where(eq(y, 0), 0.0, mul(not_zero(n), pow(x, add(n, -1.0))))
    if type(y) in LITERALS:
        return mul(pow(x, y - 1), y) if y else like(ans, 0.0)
    if type(x) not in LITERALS:
        x = where(and_(eq(x, 0), eq(y, 0)), 1.0, x)
    return mul(y, pow(x, add(y, -1.0)))


def _pow_dy(ans: Any, x: Any, y: Any) -> Any:
    """x^y log x, taken to be zero where x is zero."""
    x = not_zero(x)
    if type(x) not in LITERALS:
        return mul(log(x), ans)
    if type(x) is complex:
        return mul(ans, cmath.log(x))
    return mul(ans, math.log(x) if x > 0 else math.nan)


def _integer_pow_dx(ans: Any, x: Any, *, y: int) -> Any:
    if y == 0:
        return like(x, 0.0)
    return like(x, 1.0) if y == 1 else mul(integer_pow(x, y=y - 1) if y != 2 else x, float(y))


def _part_of_sum(i: int) -> Derivative:
    """exp(x) / (exp(x) + exp(y)): which part of the sum is exp(x), also at infinity."""

    def part(ans: Any, *operands: Any) -> Any:
        operands = arrays(*operands)
        x, y = operands[i], operands[1 - i]
        if is_complex(typeof(ans).dtype):
            apart = where(eq(x, ans), like(ans, 0.0), -math.inf)
            return exp(where(eq(ans, math.inf), apart, sub(x, ans)))
        # Not of x - ans: a large sum is rounded to more than its share. Of two infinities of one
        # sign, each is the whole sum.
        same = and_(eq(x, y), eq(abs(x), math.inf))
        return logistic(where(same, like(x, math.inf), sub(x, y)))

    return part


def _rem_dy(ans: Any, x: Any, y: Any) -> Any:
    """Minus the whole quotient, which the rounded quotient may have passed."""
    return neg(round(div(sub(x, ans), y), rounding_method=1))


def _atan2_dx(ans: Any, x: Any, y: Any) -> Any:
    x, y = arrays(x, y)
    return div(y, add(square(x), square(y)))


def _atan2_dy(ans: Any, x: Any, y: Any) -> Any:
    x, y = arrays(x, y)
    return neg(div(x, add(square(x), square(y))))


def _acosh_dx(ans: Any, x: Any) -> Any:
    """1 / sqrt(x^2 - 1); for complex numbers by factors, which have the right branch."""
    if is_complex(typeof(x).dtype):
        return mul(rsqrt(add(x, -1.0)), rsqrt(add(x, 1.0)))
    return rsqrt(sub(square(x), 1.0))


def _igamma_dx(ans: Any, a: Any, x: Any) -> Any:
    return gamma_density(*arrays(a, x))


def _igamma_da(ans: Any, a: Any, x: Any) -> Any:
    return igamma_grad_a(a, x)


def _negated(derivative: Derivative) -> Derivative:
    return lambda *operands: neg(derivative(*operands))


def _gamma_density_da(ans: Any, a: Any, x: Any) -> Any:
    a, x = arrays(a, x)
    return mul(ans, sub(log(x), digamma(a)))


def _gamma_density_dx(ans: Any, a: Any, x: Any) -> Any:
    a, x = arrays(a, x)
    return mul(ans, sub(div(add(a, -1.0), x), 1.0))


def _incomplete_beta_dx(ans: Any, a: Any, b: Any, x: Any) -> Any:
    return beta_density(*arrays(a, b, x))


def _beta_density_da(ans: Any, a: Any, b: Any, x: Any) -> Any:
    a, b, x = arrays(a, b, x)
    return mul(ans, add(log(x), sub(digamma(add(a, b)), digamma(a))))


def _beta_density_db(ans: Any, a: Any, b: Any, x: Any) -> Any:
    a, b, x = arrays(a, b, x)
    return mul(ans, add(log1p(neg(x)), sub(digamma(add(a, b)), digamma(b))))


def _beta_density_dx(ans: Any, a: Any, b: Any, x: Any) -> Any:
    a, b, x = arrays(a, b, x)
    return mul(ans, sub(div(add(a, -1.0), x), div(add(b, -1.0), sub(1.0, x))))


# Bernoulli numbers of even index over factorials, as in the Euler-Maclaurin formula.
_CORRECTIONS: Final = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)


def _zeta_ds(ans: Any, s: Any, q: Any) -> Any:
    """Ten terms of the sum, and the formula of Euler and Maclaurin for the rest, differentiated."""
    s, q = arrays(s, q)
    total = None
    for k in range(10):
        base = log(add(q, float(k)))
        term = mul(base, exp(neg(mul(s, base))))
        total = term if total is None else add(total, term)
    w = add(q, 10.0)
    logarithm = log(w)
    power = exp(neg(mul(s, logarithm)))
    before = add(s, -1.0)
    integral = div(mul(power, w), before)
    total = add(total, mul(integral, add(logarithm, div(1.0, before))))
    total = add(total, mul(mul(power, 0.5), logarithm))
    rising, slope, scale = s, div(1.0, s), div(power, w)
    for j, coefficient in enumerate(_CORRECTIONS):
        part = mul(mul(rising, scale), coefficient)
        total = add(total, mul(part, sub(logarithm, slope)))
        for i in (2 * j + 1, 2 * j + 2):
            rising, slope = mul(rising, add(s, float(i))), add(slope, div(1.0, add(s, float(i))))
        scale = div(scale, mul(w, w))
    return where(lt(s, 1.0), math.nan, neg(total))  # below 1 zeta itself is NaN


def _zeta_dq(ans: Any, s: Any, q: Any) -> Any:
    return neg(mul(zeta(_plus(s, 1.0), q), s))


def bessel_part(ans: Any, x: Any) -> Any:
    """`ans / x`, where ans is i1(x) or i1e(x): it tends to 1/2 at zero."""
    none = eq(x, 0.0)
    return where(none, 0.5, div(ans, where(none, 1.0, x)))


def _bessel_i0e_grad_dx(ans: Any, x: Any) -> Any:
    return sub(mul(mul(sign(x), ans), -2.0), bessel_part(bessel_i1e(x), x))


def _bessel_i1e_dx(ans: Any, x: Any) -> Any:
    """i0e(x) - i1e(x) (sign(x) + 1/x), where two terms nearly cancel."""
    apart = where(eq(x, 0.0), 1.0, mul(sign(x), neg(bessel_i0e_grad(x))))
    return sub(apart, bessel_part(ans, x))


def _abs_dx(ans: Any, x: Any) -> Any:
    _refuse_complex("abs", x)
    return where(ge(x, 0.0), like(x, 1.0), -1.0)


def _sign_dx(ans: Any, x: Any) -> Any:
    _refuse_complex("sign", x)
    return like(x, 0.0)


def _refuse_complex(name: str, x: Any) -> None:
    """Both have rules of their own under `jvp`; here another transform asks."""
    if is_complex(typeof(x).dtype):
        raise UnsupportedDerivativeError(
            f"the table of derivatives has none for {name} of complex numbers, which is not "
            f"analytic; write a rule for {name}, or use real and imaginary parts"
        )


_STEP: Final[tuple[Partial, ...]] = (0.0,)

Table = dict[Effect, tuple[Partial, ...]]

_ARITHMETIC: Final[Table] = {
    add: (1.0, 1.0),
    sub: (1.0, -1.0),
    neg: (-1.0,),
    mul: (lambda ans, x, y: y, lambda ans, x, y: x),
    div: (over(lambda ans, x, y: y), lambda ans, x, y: neg(div(ans, y))),
    rem: (1.0, _rem_dy),
    abs: (_abs_dx,),
    sign: (_sign_dx,),
    max: (lambda ans, x, y: _share(x, ans, y), lambda ans, x, y: _share(y, ans, x)),
    min: (lambda ans, x, y: _share(x, ans, y), lambda ans, x, y: _share(y, ans, x)),
    square: (lambda ans, x: mul(x, 2.0),),
    sqrt: (lambda ans, x: div(0.5, ans),),
    rsqrt: (lambda ans, x: mul(div(ans, x), -0.5),),
    cbrt: (lambda ans, x: mul(integer_pow(ans, y=-2), 1 / 3),),
    pow: (_pow_dx, _pow_dy),
    integer_pow: (_integer_pow_dx,),
    copy: (1.0,),
    floor: _STEP,
    ceil: _STEP,
    round: _STEP,
    stop_gradient: _STEP,
    nextafter: (1.0, 0.0),
}
_TRANSCENDENTAL: Final[Table] = {
    # exponentials and logarithms
    exp: (lambda ans, x: ans,),
    exp2: (lambda ans, x: mul(ans, math.log(2.0)),),
    expm1: (lambda ans, x: add(ans, 1.0),),
    log: (over(lambda ans, x: x),),
    log1p: (over(lambda ans, x: add(x, 1.0)),),
    logaddexp: (_part_of_sum(0), _part_of_sum(1)),
    logistic: (lambda ans, x: mul(ans, sub(1.0, ans)),),
    # trigonometric
    sin: (lambda ans, x: cos(x),),
    cos: (lambda ans, x: neg(sin(x)),),
    tan: (lambda ans, x: add(square(ans), 1.0),),
    asin: (lambda ans, x: rsqrt(sub(1.0, square(x))),),
    acos: (lambda ans, x: neg(rsqrt(sub(1.0, square(x)))),),
    atan: (over(lambda ans, x: add(square(x), 1.0)),),
    atan2: (_atan2_dx, _atan2_dy),
    # hyperbolic; 1 - tanh^2 and 1 - x^2 are written as products, which are accurate near one
    sinh: (lambda ans, x: cosh(x),),
    cosh: (lambda ans, x: sinh(x),),
    tanh: (lambda ans, x: mul(sub(1.0, ans), add(ans, 1.0)),),
    asinh: (lambda ans, x: rsqrt(add(square(x), 1.0)),),
    acosh: (_acosh_dx,),
    atanh: (over(lambda ans, x: mul(sub(1.0, x), add(x, 1.0))),),
}
_SHAPES_OF_BETA: Final = (
    unknown("the derivative of the incomplete beta function with respect to a"),
    unknown("the derivative of the incomplete beta function with respect to b"),
)
_SPECIAL: Final[Table] = {
    erf: (lambda ans, x: mul(exp(neg(square(x))), 2 / math.sqrt(math.pi)),),
    erfc: (lambda ans, x: mul(exp(neg(square(x))), -2 / math.sqrt(math.pi)),),
    erf_inv: (lambda ans, x: mul(exp(square(ans)), math.sqrt(math.pi) / 2),),
    lgamma: (lambda ans, x: digamma(x),),
    digamma: (lambda ans, x: polygamma(1.0, x),),
    polygamma: (
        unknown("polygamma has no derivative with respect to its order"),
        lambda ans, m, x: polygamma(_plus(m, 1.0), x),
    ),
    zeta: (_zeta_ds, _zeta_dq),
    igamma: (_igamma_da, _igamma_dx),
    igammac: (_negated(_igamma_da), _negated(_igamma_dx)),
    gamma_density: (_gamma_density_da, _gamma_density_dx),
    igamma_grad_a: (
        unknown("the second derivative of igamma with respect to a"),
        unknown("the mixed second derivative of igamma"),
    ),
    random_gamma_grad: (
        unknown("the second derivative of gamma samples"),
        unknown("the second derivative of gamma samples"),
    ),
    regularized_incomplete_beta: (*_SHAPES_OF_BETA, _incomplete_beta_dx),
    regularized_incomplete_betac: (*_SHAPES_OF_BETA, _negated(_incomplete_beta_dx)),
    beta_density: (_beta_density_da, _beta_density_db, _beta_density_dx),
    bessel_i0e: (lambda ans, x: bessel_i0e_grad(x),),
    bessel_i0e_grad: (_bessel_i0e_grad_dx,),
    bessel_i1e: (_bessel_i1e_dx,),
}

tables: Final[dict[ModuleType, Table]] = {
    elementwise: _ARITHMETIC,
    transcendental: _TRANSCENDENTAL,
    special: _SPECIAL,
}
"""The derivatives of the effects of each row."""
partials: Final[Table] = _ARITHMETIC | _TRANSCENDENTAL | _SPECIAL
"""The derivative of each elementary function by each of its operands."""


def along(effect: Effect, i: int, tangent: Any, ans: Any, operands: Any, attributes: Any) -> Any:
    """Return the change of the result when operand `i` changes by `tangent`; None if there is none.

    Raises `UnsupportedDerivativeError` where no formula is implemented.

    Args:
      effect: the operation.
      i: the position of the operand that changes.
      tangent: the operand's change.
      ans: the operation's result; None will do where the formula does not use it.
      operands: the operation's operands.
      attributes: the operation's attributes, by name.

    >>> import effax.numpy as jnp
    >>> from effax import effects, traits
    >>> traits.along(effects.sin, 0, jnp.float32(2), None, (jnp.float32(0),), {})
    Array(2., dtype=float32)
    """
    partial = partials[effect][i]
    if isinstance(partial, float):
        if partial == 1.0:
            return tangent
        if partial == 0.0:
            return None
        return neg(tangent) if partial == -1.0 else mul(tangent, partial)
    if isinstance(partial, Over):
        return div(tangent, partial.denominator(ans, *operands, **attributes))
    if isinstance(partial, Unknown):
        raise UnsupportedDerivativeError(f"not implemented: {partial.reason} (in '{effect.name}')")
    return mul(tangent, partial(ans, *operands, **attributes))
