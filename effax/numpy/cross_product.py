"""The cross product."""

from __future__ import annotations

from typing import Any

from effax.eager.whole import whole
from effax.effects.rows import elementwise, shape
from effax.effects.types import (
    typeof,
)
from effax.effects.value import Array, ArrayLike
from effax.operands.arguments import canonical_axis, check_arrays, strong
from effax.operands.promoting import broadcast_to_common, promote_dtypes


@whole("axisa", "axisb", "axisc", "axis")
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Return the cross product of vectors of 2 or 3 components; of two plane vectors, a number.

    Args:
      a, b: arrays of vectors along `axisa` and `axisb`; their other axes are broadcast.
      axisc: where the vectors lie in the result.
      axis: one axis instead of the three.

    Raises:
      ValueError: for vectors of other lengths.

    >>> import effax.numpy as jnp
    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    check_arrays("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote_dtypes(a, b)
    sides = []
    for x, at in ((a, axisa), (b, axisb)):
        n = typeof(x).ndim
        at = canonical_axis(at, n)
        if typeof(x).shape[at] not in (2, 3):
            raise ValueError(
                "cross takes vectors of 2 or 3 components, but an operand is "
                f"{typeof(x).str_short()}, with {typeof(x).shape[at]} along axis {at}"
            )
        sides.append(
            [
                shape.squeeze(shape.slice_axis(x, at, i, i + 1), (at,))
                for i in range(typeof(x).shape[at])
            ]
        )
    together = broadcast_to_common(*sides[0], *sides[1], name="cross")
    u, v = together[: len(sides[0])], together[len(sides[0]) :]

    def minor(i: int, j: int) -> Any:
        """u_i v_j - u_j v_i, where a missing third component is zero."""
        first = elementwise.mul(u[i], v[j]) if i < len(u) and j < len(v) else None
        second = elementwise.mul(u[j], v[i]) if j < len(u) and i < len(v) else None
        if first is None:
            return elementwise.neg(second)
        return first if second is None else elementwise.sub(first, second)

    if len(u) == len(v) == 2:
        return minor(0, 1)
    parts = [strong(minor(i, j)) for i, j in ((1, 2), (2, 0), (0, 1))]
    ndim = typeof(parts[0]).ndim
    place = canonical_axis(axisc, ndim + 1)
    return shape.concatenate(*(shape.expand_dims(p, (place,)) for p in parts), axis=place)
