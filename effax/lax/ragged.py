"""Products of matrices whose rows belong to groups of different sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.rows import contraction
from effax.effects.rows.contraction import outer_axes
from effax.effects.types import int32, int64, is_integer, typeof
from effax.effects.value import Array, DTypeLike, OutSharding, PrecisionLike
from effax.lax.contraction import canonical_precision, in_one_dtype, preferred, products
from effax.operands.arguments import cast


@attrs.frozen
class RaggedDotDimensionNumbers:
    """The roles of the axes of `ragged_dot_general`.

    `dot_dimension_numbers` are those of `dot_general`; `lhs_ragged_dimensions` is the one axis of
    lhs that is cut into groups, `rhs_group_dimensions` the axis of rhs that counts them, if any.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


@placed
def ragged_dot(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: Array | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Multiply the rows of lhs, group after group, by the matrix of their group.

    Args:
      lhs: (m, k).
      rhs: (g, k, n), a matrix for each group.
      group_sizes: (g,), integers: how many rows each group has. Rows past their sum give zeros.
      precision, preferred_element_type: as for `dot_general`.
      group_offset: must be None, as in JAX.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

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


@placed
def ragged_dot_general(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: Array | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Compute `dot_general` where one axis of lhs is cut into groups.

    If that axis is contracted, the result has one product for each group, along a new first axis;
    if it is not, each of its elements meets the part of rhs that belongs to its group; and if it
    is a batch axis, groups change nothing.

    Args:
      lhs, rhs: arrays, as for `dot_general`.
      group_sizes: integers, (g,) or (b..., x..., g): how many elements each group has.
      ragged_dot_dimension_numbers: a `RaggedDotDimensionNumbers`, the roles of the axes.
      precision, preferred_element_type: as for `dot_general`.
      group_offset: must be None, as in JAX.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    Raises:
      NotImplementedError: for a `group_offset`.
      TypeError: for more than one ragged axis, for a group axis of rhs that is missing, taken or of
        another length, and for group sizes of another shape: they are (g,), or differ along the
        batch axes of lhs and those before the ragged one, (b..., x..., g).

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    >>> rows, matrices = jnp.ones((3, 2)), jnp.ones((2, 2, 1))
    >>> lax.ragged_dot_general(rows, matrices, jnp.array([1, 2]), numbers).tolist()
    [[2.0], [2.0], [2.0]]
    """
    if group_offset is not None:
        raise NotImplementedError("Unimplemented group_offset support.")
    numbers = ragged_dot_dimension_numbers
    (contracted, batched), group = numbers.dot_dimension_numbers, numbers.rhs_group_dimensions
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            "ragged_dot_general expects exactly one lhs ragged dimension, got "
            f"{tuple(numbers.lhs_ragged_dimensions)}"
        )
    ragged = numbers.lhs_ragged_dimensions[0]
    _check_axis("lhs ragged dimension", "lhs", ragged, lhs)
    outer = outer_axes(typeof(lhs).ndim, ragged, tuple(contracted[0]), tuple(batched[0]))
    count = _group_count(typeof(lhs), typeof(group_sizes), outer)
    if ragged in contracted[0] or ragged in batched[0]:
        if group:
            raise TypeError(
                "ragged_dot_general: rhs_group_dimensions must be empty where the ragged dimension "
                f"of lhs is contracted or a batch, got {tuple(group)}"
            )
    else:
        _check_group_axis(rhs, tuple(group), (*contracted[1], *batched[1]), count)
    dims = tuple(tuple(tuple(axes) for axes in pair) for pair in numbers.dot_dimension_numbers)
    return _ragged(
        lhs,
        rhs,
        group_sizes,
        dims,
        ragged,
        tuple(group),
        canonical_precision(precision),
        preferred(preferred_element_type, "ragged_dot_general"),
    )


def _check_axis(what: str, name: str, axis: int, x: Array) -> None:
    if not 0 <= axis < typeof(x).ndim:
        raise TypeError(
            f"ragged_dot_general: {what} {axis} is out of bounds for {name} of type "
            f"{typeof(x).str_short()}"
        )


def _group_count(lhs: Any, sizes: Any, outer: tuple[int, ...]) -> int:
    """Check the type of the group sizes, and return how many groups there are."""
    if sizes.ndim == 0 or not is_integer(sizes.dtype):
        raise TypeError(
            "ragged_dot_general expects group_sizes to be integers of rank at least 1, got "
            f"{sizes.str_short()}"
        )
    expected = (*(lhs.shape[axis] for axis in outer), sizes.shape[-1])
    if sizes.ndim > 1 and tuple(sizes.shape) != expected:
        raise TypeError(
            f"ragged_dot_general expected group_sizes to have shape {expected}, got "
            f"{tuple(sizes.shape)}"
        )
    count: int = sizes.shape[-1]
    return count


def _check_group_axis(
    rhs: Array, group: tuple[int, ...], taken: tuple[int, ...], count: int
) -> None:
    if len(group) != 1:
        raise TypeError(
            "ragged_dot_general requires exactly one rhs group dimension when lhs ragged "
            f"dimension is noncontracting, got {group}"
        )
    _check_axis("rhs group dimension", "rhs", group[0], rhs)
    if group[0] in taken:
        raise TypeError(
            "ragged_dot_general requires rhs group dimension numbers to be distinct from "
            f"contracting and batch dimensions, got {group[0]} among {taken}"
        )
    if typeof(rhs).shape[group[0]] != count:
        raise TypeError(
            f"ragged_dot_general expected rhs group dimension size to be {count}, got "
            f"{typeof(rhs).shape[group[0]]}"
        )


@whole("dims", "ragged", "group", "precision", "summed_in")
def _ragged(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    dims: Any,
    ragged: int,
    group: tuple[int, ...],
    precision: Any,
    summed_in: Any,
) -> Array:
    if ragged in dims[1][0]:
        return products(lhs, rhs, dims, precision, summed_in)
    wide = int64 if typeof(group_sizes).dtype.itemsize == 8 else int32
    sizes = cast(group_sizes, wide)

    def product(lhs: Any, rhs: Any, wanted: Any) -> Any:
        return contraction.ragged_dot_general(
            lhs,
            rhs,
            sizes,
            dimension_numbers=dims,
            ragged=ragged,
            group=group,
            precision=precision,
            preferred_element_type=wanted,
        )

    return in_one_dtype(product, lhs, rhs, summed_in)
