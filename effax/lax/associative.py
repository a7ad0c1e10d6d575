"""All prefixes of a sequence at once, folded by an associative function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects.dtypes import is_inexact
from effax.effects.effect import Effect
from effax.effects.rows import (
    comparison,
    control,
    cumulative,
    elementwise,
    logical,
    selection,
    shape,
)
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.stage import stage
from effax.lax.choosing import platform
from effax.lax.shapes import axis_of

_UNROUNDED: frozenset[Effect] = frozenset(
    {
        comparison.eq,
        comparison.ge,
        comparison.gt,
        comparison.le,
        comparison.lt,
        comparison.ne,
        elementwise.max,
        elementwise.min,
        elementwise.neg,
        logical.and_,
        logical.not_,
        logical.or_,
        logical.xor,
        selection.select_n,
        shape.broadcast_in_dim,
        shape.reshape,
    }
)
"""Effects that round nothing, so that folding in another order gives the same."""
_WIDE = 64
"""Elements beside the axis from which a CPU is faster in turn than by levels."""


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Fold every prefix of some arrays along an axis, by an associative function.

    Args:
      fn: takes and gives pytrees like `elems`; it is applied to whole slices at once, of which
        the axis has about half, a quarter, ... of its length, or of length 1: on a CPU, where `fn`
        rounds nothing, the elements are folded one after the other.
      elems: a pytree of arrays with equal lengths along the axis.
      reverse: fold from the end.
      axis: the axis of the sequence.

    Raises:
      TypeError: where `fn` is not callable.
      ValueError: where the lengths differ, or `fn` gives another tree.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.associative_scan(lax.add, jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = tree_flatten(elems)
    if not leaves:
        return elems
    at = axis_of(axis, typeof(leaves[0]).ndim)
    lengths = [typeof(x).shape[at] for x in leaves]
    if len(set(lengths)) > 1:
        shapes = [typeof(x).shape for x in leaves]
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {shapes})"
        )

    def combine(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
        result = fn(tree_unflatten(tree, before), tree_unflatten(tree, after))
        flat, found = tree_flatten(result)
        # Only the leaves are compared, as in JAX: a namedtuple may come back as a tuple.
        if len(flat) != len(before):
            raise ValueError(
                f"associative_scan: fn must return as many arrays as one of its arguments has, "
                f"{tree}, but returned {found}"
            )
        return flat

    in_turn = _is_better_in_turn(combine, leaves, at)
    scan = _one_by_one if in_turn else cumulative.associative_scan
    return tree_unflatten(tree, scan(combine, leaves, at, bool(reverse)))


Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def _is_better_in_turn(combine: Combine, leaves: Sequence[Any], axis: int) -> bool:
    types = [typeof(x) for x in leaves]
    n = types[0].shape[axis]
    if n < 16 or any(t.size < n * _WIDE for t in types) or platform() != "cpu":
        return False
    from effax.backends.xla.fast.path import taken

    if not taken("associative_scan"):
        return False
    slices = [t.update(shape=(*t.shape[:axis], 1, *t.shape[axis + 1 :])) for t in types]
    k = len(slices)
    program = stage(lambda *xs: combine(xs[:k], xs[k:]), slices * 2, "combine").program
    return all(
        e.effect in _UNROUNDED or not any(is_inexact(x.type.dtype) for x in e.outputs)
        for e in program.equations
    )


def _one_by_one(combine: Combine, xs: Sequence[Any], axis: int, reverse: bool) -> Sequence[Any]:
    """All prefixes by a loop over the axis."""
    k, n = len(xs), typeof(xs[0]).shape[axis]

    def leading(x: Any, source: int, target: int) -> Any:
        order = [i for i in range(typeof(x).ndim) if i != source]
        order.insert(target, source)
        return shape.transpose(x, permutation=tuple(order))

    def step(*values: Any) -> list[Any]:
        before, after = (
            [shape.expand_dims(x, (axis,)) for x in v] for v in (values[:k], values[k:])
        )
        made = [shape.squeeze(x, (axis,)) for x in combine(before, after)]
        return [*made, *made]

    rows = [leading(x, axis, 0) for x in xs]
    at = n - 1 if reverse else 0
    first = [shape.slice_axis(x, 0, at, at + 1) for x in rows]
    rest = [shape.slice_axis(x, 0, 0 if reverse else 1, n - 1 if reverse else n) for x in rows]
    starts = [shape.squeeze(x, (0,)) for x in first]
    body = stage(step, [typeof(x) for x in starts] * 2, "step").program
    made = control.scan(
        *starts, *rest, body=body, consts=0, carry=k, length=n - 1, reverse=reverse, unroll=1
    )[k:]
    pairs = zip(made, first, strict=True) if reverse else zip(first, made, strict=True)
    return [leading(shape.concatenate(*pair, axis=0), 0, axis) for pair in pairs]
