"""Products of arrays whose elements share scales, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.eager.whole import whole
from effax.effects.promotion import promote_types
from effax.effects.rows import shape
from effax.effects.rows.elementwise import mul
from effax.effects.types import bfloat16, typeof, user_dtype
from effax.effects.value import Array, DTypeLike
from effax.lax.contraction import dot_general
from effax.operands.arguments import cast

DimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


def scaled_dot(
    lhs: Array,
    rhs: Array,
    *,
    lhs_scale: Array | None = None,
    rhs_scale: Array | None = None,
    dimension_numbers: DimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return `(lhs * lhs_scale) @ (rhs * rhs_scale)`, each scale shared by a block of elements.

    Args:
      lhs, rhs: operands of `dot_general`, of any float dtype.
      lhs_scale, rhs_scale: of the operands' shapes, but shorter along contracted axes: by whole
        factors, the lengths of blocks, of 2 at least. None for no scale.
      dimension_numbers: as for `dot_general`; by default the last axis of lhs meets the last but
        one of rhs, and all before these are batch axes.
      preferred_element_type: the dtype of the result, bfloat16 by default; operands are scaled in
        it, and not narrower than bfloat16.

    Returns:
      The product, of the shape that `dot_general` gives.

    Raises:
      TypeError: for scales and operands whose shapes don't fit.

    >>> import effax.numpy as jnp, effax.lax as lax
    >>> x = jnp.ones((1, 4), "float8_e4m3fn")
    >>> scale = jnp.array([[2.0, 8.0]], "float8_e8m0fnu")
    >>> lax.scaled_dot(x, x.T, lhs_scale=scale, preferred_element_type="float32")
    Array([[20.]], dtype=float32)
    """
    dims = _numbers(lhs, rhs, dimension_numbers)
    (lhs_contract, rhs_contract), _ = dims
    for i, j in zip(*dims[0], strict=True):
        a, b = typeof(lhs).shape[i], typeof(rhs).shape[j]
        if a != b:
            raise TypeError(
                f"LHS contracting dim {i} of size {a} does not match RHS contracting dim {j} of "
                f"size {b}."
            )
    _check("LHS", lhs, lhs_scale, lhs_contract)
    _check("RHS", rhs, rhs_scale, rhs_contract)
    dtype = user_dtype(
        bfloat16 if preferred_element_type is None else preferred_element_type, "scaled_dot"
    )
    return _scaled_dot(lhs, rhs, lhs_scale, rhs_scale, dims, dtype)


@whole("dims", "dtype")
def _scaled_dot(
    lhs: Array, rhs: Array, lhs_scale: Any, rhs_scale: Any, dims: Any, dtype: Any
) -> Array:
    wide = promote_types(dtype, bfloat16)
    a, b = _scaled(lhs, lhs_scale, wide), _scaled(rhs, rhs_scale, wide)
    return dot_general(a, b, dims, preferred_element_type=dtype)


def _numbers(lhs: Array, rhs: Array, given: DimensionNumbers | None) -> Any:
    if given is not None:
        return tuple(tuple(tuple(map(int, axes)) for axes in pair) for pair in given)
    n, m = typeof(lhs).ndim, typeof(rhs).ndim
    if n != m or n < 2:
        raise TypeError(
            "scaled_dot without dimension_numbers: expected operands of the same rank, at least "
            f"2, got {typeof(lhs).str_short()} and {typeof(rhs).str_short()}"
        )
    batch = tuple(range(n - 2))
    return (((n - 1,), (n - 2,)), (batch, batch))


def _check(side: str, x: Array, scale: Array | None, contracted: Sequence[int]) -> None:
    if scale is None:
        return
    lengths, shorter = typeof(x).shape, typeof(scale).shape
    if len(lengths) != len(shorter):
        raise TypeError(f"{side} has rank {len(lengths)}, and its scale rank {len(shorter)}.")
    for i, (n, m) in enumerate(zip(lengths, shorter, strict=True)):
        if i not in contracted and n != m:
            raise TypeError(f"{side} dim {i} of size {n} does not match scale dim size {m}.")
        if i in contracted and (m == 0 or n % m):
            raise TypeError(
                f"{side} contracting dim {i} of size {n} must be an integer multiple of its "
                f"scale's dim size {m}."
            )
        if i in contracted and n < 2 * m:
            raise TypeError(
                f"The ratio of {side} contracting dim {i} to its scale's dim size ({n // m}) must "
                "be at least 2."
            )


def _scaled(x: Array, scale: Array | None, dtype: Any) -> Array:
    wide = cast(x, dtype)
    if scale is None:
        return wide
    factors = cast(scale, dtype)
    for axis, (n, m) in enumerate(zip(typeof(x).shape, typeof(scale).shape, strict=True)):
        if n != m:
            factors = _each_repeated(factors, axis, n // m)
    return mul(wide, factors)


def _each_repeated(x: Array, axis: int, times: int) -> Array:
    """The array with each element repeated along an axis."""
    lengths = typeof(x).shape
    dims = [i for i in range(len(lengths) + 1) if i != axis + 1]
    split = (*lengths[: axis + 1], times, *lengths[axis + 1 :])
    merged = (*lengths[:axis], lengths[axis] * times, *lengths[axis + 1 :])
    return shape.reshape(shape.broadcast_in_dim(x, shape=split, dims=tuple(dims)), shape=merged)
