"""Convolutions of sparse arrays along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax.effects.errors import MissingRuleError
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import inside, only_inside, sparse_shape


@compiled(
    "window_strides",
    "padding",
    "lhs_dilation",
    "rhs_dilation",
    "axes",
)
def convolve(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    axes: Sequence[int],
) -> BCOO:
    """Return `lax.conv_general_dilated` of two arrays along one axis, one of them sparse.

    The result has an element for each pair of elements of the operands.

    Args:
      lhs: a signal of one batch, one feature and one spatial axis: sparse or dense.
      rhs: a kernel of one output feature, one input feature and one spatial axis.
      window_strides, padding, lhs_dilation, rhs_dilation: as for `lax.conv_general_dilated`.
      axes: the spatial axis of the signal, of the kernel, and of the result.

    Raises:
      MissingRuleError: for several batches, features or spatial axes, and for a spatial axis of
        a sparse operand that is not sparse.
    """
    signal, kernel, along = axes
    for x, axis in ((lhs, signal), (rhs, kernel)):
        single = x.ndim == 3 and all(n == 1 for i, n in enumerate(x.shape) if i != axis)
        if not single or (isinstance(x, BCOO) and not 0 <= axis - x.n_batch < x.n_sparse):
            shown = repr(x) if isinstance(x, BCOO) else f"a dense array of shape {x.shape}"
            raise MissingRuleError(
                "sparsify: conv_general_dilated takes one batch, one feature and one spatial axis, "
                f"which is sparse, got {shown}; make it dense by sparse.todense"
            )
    (step,), ((low, high),) = window_strides, padding
    (spread,), (dilation,) = lhs_dilation, rhs_dilation
    (x, i), (y, j) = _elements(lhs, signal), _elements(rhs, kernel)
    reach = (lhs.shape[signal] - 1) * spread + 1 if lhs.shape[signal] else 0
    width = (rhs.shape[kernel] - 1) * dilation + 1
    length = max(0, (reach + low + high - width) // step + 1)
    place = (i * spread + low)[:, None] - (j * dilation)[None]
    keep = (place >= 0) & (place % step == 0) & (place // step < length)
    data = jnp.where(keep, x[:, None] * y[None], 0).reshape(-1)
    place = jnp.where(keep, place // step, length).reshape(-1)
    indices = [place if a == along else jnp.zeros_like(place) for a in range(3)]
    shape = tuple(length if a == along else 1 for a in range(3))
    return BCOO((data, jnp.stack(indices, -1)), shape=shape)


def _elements(x: Any, along: int) -> tuple[Any, Any]:
    """Return the elements of an operand, zero where they do not count, and their positions."""
    if not isinstance(x, BCOO):
        return x.reshape(-1), jnp.arange(x.shape[along], dtype=jnp.int32)
    keep = inside(x.indices, sparse_shape(x))
    place = jnp.where(keep, x.indices[..., along - x.n_batch], 0)
    return only_inside(x).reshape(-1), place.reshape(-1)  # all other axes have length 1
