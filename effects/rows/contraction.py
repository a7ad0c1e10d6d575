"""Contraction: sums of products over paired axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from effax.effects.dot_algorithms import DotAlgorithm
from effax.effects.effect import Effect
from effax.effects.facts import BILINEAR, SPREADING
from effax.effects.types import ShapedArray, is_integer

Pairs = tuple[tuple[int, ...], tuple[int, ...]]


def product_dtype(name: str, lhs: ShapedArray, rhs: ShapedArray, preferred: Any) -> Any:
    """The dtype of sums of products, after checking that the operands can be multiplied.

    Raises `TypeError` where the dtypes differ, or the preferred one is of another kind.
    """
    if lhs.dtype != rhs.dtype and not (_small(lhs) and _small(rhs)):
        raise TypeError(
            f"{name}: operands must have equal dtypes, got {lhs.str_short()} and {rhs.str_short()}"
        )
    if preferred is None:
        return lhs.dtype
    wanted = np.dtype(preferred)
    if lhs.dtype != wanted:
        kinds = _kind(lhs.dtype), _kind(wanted)
        if kinds in (("float", "integer"), ("complex", "integer"), ("complex", "float")):
            raise TypeError(
                f"{name}: `preferred_element_type` must be of the operands' kind, got "
                f"{wanted.name} for {lhs.str_short()} and {rhs.str_short()}"
            )
    return wanted


def _small(type: ShapedArray) -> bool:
    return type.dtype.name.startswith("float8")


def _kind(dtype: Any) -> str:
    if dtype.kind == "c":
        return "complex"
    return "integer" if dtype.kind in "iub" or "int" in dtype.name else "float"


def free_dims(ndim: int, contract: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of an operand that are neither contracted nor batch axes, in order."""
    return tuple(i for i in range(ndim) if i not in contract and i not in batch)


def swapped(precision: Any) -> Any:
    """A precision for operands that change places."""
    if isinstance(precision, DotAlgorithm):
        return precision.swapped()
    return tuple(reversed(precision)) if isinstance(precision, tuple) else precision


def _dot_general_type(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: tuple[Pairs, Pairs],
    precision: Any,
    preferred_element_type: Any,
) -> ShapedArray:
    (lc, rc), (lb, rb) = dimension_numbers
    for side, contract, batch in ((lhs, lc, lb), (rhs, rc, rb)):
        axes = (*contract, *batch)
        if len(set(axes)) != len(axes) or any(not 0 <= a < len(side.shape) for a in axes):
            raise TypeError(
                f"dot_general: contracted axes {contract} and batch axes {batch} must be distinct "
                f"axes of {side.str_short()}"
            )
    for what, left, right in (("contracting", lc, rc), ("batch", lb, rb)):
        lengths = [tuple([x.shape[i] for i in axes]) for x, axes in ((lhs, left), (rhs, right))]
        if lengths[0] != lengths[1]:
            raise TypeError(
                f"dot_general requires {what} dimensions to have the same shape, got {lengths[0]} "
                f"and {lengths[1]}: axes {left} of {lhs.str_short()} and {right} of "
                f"{rhs.str_short()} must have equal lengths"
            )
    dtype = product_dtype("dot_general", lhs, rhs, preferred_element_type)
    shape = (
        *(lhs.shape[i] for i in lb),
        *(lhs.shape[i] for i in free_dims(len(lhs.shape), lc, lb)),
        *(rhs.shape[i] for i in free_dims(len(rhs.shape), rc, rb)),
    )
    weak = preferred_element_type is None and lhs.weak_type and rhs.weak_type
    return ShapedArray(shape, dtype, weak)


dot_general = Effect(
    "dot_general", family="contraction", typing=_dot_general_type, facts=BILINEAR | SPREADING
)
"""`dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)`.

`dimension_numbers` is ((lhs contracted, rhs contracted), (lhs batch, rhs batch)); the result has
the batch axes, then the free axes of lhs, then those of rhs. `precision` is None, a name of
StableHLO's (DEFAULT, HIGH, HIGHEST) for each operand, or a dot algorithm.
"""


def outer_axes(
    ndim: int, ragged: int, contracted: Sequence[int], batched: Sequence[int]
) -> tuple[int, ...]:
    """The axes of lhs along which the sizes of groups may differ, in the order that they have."""
    if ragged in batched:
        return tuple(batched[: batched.index(ragged)])
    free = free_dims(ndim, tuple(contracted), tuple(batched))
    kind = contracted if ragged in contracted else free
    return (*batched, *kind[: kind.index(ragged)])


def _ragged_dot_general_type(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    *,
    dimension_numbers: tuple[Pairs, Pairs],
    ragged: int,
    group: tuple[int, ...],
    precision: Any,
    preferred_element_type: Any,
) -> ShapedArray:
    (lc, rc), (lb, rb) = dimension_numbers
    count = group_sizes.shape[-1]
    if lhs.dtype != rhs.dtype and preferred_element_type in (lhs.dtype, rhs.dtype):
        lhs, rhs = (x.update(dtype=np.dtype(preferred_element_type)) for x in (lhs, rhs))
    outer = tuple(lhs.shape[i] for i in outer_axes(lhs.ndim, ragged, lc, lb))
    if not is_integer(group_sizes.dtype) or group_sizes.shape not in ((count,), (*outer, count)):
        raise TypeError(
            f"ragged_dot_general: group sizes must be integers of shape {(count,)} or "
            f"{(*outer, count)}, got {group_sizes.str_short()}"
        )
    of_one = rhs
    if group:
        (at,) = group
        if rhs.shape[at] != count or at in (*rc, *rb):
            raise TypeError(
                f"ragged_dot_general: axis {at} of {rhs.str_short()} must be free, and have the "
                f"length {count}"
            )
        of_one = rhs.update(shape=(*rhs.shape[:at], *rhs.shape[at + 1 :]))
        rc, rb = (tuple(i - (i > at) for i in axes) for axes in (rc, rb))
    product = _dot_general_type(
        lhs,
        of_one,
        dimension_numbers=((lc, rc), (lb, rb)),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return product if group else product.update(shape=(count, *product.shape))


ragged_dot_general = Effect(
    "ragged_dot_general", family="contraction", typing=_ragged_dot_general_type
)
"""`ragged_dot_general(lhs, rhs, group_sizes, dimension_numbers, ragged, group, precision,
preferred_element_type)`.

`dot_general`, with the axis `ragged` of lhs cut into groups of consecutive elements. A free axis:
each element meets the part of rhs that its group has along the axis in `group`, and elements after
the last group give zeros. A contracted axis, with an empty `group`: the result has a product for
each group, along a new first axis. The sizes are (g,), or differ along `outer_axes`. Operands of
two dtypes are multiplied in the preferred one, which one of them has.
"""
