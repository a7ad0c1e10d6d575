"""Products of matrices whose rows belong to groups of different sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

import effax.numpy as jnp
from effax.effects.types import typeof
from effax.lax.contraction import dot_general
from effax.whole import whole

Array = Any


@attrs.frozen
class RaggedDotDimensionNumbers:
    """Which axes of `ragged_dot_general` are what.

    `dot_dimension_numbers` are those of `dot_general`; `lhs_ragged_dimensions` is the one axis of
    lhs that is cut into groups, `rhs_group_dimensions` the axis of rhs that counts them, if any.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


def ragged_dot(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Array | None = None,
) -> Array:
    """The rows of lhs, group after group, times the matrix of their group.

    Args:
      lhs: (m, k).
      rhs: (g, k, n), a matrix for each group.
      group_sizes: (g,), integers: how many rows each group has. Rows past their sum give zeros.
      precision, preferred_element_type: as for `dot_general`.
      group_offset: must be None, as in JAX.

    Returns:
      (m, n).

    Raises:
      TypeError: for operands of other ranks or lengths.

    >>> import effax.numpy as jnp, effax.lax as lax
    >>> lhs, rhs = jnp.ones((4, 2)), jnp.array([[[1.0], [1.0]], [[2.0], [2.0]]])
    >>> lax.ragged_dot(lhs, rhs, jnp.array([3, 1]))[:, 0].tolist()
    [2.0, 2.0, 2.0, 4.0]
    """
    numbers = RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])
    return ragged_dot_general(
        lhs, rhs, group_sizes, numbers, precision, preferred_element_type, group_offset
    )


def ragged_dot_general(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Array | None = None,
) -> Array:
    """`dot_general` where one axis of lhs is cut into groups.

    If that axis is contracted, the result has one product for each group, along a new first axis;
    if it is not, each of its elements meets the part of rhs that belongs to its group; and if it
    is a batch axis, groups change nothing.

    Raises:
      NotImplementedError: for a `group_offset`.
      TypeError: for more than one ragged axis, or group sizes that are no vector of integers.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    >>> rows, matrices = jnp.ones((3, 2)), jnp.ones((2, 2, 1))
    >>> lax.ragged_dot_general(rows, matrices, jnp.array([1, 2]), numbers).tolist()
    [[2.0], [2.0], [2.0]]
    """
    if group_offset is not None:
        raise NotImplementedError("Unimplemented group_offset support.")
    numbers = ragged_dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            "ragged_dot_general requires exactly one lhs ragged dimension, got "
            f"{tuple(numbers.lhs_ragged_dimensions)}"
        )
    sizes = typeof(group_sizes)
    if sizes.ndim != 1 or not jnp.issubdtype(sizes.dtype, jnp.integer):
        raise TypeError(
            f"ragged_dot_general: group_sizes is {sizes.str_short()}, no vector of ints"
        )
    (contracted, batched), ragged = numbers.dot_dimension_numbers, numbers.lhs_ragged_dimensions[0]
    rule = (
        tuple(tuple(d) for d in contracted),
        tuple(tuple(d) for d in batched),
        ragged,
        tuple(numbers.rhs_group_dimensions),
    )
    return _ragged(lhs, rhs, group_sizes, rule, precision, preferred_element_type)


@whole("rule", "precision", "preferred")
def _ragged(
    lhs: Array, rhs: Array, group_sizes: Array, rule: Any, precision: Any, preferred: Any
) -> Array:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch), ragged, group = rule
    how = {"precision": precision, "preferred_element_type": preferred}
    if ragged in lhs_batch:
        return dot_general(lhs, rhs, ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)), **how)
    parted = _parted(lhs, group_sizes, ragged)
    up = tuple(d + 1 for d in lhs_contract), tuple(d + 1 for d in lhs_batch)
    if ragged in lhs_contract:
        y = dot_general(parted, rhs, ((up[0], rhs_contract), (up[1], rhs_batch)), **how)
        return jnp.moveaxis(y, len(lhs_batch), 0)
    if len(group) != 1:
        raise TypeError(
            "ragged_dot_general requires exactly one rhs group dimension when the ragged dimension "
            f"is not contracted, got {group}"
        )
    contracted = ((0, *up[0]), (group[0], *rhs_contract))
    return dot_general(parted, rhs, (contracted, (up[1], rhs_batch)), **how)


def _parted(x: Array, sizes: Array, axis: int) -> Array:
    """x once for each group, with zeros where another group is."""
    ends = jnp.cumsum(sizes)
    places = jnp.arange(x.shape[axis])
    inside = (places >= (ends - sizes)[:, None]) & (places < ends[:, None])
    lengths = [1] * x.ndim
    lengths[axis] = x.shape[axis]
    return jnp.where(inside.reshape(-1, *lengths), x, jnp.zeros((), x.dtype))
