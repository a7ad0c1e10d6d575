"""Special functions that XLA lacks, by series and continued fractions.

Written in effects, so that a backend stages them at the types it needs. Each converges to the
precision of its dtype; half precisions are computed in float32 (`expand` sees to it).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.effect import Effect
from effax.effects.interning import keep
from effax.effects.program import Program
from effax.effects.rows import shape
from effax.effects.rows.comparison import eq, ge, gt, le, lt, ne
from effax.effects.rows.complex import complex, imag, real
from effax.effects.rows.control import while_loop
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import abs, add, div, floor, max, mul, neg, rem, sign, sqrt, sub
from effax.effects.rows.logical import and_, not_, or_
from effax.effects.rows.reduction import reduce_or
from effax.effects.rows.special import (
    bessel_i0e,
    bessel_i0e_grad,
    bessel_i1e,
    beta_density,
    digamma,
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
from effax.effects.rows.transcendental import atan2, cos, exp, log, log1p, logaddexp, sin
from effax.effects.types import ShapedArray, finfo, float32, is_complex, typeof
from effax.interpreters.composites.calculus import like
from effax.interpreters.composites.calculus import where as where
from effax.interpreters.composites.gamma_ratios import (
    UNIFORM,
    beta_scale,
    double,
    gamma_scale,
    polynomial,
    uniform_gammas,
)
from effax.interpreters.composites.gamma_zeros import upper_of_small
from effax.interpreters.stage import stage

_STEPS: Final = 2000


def either(*conditions: Any) -> Any:
    """Whether any of the conditions holds."""
    result = conditions[0]
    for other in conditions[1:]:
        result = or_(result, other)
    return result


def nan(x: Any) -> Any:
    """Whether x is not a number."""
    return ne(x, x)


def even(x: Any) -> Any:
    """Whether x is an even number."""
    half = mul(x, 0.5)
    return eq(floor(half), half)


def iterate(
    step: Callable[..., Any], active: Any, state: Sequence[Any], fixed: Sequence[Any]
) -> Any:
    """Repeat `active, state = step(n, state, fixed)` for n = 1, 2, ..., element by element.

    An element that is no longer active keeps its state; the loop ends when none is.
    """
    count = len(state)
    axes = tuple(range(len(typeof(active).shape)))

    def test(n: Any, active: Any, *rest: Any) -> list[Any]:
        return [and_(lt(n, _STEPS), reduce_or(active, axes=axes))]

    def body(n: Any, active: Any, *rest: Any) -> list[Any]:
        old, fixed = rest[:count], rest[count:]
        term = convert_element_type(n, dtype=typeof(old[0]).dtype, weak_type=False)
        term = shape.broadcast_in_dim(term, shape=typeof(active).shape, dims=())
        again, new = step(term, old, fixed)
        kept = [where(active, y, x) for x, y in zip(old, new, strict=True)]
        return [add(n, 1), and_(active, again), *kept, *fixed]

    carry = [shape.scalar(1, "int32"), active, *state, *fixed]
    types = [typeof(x) for x in carry]
    results = while_loop(
        *carry,
        cond=stage(test, types).program,
        body=stage(body, types).program,
        cond_consts=0,
        body_consts=0,
    )
    return results[2 : 2 + count]


def _lower_series(a: Any, x: Any, active: Any, slope: bool) -> tuple[Any, Any]:
    """The sum of x^n / ((a+1) ... (a+n)) over n = 0, 1, ..., and its derivative by a."""
    eps = float(finfo(typeof(a).dtype).eps)

    def step(n: Any, state: Sequence[Any], fixed: Sequence[Any]) -> Any:
        (term, dterm, total, dtotal), (a, x) = state, fixed
        ratio = div(x, add(a, n))
        dterm = sub(mul(dterm, ratio), div(mul(term, ratio), add(a, n)))
        term = mul(term, ratio)
        total, dtotal = add(total, term), add(dtotal, dterm)
        change = abs(div(dterm, dtotal)) if slope else div(term, total)
        return gt(change, eps), (term, dterm, total, dtotal)

    one, zero = like(a, 1.0), like(a, 0.0)
    _, _, total, dtotal = iterate(step, active, (one, zero, one, zero), (a, x))
    return total, dtotal


def _upper_fraction(a: Any, x: Any, active: Any, slope: bool) -> tuple[Any, Any]:
    """1/(b0 + c1/(b1 + c2/(b2 + ...))), b_n = x + 2n + 1 - a, c_n = n (a - n), and the derivative
    of its logarithm by a. (Lentz's method as modified by Thompson and Barnett.)"""
    info = finfo(typeof(a).dtype)
    eps = float(info.eps)

    def step(n: Any, state: Sequence[Any], fixed: Sequence[Any]) -> Any:
        (up, dup, down, ddown, value, dlog), (a, x) = state, fixed
        b = add(sub(x, a), add(mul(n, 2.0), 1.0))
        c = mul(n, sub(a, n))
        quotient = div(c, up)
        new_up = add(b, quotient)
        dup = sub(div(sub(n, mul(quotient, dup)), up), 1.0)
        new_down = div(1.0, add(b, mul(c, down)))
        ddown = neg(mul(mul(new_down, new_down), sub(add(mul(n, down), mul(c, ddown)), 1.0)))
        factor = mul(new_up, new_down)
        change = add(div(dup, new_up), div(ddown, new_down))
        far = gt(abs(change), eps) if slope else gt(abs(sub(factor, 1.0)), eps)
        return far, (new_up, dup, new_down, ddown, mul(value, factor), add(dlog, change))

    zero = like(a, 0.0)
    first = div(1.0, add(sub(x, a), 1.0))
    start = like(a, 1.0 / (float(info.tiny) * 1e6)), zero, first, mul(first, first), first, first
    *_, value, dlog = iterate(step, active, start, (a, x))
    return value, dlog


def _gamma_parts(a: Any, x: Any) -> tuple[Any, Any, Any, Any]:
    """`x^a exp(-x) / gamma(a)`, whether it is not zero, where the fraction converges better than
    the series, and where the arguments are outside the domain."""
    bottom = float(finfo(typeof(a).dtype).tiny)
    scale = gamma_scale(a, x)
    wrong = either(lt(x, 0.0), lt(a, 0.0), and_(eq(a, 0.0), eq(x, 0.0)), nan(a), nan(x))
    alive = and_(gt(scale, bottom), and_(lt(x, float("inf")), not_(wrong)))
    return scale, alive, and_(gt(x, 1.0), gt(x, a)), wrong


def expand_igamma(a: Any, x: Any) -> Any:
    """The lower incomplete gamma function, by the series or one minus the fraction."""
    scale, alive, upper, wrong = _gamma_parts(a, x)
    uniform, (below, _) = _near_middle(a, x)
    summed = and_(alive, not_(uniform))
    series, _ = _lower_series(a, x, and_(summed, not_(upper)), slope=False)
    fraction, _ = _upper_fraction(a, x, and_(summed, upper), slope=False)
    far = sub(1.0, mul(scale, fraction))
    result = where(upper, far, div(mul(scale, series), a))
    result = where(alive, result, where(upper, like(a, 1.0), 0.0))
    small, little = _near_corner(a, x)
    result = where(small, sub(1.0, little), result)
    result = where(and_(eq(a, 0.0), gt(x, 0.0)), 1.0, result)
    result = where(eq(x, float("inf")), 1.0, where(uniform, below, result))
    return where(wrong, float("nan"), result)


def _near_middle(a: Any, x: Any) -> tuple[Any, tuple[Any, Any]]:
    """The place where a is large and x near to it, and both functions there."""
    uniform = and_(ge(a, UNIFORM), lt(abs(sub(x, a)), mul(a, 0.3)))
    safe = where(uniform, a, UNIFORM)
    return uniform, uniform_gammas(safe, where(uniform, x, safe))


def _near_corner(a: Any, x: Any) -> tuple[Any, Any]:
    """The place where both are small, and the upper function there, which may be much below 1."""
    small = and_(and_(lt(a, 0.25), lt(x, 1.5)), and_(gt(a, 0.0), gt(x, 0.0)))
    return small, upper_of_small(where(small, a, 0.125), where(small, x, 1.0))


def expand_igammac(a: Any, x: Any) -> Any:
    """The upper incomplete gamma function, by the fraction or one minus the series."""
    scale, alive, upper, wrong = _gamma_parts(a, x)
    uniform, (_, beyond) = _near_middle(a, x)
    summed = and_(alive, not_(uniform))
    series, _ = _lower_series(a, x, and_(summed, not_(upper)), slope=False)
    fraction, _ = _upper_fraction(a, x, and_(summed, upper), slope=False)
    near = sub(1.0, div(mul(scale, series), a))
    result = where(upper, mul(scale, fraction), near)
    result = where(alive, result, where(upper, like(a, 0.0), 1.0))
    result = where(uniform, beyond, result)
    small, little = _near_corner(a, x)
    result = where(small, little, result)
    result = where(either(eq(a, 0.0), eq(x, float("inf"))), 0.0, result)
    return where(wrong, float("nan"), result)


def expand_gamma_density(a: Any, x: Any) -> Any:
    """`x**(a-1) exp(-x) / gamma(a)`, also at the ends."""
    inside = and_(gt(x, 0.0), lt(x, float("inf")))
    safe = where(inside, x, 1.0)
    at_zero = where(eq(a, 1.0), 1.0, where(lt(a, 1.0), float("inf"), like(a, 0.0)))
    outside = where(eq(x, 0.0), at_zero, where(gt(x, 0.0), like(x, 0.0), float("nan")))
    value = where(inside, gamma_scale(a, safe, log(safe)), outside)
    value = where(and_(eq(a, 0.0), ge(x, 0.0)), 0.0, value)
    return where(or_(lt(a, 0.0), nan(a)), float("nan"), value)


def expand_igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of the lower incomplete gamma function by a."""
    scale, alive, upper, wrong = _gamma_parts(a, x)
    near, far = _slopes(a, x, alive, upper)
    result = where(upper, neg(mul(scale, far)), mul(div(scale, a), near))
    return where(or_(wrong, le(a, 0.0)), float("nan"), where(alive, result, 0.0))


def expand_random_gamma_grad(a: Any, x: Any) -> Any:
    """The derivative by a of the quantile at which a sample x lies: -(dP/da) / (dP/dx)."""
    _, _, upper, wrong = _gamma_parts(a, x)
    wrong = or_(wrong, le(a, 0.0))
    alive = and_(and_(gt(x, 0.0), lt(x, float("inf"))), not_(wrong))
    near, far = _slopes(a, x, alive, upper)
    result = mul(x, where(upper, far, neg(div(near, a))))
    return where(wrong, float("nan"), where(alive, result, 0.0))


def _slopes(a: Any, x: Any, alive: Any, upper: Any) -> tuple[Any, Any]:
    """The derivatives by a of the logarithms of series and fraction, times these themselves."""
    series, dseries = _lower_series(a, x, and_(alive, not_(upper)), slope=True)
    fraction, dlog = _upper_fraction(a, x, and_(alive, upper), slope=True)
    near = add(mul(series, sub(log(x), digamma(add(a, 1.0)))), dseries)
    far = mul(fraction, add(sub(log(x), digamma(a)), dlog))
    return near, far


def _beta_fraction(a: Any, b: Any, x: Any, active: Any) -> Any:
    """1/(1 + d1/(1 + d2/(1 + ...))) of the incomplete beta function (DLMF 8.17.22)."""
    info = finfo(typeof(a).dtype)
    eps, small = float(info.eps), float(info.tiny) * 1e6

    def away(y: Any) -> Any:
        return where(lt(abs(y), small), small, y)

    def step(n: Any, state: Sequence[Any], fixed: Sequence[Any]) -> Any:
        (up, down, value), (a, b, x) = state, fixed
        odd = eq(rem(n, 2.0), 1.0)
        m = where(odd, div(sub(n, 1.0), 2.0), div(n, 2.0))
        twice = add(a, mul(m, 2.0))
        after_odd = neg(div(mul(mul(add(a, m), add(add(a, b), m)), x), mul(twice, add(twice, 1.0))))
        first = neg(div(mul(add(a, b), x), add(a, 1.0)))  # a may be too small to divide by
        after_odd = where(eq(m, 0.0), first, after_odd)
        after_even = div(mul(mul(m, sub(b, m)), x), mul(sub(twice, 1.0), twice))
        d = where(odd, after_odd, after_even)
        up = away(add(div(d, up), 1.0))
        down = div(1.0, away(add(mul(d, down), 1.0)))
        factor = mul(up, down)
        return gt(abs(sub(factor, 1.0)), eps), (up, down, mul(value, factor))

    one = like(a, 1.0)
    return div(1.0, iterate(step, active, (one, like(a, 0.0), one), (a, b, x))[2])


def expand_incomplete_beta(a: Any, b: Any, x: Any) -> Any:
    """The regularised incomplete beta function."""
    return _incomplete_beta(a, b, x, upper=False)


def expand_incomplete_betac(a: Any, b: Any, x: Any) -> Any:
    """One minus the regularised incomplete beta function."""
    return _incomplete_beta(a, b, x, upper=True)


def _incomplete_beta(a: Any, b: Any, x: Any, *, upper: bool) -> Any:
    """The part below x, or above it, by its continued fraction at x or at 1 - x."""
    infinity = float("inf")
    at_zero = or_(eq(a, 0.0), eq(b, infinity))  # all mass is at zero
    at_one = or_(eq(b, 0.0), eq(a, infinity))
    wrong = either(lt(a, 0.0), lt(b, 0.0), lt(x, 0.0), gt(x, 1.0), nan(a), nan(b), nan(x))
    wrong = or_(wrong, and_(at_zero, at_one))
    none = or_(and_(at_one, lt(x, 1.0)), and_(not_(at_zero), le(x, 0.0)))
    none = or_(none, and_(at_zero, le(x, 0.0)))
    every = or_(and_(at_zero, gt(x, 0.0)), ge(x, 1.0))
    direct = lt(x, div(add(a, 1.0), add(add(a, b), 2.0)))
    p, q = where(direct, a, b), where(direct, b, a)
    y = where(direct, x, sub(1.0, x))
    active = not_(either(wrong, none, every))
    fraction = _beta_fraction(p, q, y, active)
    parts = (where(active, v, 0.5) for v in (p, q, y, where(direct, sub(1.0, x), x)))
    scale = beta_scale(*parts)
    result = mul(scale, fraction)
    result = where(not_(direct) if upper else direct, result, sub(1.0, result))
    nothing, all = (1.0, 0.0) if upper else (0.0, 1.0)
    result = where(every, all, where(none, nothing, result))
    return where(wrong, float("nan"), result)


def expand_beta_density(a: Any, b: Any, x: Any) -> Any:
    """`x**(a-1) (1-x)**(b-1) / beta(a, b)`, also at the ends."""
    inside = and_(gt(x, 0.0), lt(x, 1.0))
    y = where(inside, x, 0.5)
    z = sub(1.0, y)
    value = mul(a, beta_scale(a, b, y, z, add(log(y), log(z))))
    near, far = where(le(x, 0.0), a, b), where(le(x, 0.0), b, a)
    # At 0 the density is b if a is 1, and at 1 it is a if b is 1.
    at_end = where(eq(near, 1.0), far, where(lt(near, 1.0), float("inf"), like(a, 0.0)))
    result = where(inside, value, at_end)
    wrong = either(lt(a, 0.0), lt(b, 0.0), lt(x, 0.0), gt(x, 1.0), nan(a), nan(b), nan(x))
    return where(wrong, float("nan"), result)


def expand_logaddexp(x: Any, y: Any) -> Any:
    """The larger, plus `log1p` of the exponential of minus the distance."""
    if is_complex(typeof(x).dtype):
        return _complex_logaddexp(x, y)
    distance = sub(x, y)
    equal_infinities = ne(distance, distance)
    sum_ = add(max(x, y), log1p(exp(neg(abs(distance)))))
    return where(equal_infinities, add(x, y), sum_)


def _complex_logaddexp(x: Any, y: Any) -> Any:
    """The same, the larger being that of larger real part; the imaginary part within (-pi, pi].

    Of equal ones the smaller imaginary part counts: a large one would round the sum.
    """
    tie = and_(eq(real(x), real(y)), lt(abs(imag(x)), abs(imag(y))))
    first = or_(gt(real(x), real(y)), tie)
    larger, smaller = where(first, x, y), where(first, y, x)
    distance = sub(smaller, larger)
    sum_ = add(larger, log1p(exp(distance)))
    sum_ = where(ne(distance, distance), add(x, y), sum_)
    angle = atan2(sin(imag(sum_)), cos(imag(sum_)))
    return complex(real(sum_), angle)


# Chebyshev coefficients of exp(-x) I0(x) on [0, 8], and of sqrt(x) exp(-x) I0(x) on [8, inf) in
# 32/x - 2 (Cephes).
_I0_NEAR: Final = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16,
    1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14,
    -4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11,
    9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7,
    1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5,
    -5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4,
    1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2,
    1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip
_I0_FAR: Final = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17,
    3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16,
    1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15,
    -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11,
    -3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10,
    3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7,
    2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip


def _chebyshev(x: Any, coefficients: Sequence[float]) -> Any:
    """Clenshaw's sum, for x in [-2, 2], of the coefficients the dtype can notice."""
    least = float(finfo(typeof(x).dtype).eps) / 16
    before = older = now = like(x, 0.0)
    for c in coefficients:
        if c > least or c < -least:
            older, before = before, now
            now = add(sub(mul(x, before), older), c)
    return mul(sub(now, older), 0.5)


def expand_bessel_i0e(x: Any) -> Any:
    """The scaled modified Bessel function of order 0, by Chebyshev series."""
    x = abs(x)
    near = _chebyshev(sub(mul(x, 0.5), 2.0), _I0_NEAR)
    far = div(_chebyshev(sub(div(32.0, x), 2.0), _I0_FAR), sqrt(x))
    return where(le(x, 8.0), near, far)


# `1 - i1e(x) / i0e(x)` in powers of 1/x, from the first on (the quotient of DLMF 10.40.1).
_HANKEL: Final = (1 / 2, 1 / 8, 1 / 8, 25 / 128, 13 / 32)


def expand_bessel_i0e_grad(x: Any) -> Any:
    """The derivative of the same: two numbers that differ by one part in 2 abs(x)."""
    far = gt(abs(x), 500.0 if double(x) else 50.0)
    inverse = div(1.0, where(far, abs(x), 500.0))
    part = mul(inverse, polynomial(inverse, _HANKEL))
    scaled = mul(sign(x), bessel_i0e(x))
    return where(far, neg(mul(scaled, part)), sub(bessel_i1e(x), scaled))


def expand_polygamma(m: Any, x: Any) -> Any:
    """`(-1)**(m + 1) * m! * zeta(m + 1, x)`, and digamma for m = 0."""
    order = add(m, 1.0)
    higher = mul(exp(lgamma(order)), zeta(order, x))
    value = where(eq(m, 0.0), digamma(x), where(even(m), neg(higher), higher))
    return where(and_(eq(floor(m), m), ge(m, 0.0)), value, like(x, math.nan))


EXPANSIONS: Final[dict[Effect, Callable[..., Any]]] = {
    polygamma: expand_polygamma,
    igamma: expand_igamma,
    igammac: expand_igammac,
    gamma_density: expand_gamma_density,
    igamma_grad_a: expand_igamma_grad_a,
    random_gamma_grad: expand_random_gamma_grad,
    regularized_incomplete_beta: expand_incomplete_beta,
    regularized_incomplete_betac: expand_incomplete_betac,
    beta_density: expand_beta_density,
    bessel_i0e: expand_bessel_i0e,
    bessel_i0e_grad: expand_bessel_i0e_grad,
    logaddexp: expand_logaddexp,
}
_programs: Final[dict[Any, Program]] = {}


def expand(effect: Effect, types: Sequence[ShapedArray]) -> Program:
    """The program that computes an effect at operands of these types."""
    key = effect, tuple(types)
    found = _programs.get(key)
    if found is None:
        function, dtype = EXPANSIONS[effect], types[0].dtype
        narrow = dtype.itemsize < 4

        def widened(*operands: Any) -> list[Any]:
            if not narrow:
                return [function(*operands)]
            wide = [convert_element_type(x, dtype=float32, weak_type=False) for x in operands]
            return [convert_element_type(function(*wide), dtype=dtype, weak_type=False)]

        made = stage(widened, [t.strong() for t in types], effect.name).program
        found = keep(_programs, key, made)
    return found
