"""Transposition of the shape family: what was moved is moved back, what was copied is summed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import elementwise, reduction, shape
from effax.effects.types import typeof
from effax.effects.value import greatest
from effax.interpreters.transpose.linear import Linear, is_linear, rule, unary, value_type


@unary(shape.broadcast_in_dim)
def broadcast_in_dim_transpose(
    ct: Any, x: Linear, *, shape: tuple[int, ...], dims: tuple[int, ...]
) -> Any:
    """Sum over the copies."""
    kept = {d for n, d in zip(x.shape, dims, strict=True) if n == shape[d]}
    axes = tuple(i for i in range(len(shape)) if i not in kept)
    if axes:
        ct = reduction.reduce_sum(ct, axes=axes)
    return ct if typeof(ct).shape == x.shape else reshape(ct, shape=x.shape)


@unary(shape.transpose)
def transpose_transpose(ct: Any, x: Linear, *, permutation: tuple[int, ...]) -> Any:
    inverse = tuple(permutation.index(i) for i in range(len(permutation)))
    return shape.transpose(ct, permutation=inverse)


@unary(shape.reshape)
def reshape_transpose(ct: Any, x: Linear, *, shape: tuple[int, ...]) -> Any:
    return reshape(ct, shape=x.shape)


@rule(shape.concatenate)
def concatenate_transpose(ct: Any, *xs: Any, axis: int) -> Sequence[Any]:
    """Each operand's share is a slice."""
    start, shares = 0, []
    for x in xs:
        end = start + value_type(x).shape[axis]
        shares.append(shape.slice_axis(ct, axis, start, end) if is_linear(x) else None)
        start = end
    return shares


@rule(shape.pad)
def pad_transpose(ct: Any, x: Any, value: Any, *, config: shape.Config) -> Sequence[Any]:
    """The elements are taken out again; the value's share is the sum of all the rest."""
    type = value_type(x)
    zero = shape.scalar(0, type.dtype)
    share = shape.pad(ct, zero, config=tuple((-low, -high, 0) for low, high, _ in config))
    if any(interior for _, _, interior in config):
        inner = typeof(share).shape
        share = shape.slice(
            share,
            start=(0,) * len(inner),
            limit=inner,
            strides=tuple(interior + 1 for _, _, interior in config),
        )
    rest = None
    if is_linear(value):
        every = tuple(range(type.ndim))
        rest = elementwise.sub(
            reduction.reduce_sum(ct, axes=every), reduction.reduce_sum(share, axes=every)
        )
    return share if is_linear(x) else None, rest


@unary(shape.rev)
def rev_transpose(ct: Any, x: Linear, *, dims: tuple[int, ...]) -> Any:
    return shape.rev(ct, dims=dims)


@unary(shape.slice)
def slice_transpose(
    ct: Any,
    x: Linear,
    *,
    start: tuple[int, ...],
    limit: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> Any:
    """Zeros take the place of what the slice left out."""
    config = []
    given = typeof(ct).shape
    for i, n in enumerate(x.shape):
        step = strides[i] if strides else 1
        reach = start[i] + given[i] + (greatest(given[i], 1) - 1) * (step - 1)
        config.append((start[i], n - reach, step - 1))
    return shape.pad(ct, shape.scalar(0, x.dtype), config=tuple(config))


# Rules with a parameter called `shape` can't see the module of that name; they use this.
reshape = shape.reshape
