"""Units of measure: a static exponent of each base unit goes with every value, and must add up.

    >>> import effax.numpy as jnp
    >>> speed = checked(lambda x, t: jnp.sqrt(x * x) / t)(quantity(6.0, m=1), quantity(2.0, s=1))
    >>> float(speed.value), shown(speed.unit)
    (3.0, 'm s^-1')
    >>> checked(jnp.add)(quantity(1.0, m=1), quantity(1.0, s=1))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    units.UnitError: add of m and s...

Kennedy 1994, "Dimension Types". What has no unit left is a plain number; zeros and infinities that
are known when a rule runs are of any unit. A loop's carry must have the same unit after each step, a branch's result that of
the other branches. Effects that no scale goes through (`exp`, `floor`) take numbers only.
"""

from collections import Counter
from fractions import Fraction

import effax as fx
import effax.numpy as jnp
from effax.extend import Carrier, effects, traits


class UnitError(fx.errors.EffaxError, TypeError):
    """Quantities of different units meet, or one is where only a number can be."""


class Quantity(fx.Interpreter):
    """A value, and its unit: pairs of a base unit's name and its exponent."""

    value: fx.Leaf(primal=True)  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]
    unit: fx.Static = ()

    @classmethod
    def join_static(cls, name, one, other):
        raise UnitError(f"{shown(one)} in one branch or step of a loop, {shown(other)} in another")


checked = Quantity.transform


def quantity(value, **unit):
    """A value in a product of powers of base units."""
    return Quantity(jnp.asarray(value, float), combined((unit.items(), 1)))


def combined(*powers):
    """The product of powers of units."""
    total = Counter()
    for base, exponent, power in ((b, e, power) for unit, power in powers for b, e in unit):
        total[base] += exponent * Fraction(power).limit_denominator(1000)
    return tuple(sorted((base, e) for base, e in total.items() if e))


def shown(unit):
    """A unit as text."""
    return " ".join(b if e == 1 else f"{b}^{float(e):g}" for b, e in unit) or "1"


def moves(x):
    """Whether a value is of a dtype that can be scaled."""
    return jnp.issubdtype(getattr(x, "dtype", type(x)), jnp.inexact)


def agreed(effect, xs):
    """The unit of all operands but zeros and infinities that are known, which fit any."""
    with fx.ensure_compile_time_eval():
        known = [x for x in xs if not isinstance(x, Quantity | Carrier)]
        free = [x for x in known if not moves(x) or not jnp.any((x != 0) & jnp.isfinite(x))]
    units = {getattr(x, "unit", ()): None for x in xs if not any(x is f for f in free)}
    if len(units) > 1:
        raise UnitError(f"{effect.name} of {' and '.join(map(shown, units))}")
    return next(iter(units), ())


def made(y, unit):
    """Results of that unit; numbers where there is none."""
    return fx.tree.map(lambda z: Quantity(z, unit) if unit and moves(z) else z, y)


@Quantity.default
def of_numbers(effect, *xs, **how):
    if effect in traits.composite:
        return NotImplemented
    for x in xs:
        if getattr(x, "unit", ()):
            raise UnitError(f"{effect.name} of {shown(x.unit)}: it takes numbers without a unit")
    return effect(*(getattr(x, "value", x) for x in xs), **how)


@Quantity.rule(*traits.homogeneous, *traits.scale_free, lift=False)
def kept(*xs, effect, **how):
    y, unit = effect(*(getattr(x, "value", x) for x in xs), **how), agreed(effect, xs)
    if effect is effects.convert_element_type and not moves(y):
        return of_numbers(effect, *xs, **how)
    return made(y, () if effect in traits.scale_free else unit)


powers = {effects.sqrt: 0.5, effects.rsqrt: -0.5, effects.cbrt: 1 / 3, effects.square: 2}
powers |= {effects.cholesky: 0.5, effects.abs: 1, effects.integer_pow: None, effects.pow: None}


@Quantity.rule(*powers, lift=False)
def powered(x, *literal, effect, **how):
    power = powers[effect] or (*how.values(), *literal)[-1]
    if isinstance(x, Quantity) and isinstance(power, int | float):
        return made(effect(x.value, *literal, **how), combined((x.unit, power)))
    return of_numbers(effect, x, *literal)


@Quantity.rule(*traits.bilinear, effects.div)
def product(x, y, *, effect, **how):
    unit = combined((x.unit, 1), (y.unit, -1 if effect is effects.div else 1))
    return made(effect(x.value, y.value, **how), unit)
