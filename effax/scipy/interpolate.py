"""Interpolation on regular grids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import effax.numpy as jnp
from effax.eager.whole import whole
from effax.effects.tree import register_pytree_node_class
from effax.effects.types import is_complex
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats

__all__ = [
    "RegularGridInterpolator",
]
__dir__ = __all__.copy


@register_pytree_node_class
class RegularGridInterpolator:
    """Values between the points of a grid: `RegularGridInterpolator(points, values)(x)`.

    Args:
      points: the coordinates along each axis, vectors that strictly ascend.
      values: what there is at the points; axes beyond those of the grid are carried along.
      method: "linear" or "nearest".
      bounds_error: must be False: whether points are outside is not known under `jit`.
      fill_value: the result outside of the grid; None continues the values there.

    It is a node of trees, with arrays for leaves.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.interpolate import RegularGridInterpolator
    >>> at = RegularGridInterpolator((jnp.arange(3.0),), jnp.array([0.0, 1.0, 4.0]))
    >>> at(jnp.array([0.5, 1.5]))
    Array([0.5, 2.5], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: ArrayLike | None = math.nan,
    ) -> None:
        _check_method(method)
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: bounds_error=True takes no effect under jit; leave it "
                "out, and look for fill_value"
            )
        (self.values,) = floats("RegularGridInterpolator", values)
        if len(points) > self.values.ndim:
            raise ValueError(
                f"there are {len(points)} point arrays, but values has {self.values.ndim} "
                "dimensions"
            )
        self.grid = tuple(floats("RegularGridInterpolator", x)[0] for x in points)
        for i, x in enumerate(self.grid):
            if x.ndim != 1:
                raise ValueError(f"the points in dimension {i} must be 1-dimensional")
            if x.shape[0] != self.values.shape[i]:
                raise ValueError(
                    f"there are {x.shape[0]} points and {self.values.shape[i]} values in "
                    f"dimension {i}"
                )
        self.method, self.bounds_error = method, bounds_error
        self.fill_value = None if fill_value is None else _fill_value(fill_value, self.values)

    def tree_flatten(self) -> tuple[Any, Any]:
        """The arrays, as leaves."""
        return (self.grid, self.values, self.fill_value), (self.method, self.bounds_error)

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> RegularGridInterpolator:
        """The interpolator of these leaves."""
        made = object.__new__(cls)
        made.grid, made.values, made.fill_value = children
        made.method, made.bounds_error = aux_data
        return made

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """The values at points, whose coordinates are the last axis of xi (or a tuple of arrays).

        `method` is by default the interpolator's.
        """
        chosen = self.method if method is None else method
        _check_method(chosen)
        together = isinstance(xi, tuple)
        if together:
            xi = jnp.stack(jnp.broadcast_arrays(*xi), axis=-1)
        (x,) = floats("RegularGridInterpolator", xi)
        n = len(self.grid)
        if x.ndim == 1 and not together:
            x = x[:, None] if n == 1 else x[None]
        if x.ndim == 0 or x.shape[-1] != n:
            raise ValueError(
                f"the requested sample points xi have dimension {x.shape[-1] if x.ndim else 0}, "
                f"but this RegularGridInterpolator has dimension {n}"
            )
        return _interpolate(self.grid, self.values, self.fill_value, x, chosen)


def _fill_value(given: ArrayLike, values: Array) -> Array:
    """The value as an array; refuses complex numbers among real values."""
    value = jnp.asarray(given)
    if is_complex(value.dtype) and not is_complex(values.dtype):
        raise ValueError("fill_value must be either 'None' or of a type compatible with values")
    return value


def _check_method(method: str) -> None:
    if method not in ("linear", "nearest"):
        raise ValueError(f"method {method!r} is not defined")


@whole("method")
def _interpolate(
    grid: Sequence[Array], values: Array, fill_value: Array | None, points: Array, method: str
) -> Array:
    n = len(grid)
    outside = jnp.zeros(points.shape[:-1], bool)
    places, parts = [], []
    for i, axis in enumerate(grid):
        x = points[..., i]
        outside = outside | (x < axis[0]) | (x > axis[-1])
        last = max(axis.shape[0] - 2, 0)
        place = jnp.clip(jnp.searchsorted(axis, x, side="right") - 1, 0, last)
        step = axis[jnp.minimum(place + 1, axis.shape[0] - 1)] - axis[place]
        places.append(place)
        parts.append(jnp.where(step == 0, 0, (x - axis[place]) / jnp.where(step == 0, 1, step)))
    trailing = (1,) * (values.ndim - n)
    if method == "nearest":
        chosen = [
            jnp.where(part <= 0.5, place, jnp.minimum(place + 1, axis.shape[0] - 1))
            for place, part, axis in zip(places, parts, grid, strict=True)
        ]
        found = values[tuple(chosen)]
        missing = jnp.any(jnp.isnan(points), axis=-1)
        found = jnp.where(missing.reshape(*missing.shape, *trailing), math.nan, found)
    else:
        found = jnp.zeros((), values.dtype)
        for corner in product((0, 1), repeat=n):
            weight = jnp.ones(points.shape[:-1], points.dtype)
            for up, part in zip(corner, parts, strict=True):
                weight = weight * (part if up else 1 - part)
            at = tuple(
                jnp.minimum(place + up, axis.shape[0] - 1)
                for place, up, axis in zip(places, corner, grid, strict=True)
            )
            found = found + values[at] * weight.reshape(*weight.shape, *trailing)
    if fill_value is None:
        return found
    return jnp.where(outside.reshape(*outside.shape, *trailing), fill_value, found)
