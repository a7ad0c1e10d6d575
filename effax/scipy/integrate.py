"""Integrals of samples, as `scipy.integrate` has them."""

from __future__ import annotations

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike

__all__ = [
    "trapezoid",
]
__dir__ = __all__.copy


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Return the integral of samples along an axis, by the trapezoidal rule: `jnp.trapezoid`.

    Args:
      y: array_like, the samples.
      x: array_like, their places: a vector, or broadcast against `y`; by default `dx` apart.
      dx: the distance between samples where `x` is None.
      axis: the axis to integrate along; negative ones count from the end.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import integrate
    >>> integrate.trapezoid(jnp.array([1.0, 2.0, 3.0]))
    Array(4., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)
