"""Convolutions of sparse arrays along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.effects.errors import MissingRuleError
from effax.effects.value import Array
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
    reach = (lhs.shape[signal] - 1) * spread + 1 if lhs.shape[signal] else 0
    width = (rhs.shape[kernel] - 1) * dilation + 1
    length = max(0, (reach + low + high - width) // step + 1)
    x, y = _elements(lhs, signal), _elements(rhs, kernel)
    data, place = _meetings(
        x, y, length=length, low=low, step=step, spread=spread, dilation=dilation
    )
    indices = [place if a == along else jnp.zeros_like(place) for a in range(3)]
    shape = tuple(length if a == along else 1 for a in range(3))
    return BCOO((data, jnp.stack(indices, -1)), shape=shape)


def _elements(x: Any, along: int) -> tuple[Array, Array, Array]:
    """The elements of an operand, their positions along an axis, and which of them count."""
    if not isinstance(x, BCOO):
        place = jnp.arange(x.shape[along], dtype=jnp.int32)
        return x.reshape(-1), place, jnp.ones(place.shape, bool)
    counts, place = inside(x.indices, sparse_shape(x)), x.indices[..., along - x.n_batch]
    # All other axes have length 1.
    return only_inside(x).reshape(-1), place.reshape(-1), counts.reshape(-1)


def _meetings(
    signal: tuple[Array, Array, Array],
    kernel: tuple[Array, Array, Array],
    *,
    length: int,
    low: int,
    step: int = 1,
    spread: int = 1,
    dilation: int = 1,
) -> tuple[Array, Array]:
    """The products of all pairs of elements, and where in the result each is added.

    Pairs that meet nowhere are 0, and their place is after the end.
    """
    (x, i, of_x), (y, j, of_y) = signal, kernel
    place = (i * spread + low)[:, None] - (j * dilation)[None]
    keep = (place >= 0) & (place % step == 0) & (place // step < length)
    keep &= of_x[:, None] & of_y[None]
    data = jnp.where(keep, x[:, None] * y[None], 0).reshape(-1)
    return data, jnp.where(keep, place // step, length).reshape(-1)


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
    low, high = _padding(padding, lhs.shape[2], rhs.shape[2])
    length = max(0, lhs.shape[2] + low + high - rhs.shape[2] + 1)
    x, y = (_elements(_line(a), 0) for a in (lhs, rhs))
    data, place = _meetings(x, y, length=length, low=low)
    data = data.astype(preferred_element_type or data.dtype)
    return BCOO((data[None, None], place[None, None, :, None]), shape=(1, 1, length))


def _line(x: Any) -> Any:
    """The operand of a convolution as a vector."""
    if isinstance(x, BCOO):
        return x.update_layout(n_batch=0, n_dense=0).reshape(x.size)
    return jnp.asarray(x).reshape(-1)


def _padding(padding: Any, n: int, window: int) -> tuple[int, int]:
    """Return the numbers of zeros before and after the axis."""
    if not isinstance(padding, str):
        ((low, high),) = padding
        return int(low), int(high)
    ((low, high),) = lax.padtype_to_pads((n,), (window,), (1,), padding)
    return int(low), int(high)
