"""`ds`: slices whose start may be a value, in indices of arrays and of references."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import attrs

from effax.effects.rows import selection
from effax.effects.rows.shape import iota
from effax.effects.tree import registry
from effax.effects.types import int32, is_integer, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.slicing import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from effax.numpy.index_parts import is_mask
from effax.operands.promoting import asarray


@attrs.frozen(slots=True, hash=False)
class Slice:
    """`size` positions from `start`, `stride` apart; the start may be an array of rank 0."""

    start: Any
    size: int
    stride: int = 1

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is a value."""
        return not isinstance(self.start, int)

    @property
    def is_dynamic_size(self) -> bool:
        """Whether the size is a value: never here."""
        return False


# A static start stays in the tree's structure, as it does in the program.
registry.register_node(
    Slice,
    lambda s: ((s.start,), (s.size, s.stride)) if s.is_dynamic_start else ((), s),
    lambda meta, children: Slice(children[0], *meta) if children else meta,
)


def ds(
    start: ArrayLike | None, size: SupportsIndex | None = None, stride: SupportsIndex | None = None
) -> slice | Slice:
    """Return a slice for indices, from a start and a size; the start may be a value.

    `ds(i, j)` is `i:i+j`, `ds(j)` is `:j`, `ds(None)` is `:`, and `ds(i, j, s)` is j positions
    from i, s apart. What is read beyond the ends of an axis is the nearest window that fits; with
    a stride, the nearest element for each position. What `.at[...]` would write there is dropped.

    Args:
      start: the first position, an integer or a scalar array; alone, the size.
      size: the number of positions, an int.
      stride: the distance of neighbouring positions, an int; by default 1.

    Raises:
      TypeError: for a start or size that is no integer.
      ValueError: for a negative stride or size.

    >>> import effax, effax.numpy as jnp
    >>> x = jnp.arange(10)
    >>> effax.jit(lambda x, i: x[effax.ds(i, 3)])(x, 4)
    Array([4, 5, 6], dtype=int32)
    >>> x[effax.ds(1, 3, 2)], x.at[effax.ds(jnp.int32(8), 2)].set(0)[-3:]
    (Array([1, 3, 5], dtype=int32), Array([7, 0, 0], dtype=int32))
    """
    if start is None:
        return slice(None)
    if size is None:
        start, size = 0, operator.index(start)
    stride = 1 if stride is None else operator.index(stride)
    size = operator.index(size)
    if stride < 0 or size < 0:
        raise ValueError(f"ds({start}, {size}, {stride}): size and stride must not be negative")
    kind = typeof(start)
    if kind.shape or not is_integer(kind.dtype):
        raise TypeError(f"the start of a slice must be an integer, got {start!r}")
    return Slice(start, size, stride)


def has_slices(index: Any) -> bool:
    """Whether a `Slice` is among the parts of an index."""
    return type(index) is Slice or (type(index) is tuple and Slice in map(type, index))


def cut(x: Array, index: Any) -> tuple[list[tuple[int, Slice]], Any]:
    """The slices of an index with the axes they are of, and the index of what they leave.

    Raises `TypeError` for a slice that is longer than its axis.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    lengths = typeof(x).shape
    used = sum(map(_consumed, parts))
    axis, found = 0, []
    for i, part in enumerate(parts):
        if part is Ellipsis:
            axis += len(lengths) - used
            continue
        if type(part) is Slice:
            if axis >= len(lengths):
                raise IndexError(f"too many indices for array: it is {len(lengths)}-dimensional")
            _check_length(part, lengths[axis])
            found.append((axis, part))
            parts[i] = slice(None)
        axis += _consumed(part)
    return found, tuple(parts)


def _consumed(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return typeof(part).ndim if is_mask(part) else 1


def _check_length(part: Slice, length: int) -> None:
    if part.stride == 1 and part.size > length:
        raise TypeError(
            f"slice slice_sizes must be less than or equal to operand shape: {part} is longer than "
            f"its axis, of length {length}"
        )


def read_windows(x: Array, found: Sequence[tuple[int, Slice]]) -> Array:
    """The part of an array that slices of its axes name."""
    for axis, part in found:
        x = _read(x, axis, part)
    return x


def write_windows(x: Array, found: Sequence[tuple[int, Slice]], new: Array, clipped: bool) -> Array:
    """The array with that part replaced; what lies outside is dropped, unless it is clipped."""
    if not found:
        return new
    (axis, part), *rest = found
    inner = write_windows(_read(x, axis, part), rest, new, clipped)
    if part.stride != 1:
        index = (slice(None),) * axis + (_positions(part),)
        return x.at[index].set(inner, mode="clip" if clipped else None)
    written = dynamic_update_slice_in_dim(x, inner, part.start, axis)
    if clipped:
        return written
    length = typeof(x).shape[axis]
    start = asarray(part.start)
    inside = ((start >= 0) & (start <= length - part.size)) | (
        (start < 0) & (start >= -length) & (start <= -part.size)
    )
    return selection.select_n(inside, x, written)


def _read(x: Array, axis: int, part: Slice) -> Array:
    if part.stride != 1:
        return x[(slice(None),) * axis + (_positions(part),)]
    return dynamic_slice_in_dim(x, part.start, part.size, axis)


def _positions(part: Slice) -> Array:
    return part.start + part.stride * iota(dtype=int32, shape=(part.size,), dimension=0)
