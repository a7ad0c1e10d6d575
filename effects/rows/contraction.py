"""Contraction: sums of products over paired axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.effects.dot_algorithms import DotAlgorithm
from effax.effects.effect import Effect
from effax.effects.facts import BILINEAR, SPREADING
from effax.effects.types import ShapedArray

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
