"""Associated Legendre functions of the first kind, by recurrence over their degrees."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import own_promotion, whole
from effax.effects.value import Array, ArrayLike
from effax.operands.arguments import concrete_int
from effax.operands.promoting import arraylike

Values = tuple[Array, Array]
FIRST: Final = math.sqrt(0.25 / math.pi)
"""The normalized function of degree and order 0; the plain one is 1."""


def recurrence(
    order: Array, cosine: Array, sine: Array, *, normalized: bool
) -> Callable[[Values, Array], Values]:
    """Return the step from the functions of degrees k - 2 and k - 1 to those of k - 1 and k.

    Up to k = order, the function of degree k is that of order k. All have the phase of Condon and
    Shortley; `normalized`, they are the spherical harmonics of azimuth 0, of norm 1.
    """

    def step(values: Values, degree: Array) -> Values:
        before, here = values
        k = degree.astype(cosine.dtype)
        above = k > order
        m = jnp.where(above, order, 0)
        if normalized:
            along = jnp.sqrt((2 * k + 1) / (2 * k))
            outer = jnp.sqrt((4 * k * k - 1) / (k * k - m * m))
            gap = jnp.where(above, (k - 1) ** 2 - m * m, 0)
            some = gap > 0
            root = jnp.sqrt(jnp.where(some, gap, 1) / jnp.where(k > 1, 4 * (k - 1) ** 2 - 1, 1))
            across = outer * (cosine * here - jnp.where(some, root, 0) * before)
        else:
            along = 2 * k - 1
            across = (along * cosine * here - (k + m - 1) * before) / (k - m)
        return jnp.where(above, here, 0), jnp.where(above, across, -along * sine * here)

    return step


@own_promotion
@whole("m", "n", "is_normalized")
def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """Compute the associated Legendre functions of the first kind, with the Condon-Shortley phase.

    Deprecated in JAX, which has no replacement.

    Args:
      m: the largest order.
      n: the largest degree.
      z: a vector of float32 or float64, from -1 to 1.
      is_normalized: whether the functions are those of spherical harmonics of norm 1 at azimuth 0.

    Returns:
      An array of shape (m + 1, n + 1, len(z)): the order, the degree, the point. It is 0 where the
      order is larger than the degree.

    Raises:
      TypeError: for other dtypes.
      ValueError: where z is no vector, and for a negative m or n.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import special
    >>> special.lpmn_values(1, 2, jnp.array([0.5]), False)[0, :, 0]
    Array([ 1.   ,  0.5  , -0.125], dtype=float32)
    """
    (x,) = (jnp.asarray(x) for x in arraylike("lpmn_values", z))
    if x.dtype not in (jnp.float32, jnp.float64):
        raise TypeError(f"lpmn_values: z must be float32 or float64, got {x.dtype}")
    if x.ndim != 1:
        raise ValueError(f"lpmn_values: z must be a 1D array, got the shape {x.shape}")
    last, top = (concrete_int(v, f"the {name} of lpmn_values") for v, name in ((m, "m"), (n, "n")))
    if last < 0 or top < 0:
        raise ValueError(f"lpmn_values: m and n must not be negative, got {last} and {top}")
    order = jnp.arange(last + 1, dtype=x.dtype)[:, None]
    step = recurrence(order, x, jnp.sqrt((1 - x) * (1 + x)), normalized=bool(is_normalized))
    first = jnp.full((last + 1, x.size), FIRST if is_normalized else 1.0, x.dtype)

    def up(values: Values, degree: Array) -> tuple[Values, Array]:
        values = step(values, degree)
        return values, jnp.where(order <= degree, values[1], 0)

    _, found = lax.scan(up, (jnp.zeros_like(first), first), jnp.arange(1, top + 1))
    return jnp.concatenate([jnp.where(order == 0, first, 0)[None], found]).swapaxes(0, 1)


@own_promotion
@whole("m", "n")
def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """Compute the associated Legendre functions of the first kind, and their derivatives.

    Deprecated in JAX, which has no replacement.

    Args:
      m, n, z: as in `lpmn_values`, which computes the functions without the derivatives.

    Returns:
      The functions and their derivatives with respect to z, each (m + 1, n + 1, len(z)).

    >>> import effax.numpy as jnp
    >>> from effax.scipy import special
    >>> special.lpmn(1, 2, jnp.array([0.5]))[1][0, :, 0]
    Array([0. , 1. , 1.5], dtype=float32)
    """
    found = lpmn_values(m, n, z, False)
    x, (orders, degrees, _) = jnp.asarray(z), found.shape
    order = jnp.arange(orders, dtype=x.dtype)[:, None, None]
    degree = jnp.arange(degrees, dtype=x.dtype)[None, :, None]
    below = jnp.pad(found, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    gap = (1 - x) * (1 + x)
    at_end = gap == 0
    inside = ((degree + order) * below - degree * x * found) / jnp.where(at_end, 1, gap)
    rising = degree * (degree + 1)
    sign = jnp.where((x < 0) & (degree % 2 == 1), -1, 1)  # x**degree there
    ends: Any = 0
    for which, limit in (
        (0, sign * x * rising / 2),
        (1, jnp.where(degree > 0, sign * math.inf, 0)),
        (2, -sign * x * (degree + 2) * rising * (degree - 1) / 4),
    ):
        ends = jnp.where(order == which, limit, ends)
    return found, jnp.where(at_end, ends, inside)
