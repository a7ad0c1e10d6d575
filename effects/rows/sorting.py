"""Sorting: effects that put elements in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.dtypes import bit_width, float32
from effax.effects.effect import Effect
from effax.effects.facts import SOUND
from effax.effects.rows import comparison, selection, shape
from effax.effects.rows import complex as complex_parts
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.indexing import GatherDimensionNumbers, GatherScatterMode, gather
from effax.effects.rows.logical import and_, or_
from effax.effects.signature import ORDERED, require
from effax.effects.types import ShapedArray, int32, is_complex, is_float, typeof

FAMILY = "sorting"


def _sort_type(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[ShapedArray]:
    if not operands:
        raise TypeError("sort: at least one array is needed")
    first = operands[0]
    if any(x.shape != first.shape for x in operands):
        shapes = ", ".join(x.str_short() for x in operands)
        raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
    if not 0 <= dimension < first.ndim:
        raise ValueError(f"sort: dimension {dimension} is not an axis of {first.str_short()}")
    if not 1 <= num_keys <= len(operands):
        raise ValueError(f"sort: num_keys={num_keys} must be between 1 and {len(operands)}")
    return operands


sort = Effect("sort", family=FAMILY, typing=_sort_type, multiple=True, facts=SOUND)
"""`sort(*operands, dimension, is_stable, num_keys)`: all arrays in the order of the first keys.

The first `num_keys` operands are compared lexicographically, complex numbers by real part first.
NaN comes last, and equals itself; -0 equals 0.
"""


def _top_k_type(
    x: ShapedArray, *, k: int, axis: int, recall: float | None = None
) -> Sequence[ShapedArray]:
    if is_complex(x.dtype):
        raise ValueError("top_k is not compatible with complex inputs.")
    require("top_k", ORDERED, x)
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if x.ndim == 0:
        raise TypeError(f"top_k operand must have >= 1 dimension, got {x.shape}")
    if not 0 <= axis < x.ndim:
        raise ValueError(f"top_k: axis {axis} is not one of the axes of {x.str_short()}")
    if k > x.shape[axis]:
        raise ValueError(
            f"top_k: k={k} is more than the {x.shape[axis]} elements along axis {axis}"
        )
    shape = tuple(k if i == axis else n for i, n in enumerate(x.shape))
    return [x.update(shape=shape), ShapedArray(shape, int32)]


top_k = Effect("top_k", family=FAMILY, typing=_top_k_type, multiple=True, facts=SOUND)
"""`top_k(x, k, axis)`: the k largest along an axis, in descending order, and where they were.

With `recall`, only that share of them must be found, on average; a TPU does that faster.
"""


def take_along(x: Any, indices: Any, axis: int) -> Any:
    """The elements of x at these positions along an axis; the other axes belong together.

    Positions are promised to be in bounds, and different from each other. Linear in x.
    """
    rank = typeof(x).ndim
    others = tuple(i for i in range(rank) if i != axis)
    return gather(
        x,
        shape.expand_dims(indices, (rank,)),
        dimension_numbers=GatherDimensionNumbers(
            offset_dims=(),
            collapsed_slice_dims=(axis,),
            start_index_map=(axis,),
            operand_batching_dims=others,
            start_indices_batching_dims=others,
        ),
        slice_sizes=(1,) * rank,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
        indices_are_sorted=False,
        unique_indices=True,
    )


def before(xs: Sequence[Any], ys: Sequence[Any], or_equal: bool = False) -> Any:
    """Whether the keys xs come before the keys ys, in the order of `sort`."""
    one, other = _total_keys(xs), _total_keys(ys)
    verdict = None
    for x, y in zip(reversed(one), reversed(other), strict=True):
        if verdict is None:
            verdict = (comparison.le_to if or_equal else comparison.lt_to)(x, y)
        else:
            verdict = or_(comparison.lt_to(x, y), and_(comparison.eq_to(x, y), verdict))
    return verdict


def _total_keys(xs: Sequence[Any]) -> list[Any]:
    """Keys whose total order is that of `sort`: one representation for zeros, and one for NaNs."""
    keys = []
    for x in xs:
        dtype = typeof(x).dtype
        if is_complex(dtype):
            keys += [
                _one_zero_one_nan(complex_parts.real(x)),
                _one_zero_one_nan(complex_parts.imag(x)),
            ]
        else:
            keys.append(_one_zero_one_nan(x) if is_float(dtype) else x)
    return keys


def _one_zero_one_nan(x: Any) -> Any:
    # Some narrow floats have a single NaN with the bits of -0, which would sort before all numbers.
    if bit_width(typeof(x).dtype) < 16:
        x = convert_element_type(x, dtype=float32)
    number = selection.select_n(comparison.eq(x, 0.0), x, 0.0)
    return selection.select_n(comparison.ne(x, x), number, float("nan"))
