"""Batching of the convolution family: the batch goes into the batch or the feature axis."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import convolution, shape
from effax.effects.rows.convolution import ConvDimensionNumbers
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch, all_batched, rule


def _fold(x: Any, axis: int, groups: int = 1) -> Any:
    """Axis 0 joined to axis `axis` (counted without it), inside each of its groups."""
    lengths = typeof(x).shape
    size, rest = lengths[0], lengths[1:]
    grouped = (size, *rest[:axis], groups, rest[axis] // groups, *rest[axis + 1 :])
    if groups > 1:
        x = shape.reshape(x, shape=grouped)
    at = axis + (groups > 1)
    order = [i for i in range(1, typeof(x).ndim)]
    order.insert(at, 0)
    if order != list(range(len(order))):
        x = shape.transpose(x, permutation=tuple(order))
    return shape.reshape(x, shape=(*rest[:axis], size * rest[axis], *rest[axis + 1 :]))


def _unfold(x: Any, axis: int, size: int, groups: int = 1) -> Any:
    """The inverse of `_fold`."""
    rest = typeof(x).shape
    inner = rest[axis] // (size * groups)
    grouped = (*rest[:axis], groups, size, inner, *rest[axis + 1 :])
    x = shape.reshape(x, shape=grouped)
    at = axis + 1
    order = (at, *(i for i in range(len(grouped)) if i != at))
    x = shape.transpose(x, permutation=order)
    return shape.reshape(x, shape=(size, *rest[:axis], groups * inner, *rest[axis + 1 :]))


@rule(convolution.conv_general_dilated)
def conv_general_dilated_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    dimension_numbers: ConvDimensionNumbers,
    feature_group_count: int,
    batch_group_count: int,
    **attributes: Any,
) -> Any:
    """Both: a group for each member. Inputs only: more batch. Kernels only: more features."""
    (lhs, rhs), size = values, handler.size
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = feature_group_count * batch_group_count
    if size == 0:
        lhs, rhs = all_batched(handler, values, batched)
        kind = convolution.conv_general_dilated.infer(
            tuple(t.update(shape=t.shape[1:]) for t in (typeof(lhs), typeof(rhs))),
            {
                "dimension_numbers": dimension_numbers,
                "feature_group_count": feature_group_count,
                "batch_group_count": batch_group_count,
                **attributes,
            },
        )
        return shape.full((0, *kind.shape), 0, kind.dtype), True
    if all(batched):
        # Members of the batch are the outermost groups.
        if batch_group_count > 1:
            lhs = _fold(lhs, lhs_spec[0])
            batch_group_count *= size
        else:
            lhs = _fold(lhs, lhs_spec[1])
            feature_group_count *= size
        rhs = _fold(rhs, rhs_spec[0])
        place, inside = out_spec[1], 1
    elif batched[0]:
        lhs = _fold(lhs, lhs_spec[0], batch_group_count)
        place, inside = out_spec[0], 1
    else:
        rhs = _fold(rhs, rhs_spec[0], groups)
        place, inside = out_spec[1], groups
    out = convolution.conv_general_dilated(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        **attributes,
    )
    return _unfold(out, place, size, inside), True
