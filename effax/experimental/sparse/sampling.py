"""Some elements of a dense product, and convolutions, by positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.effects.rows.contraction import free_dims
from effax.effects.value import Array
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import extracted, inside, placed_at


@compiled("dimension_numbers")
def bcoo_dot_general_sampled(
    A: Array,  # noqa: N803
    B: Array,  # noqa: N803
    indices: Array,
    *,
    dimension_numbers: Any,
) -> Array:
    """Return the elements of a dense `dot_general` at given positions.

    Where all axes of the product are sparse, only those elements are computed.

    Args:
      A, B: dense arrays.
      indices: positions in the product, of shape (*batch, nse, n_sparse) as in a `BCOO`.
      dimension_numbers: as for `lax.dot_general`.

    Returns:
      The data of a `BCOO` with these indices, an array of shape (*batch, nse, *dense). It is 0 for
      positions outside of the product.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> x = jnp.arange(6.0).reshape(2, 3)
    >>> numbers = (([1], [1]), ([], []))
    >>> sparse.bcoo_dot_general_sampled(x, x, jnp.array([[0, 1]]), dimension_numbers=numbers)
    Array([14.], dtype=float32)
    """
    left, right, indices = (jnp.asarray(x) for x in (A, B, indices))
    (lc, rc), (lb, rb) = (tuple(tuple(map(int, axes)) for axes in p) for p in dimension_numbers)
    l_free, r_free = free_dims(left.ndim, lc, lb), free_dims(right.ndim, rc, rb)
    shape = [left.shape[i] for i in (*lb, *l_free)] + [right.shape[j] for j in r_free]
    if indices.ndim != 2 or indices.shape[-1] != len(shape) or not shape or 0 in shape:
        return extracted(indices, lax.dot_general(left, right, dimension_numbers), unique=True)
    places = placed_at(indices)
    b, f = len(lb), len(lb) + len(l_free)
    rows = _at_places(left.transpose(*lb, *l_free, *lc), places[:f], len(indices))
    of_right = (*places[:b], *places[f:])
    columns = _at_places(right.transpose(*rb, *r_free, *rc), of_right, len(indices))
    dtype = jnp.result_type(left, right)
    rows, columns = (x.reshape(len(indices), -1).astype(dtype) for x in (rows, columns))
    found = lax.dot_general(rows, columns, (([1], [1]), ([0], [0])))
    return jnp.where(inside(indices, shape), found, 0)


def _at_places(x: Array, places: tuple[Array, ...], count: int) -> Array:
    """The part of an array at each of `count` places along its first axes."""
    return x.at[places].get(mode="clip") if places else jnp.broadcast_to(x, (count, *x.shape))


@compiled(
    "window_strides",
    "padding",
    "lhs_dilation",
    "rhs_dilation",
    "dimension_numbers",
    "feature_group_count",
    "batch_group_count",
    "precision",
    "preferred_element_type",
    "out_sharding",
)
def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> BCOO:
    """Convolve along one axis, where one operand is sparse, or both are.

    Args:
      lhs, rhs: a `BCOO` and an array, in either order, or two `BCOO`s, of shapes (1, 1, n).
      window_strides: must be (1,).
      padding: "SAME", "SAME_LOWER", "VALID", or a pair of integers for the axis.
      lhs_dilation, rhs_dilation: must be None or (1,).
      dimension_numbers: must be None.
      feature_group_count, batch_group_count: must be 1.
      precision, out_sharding: must be None.
      preferred_element_type: the dtype of the result.

    Returns:
      A `BCOO` of shape (1, 1, m) with two batch axes, and an element for each pair of elements.

    Raises:
      NotImplementedError: for other shapes and options; convolve dense arrays then.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([[[1.0, 0.0, 2.0]]]), n_batch=2)
    >>> y = jnp.array([[[1.0, 10.0]]])
    >>> sparse.bcoo_conv_general_dilated(x, y, window_strides=(1,), padding="VALID").todense()
    Array([[[ 1., 20.]]], dtype=float32)
    """
    asked = {
        "window_strides": tuple(window_strides) == (1,),
        "lhs_dilation": lhs_dilation is None or tuple(lhs_dilation) == (1,),
        "rhs_dilation": rhs_dilation is None or tuple(rhs_dilation) == (1,),
        "dimension_numbers": dimension_numbers is None,
        "feature_group_count": feature_group_count == 1,
        "batch_group_count": batch_group_count == 1,
        "precision": precision is None,
        "out_sharding": out_sharding is None,
        "the shapes": all(x.ndim == 3 and x.shape[:2] == (1, 1) for x in (lhs, rhs)),
    }
    wrong = [name for name, fits in asked.items() if not fits]
    if wrong:
        raise NotImplementedError(
            f"bcoo_conv_general_dilated: {' and '.join(wrong)} are not supported, got {lhs!r} and "
            f"{rhs!r}; both must have shape (1, 1, n), strides and dilations must be 1, and the "
            "other options those of their defaults; convolve dense arrays otherwise"
        )
    x, y = (_line(a) for a in (lhs, rhs))
    low, high = _padding(padding, x.shape[0], y.shape[0])
    length = max(0, x.shape[0] + low + high - y.shape[0] + 1)
    keep = (inside(x.indices, x.shape)[:, None] & inside(y.indices, y.shape)[None]).reshape(-1)
    dtype = preferred_element_type or jnp.result_type(x.data, y.data)
    data = (x.data[:, None] * y.data[None]).reshape(-1).astype(dtype)
    place = (x.indices[:, None, 0] - y.indices[None, :, 0]).reshape(-1) + low
    keep &= (place >= 0) & (place < length)
    data, place = jnp.where(keep, data, 0), jnp.where(keep, place, length)
    return BCOO((data[None, None], place[None, None, :, None]), shape=(1, 1, length))


def _line(x: Any) -> BCOO:
    """The operand of a convolution as a vector of positions."""
    if isinstance(x, BCOO):
        return x.update_layout(n_batch=0, n_dense=0).reshape(x.size)
    data = jnp.asarray(x).reshape(-1)
    return BCOO((data, jnp.arange(len(data), dtype=jnp.int32)[:, None]), shape=data.shape)


def _padding(padding: Any, n: int, window: int) -> tuple[int, int]:
    """Return the numbers of zeros before and after the axis."""
    if not isinstance(padding, str):
        ((low, high),) = padding
        return int(low), int(high)
    ((low, high),) = lax.padtype_to_pads((n,), (window,), (1,), padding)
    return int(low), int(high)
