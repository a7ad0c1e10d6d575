"""Reading `x[...]`: an index is parted into a static skeleton and the values it is filled with.

The skeleton is hashable and says how the parts of the index meet the axes of the array; integers
and index arrays are values. An eager `x[i]` is then one executable for every `i`.

Entries are tuples, which hash fast; their last field keeps those of different classes apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from effax.effects.config import trace_key
from effax.effects.errors import NonConcreteBooleanIndexError
from effax.effects.handler import Carrier
from effax.effects.rows.conversion import convert_element_type
from effax.effects.types import int32, is_integer, typeof
from effax.effects.value import (
    Value,
    greatest,
    is_symbolic,
    is_symbolic_length,
    length,
    smallest,
    surely,
)
from effax.operands.arguments import cast
from effax.operands.promoting import asarray, held, positions_array

_LARGEST = (1 << 31) - 1
"""The last position that an int32 counts."""


class New(NamedTuple):
    """`None`: a new axis of length 1."""

    kind: str = "new"


class Span(NamedTuple):
    """A slice of one axis, all of it known: `length` positions from `start` by `step`."""

    start: int
    length: int
    step: int
    whole: bool
    kind: str = "span"


class Fixed(NamedTuple):
    """An integer that is part of the program; it counts from the front, and may lie outside."""

    position: int
    inside: bool
    kind: str = "fixed"


class Moving(NamedTuple):
    """An integer that is a value, counted from the front already."""

    inside: bool
    kind: str = "moving"


class Indices(NamedTuple):
    """An integer array of that rank, which is a value."""

    ndim: int
    kind: str = "indices"


class Truth(NamedTuple):
    """A scalar Boolean: a new axis of length 1 or 0, among the index arrays."""

    value: bool
    kind: str = "truth"


class IndexSkeleton(NamedTuple):
    """The static part of an index: one entry a part, ellipses written out.

    `together` says whether integers and index arrays stand side by side, which decides where
    their axes go in the result.
    """

    entries: tuple[Any, ...]
    together: bool


_NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean "
    "arrays are valid indices. Got {}"
)


def read(
    index: Any, lengths: Sequence[int], eager: bool, wrap: bool = True, checked: bool = False
) -> tuple[IndexSkeleton, list[Any]]:
    """The skeleton of an index into an array of that shape, and the values it is filled with.

    Where `eager`, integers become values. Where `wrap`, negative ones count from the end.

    Raises `IndexError` for too many indices and for what is no index, and where `checked` for
    integers outside under the setting `check_static_indices`; `TypeError` for lists and
    numbers that are not integers, `NonConcreteBooleanIndexError` for traced masks.
    """
    if not isinstance(index, tuple):
        _refuse_sequence(index)
        index = (index,)
    _check_masks(index, lengths)
    parts = [x for item in index for x in _expanded(item)]
    consumed = [_axes_of(x) for x in parts]
    dots = [i for i, x in enumerate(parts) if x is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    total = sum(consumed)
    if total > len(lengths):
        raise IndexError(
            f"Too many indices: array is {len(lengths)}-dimensional, but {total} were indexed"
        )
    together = _side_by_side(parts)
    missing = [slice(None)] * (len(lengths) - total)
    at = dots[0] if dots else len(parts)
    parts[at : at + len(dots)] = missing
    entries: list[Any] = []
    values: list[Any] = []
    axis = 0
    for part in parts:
        if part is None:
            entries.append(New())
        elif isinstance(part, bool):
            entries.append(Truth(part))
        else:
            entries.append(_entry(part, axis, lengths[axis], eager, wrap, checked, values))
            axis += 1
    return IndexSkeleton(tuple(entries), together), values


def _check_masks(index: tuple[Any, ...], lengths: Sequence[int]) -> None:
    """Raise `IndexError` where a mask does not have the lengths of the axes it lies along."""
    axes = [_rank(x) for x in index]
    axis = 0
    for position, (item, n) in enumerate(zip(index, axes, strict=True)):
        if item is Ellipsis:
            axis = max(len(lengths) - sum(axes[position:]), axis)
        elif n and is_mask(item):
            expected = tuple(lengths[axis : axis + n])
            found = np.shape(item) if isinstance(item, list) else typeof(item).shape
            fits = all(m in (0, k) for m, k in zip(found, expected, strict=False))
            if len(expected) == n and not fits:
                raise IndexError(
                    "boolean index did not match shape of indexed array in index "
                    f"{position}: got {found}, expected {list(expected)}"
                )
        axis += n


def _rank(item: Any) -> int:
    """Return the number of axes that a part of an index takes up."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if is_mask(item):
        return len(np.shape(item)) if isinstance(item, list) else len(typeof(item).shape)
    return 1


def is_mask(item: Any) -> bool:
    """Whether a part of an index is an array of Booleans (or a list of them)."""
    if isinstance(item, (Value, np.ndarray)):
        return bool(typeof(item).dtype.kind == "b")
    return (
        isinstance(item, list) and bool(item) and all(isinstance(x, (bool, np.bool_)) for x in item)
    )


def _entry(
    part: Any, axis: int, n: int, eager: bool, wrap: bool, checked: bool, values: list[Any]
) -> Any:
    """The entry of a part that takes up one axis; its value is appended to `values`."""
    if isinstance(part, slice):
        return span(part, n)
    if isinstance(part, int) or is_symbolic_length(part):
        if n == 0:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        position = part + n if wrap and part < 0 else part
        if is_symbolic((position, n)):
            return _symbolic_entry(position, n, values)
        inside = 0 <= position < n
        if checked and not inside and trace_key().check_static_indices:
            raise IndexError(f"index {part} out of bounds for axis {axis} with size {n}")
        largest = max(n, _LARGEST)
        position = min(max(position, -largest - 1), largest)
        if not eager or not -_LARGEST - 1 <= position <= _LARGEST:
            return Fixed(position, inside)
        values.append(np.int32(position))
        return Moving(inside)
    if isinstance(part, np.ndarray):
        part = held(part, n)
    values.append(part)
    return Indices(len(typeof(part).shape))


def _symbolic_entry(position: Any, n: Any, values: list[Any]) -> Any:
    """The entry of a position where it or the length of its axis is symbolic.

    Where it may lie outside for some lengths it is an index like those that are computed.
    """
    if surely(lambda: 0 <= position < n):
        return Fixed(position, True)
    values.append(cast(position, int32))
    return Indices(0)


def span(part: slice, n: int) -> Span:
    """A slice of an axis of length n.

    Raises `IndexError` where its bounds are traced.
    """
    try:
        bounds = [None if b is None else length(b) for b in (part.start, part.stop, part.step)]
    except TypeError:
        traced = [b for b in (part.start, part.stop, part.step) if isinstance(b, Carrier)]
        if traced:
            raise IndexError(
                f"Slice entries must be static integers. Got {part}: the shape of the result "
                "would depend on traced values. For a slice of known length at a traced place "
                f"write lax.dynamic_slice. {traced[0].why_unknown()}"
            ) from None
        raise TypeError(f"Slice entries must be integers or None. Got {part}") from None
    if is_symbolic((n, *bounds)):
        return _symbolic_span(bounds, n)
    start, stop, step = slice(*bounds).indices(n)
    size = len(range(start, stop, step))
    return Span(start if size else 0, size, step, (start, size, step) == (0, n, 1))


def _symbolic_span(bounds: Sequence[Any], n: Any) -> Span:
    """A slice of an axis where its length or a bound is symbolic, as `slice.indices` has it."""
    start, stop, step = bounds
    step = 1 if step is None else step
    ahead = step > 0
    lowest, highest = (0, n) if ahead else (-1, n - 1)

    def place(bound: Any, default: Any) -> Any:
        if bound is None:
            return default
        return smallest(greatest(bound + n if bound < 0 else bound, lowest), highest)

    first = place(start, lowest if ahead else highest)
    last = place(stop, highest if ahead else lowest)
    size = -((first - last) // step)
    if not (first == lowest and last == highest):  # else at least 0
        size = greatest(size, 0)
    return Span(first, size, step, (first, size, step) == (0, n, 1))


def _refuse_sequence(index: Any) -> None:
    """Raise `TypeError` for a list that is not in a tuple, as JAX does."""
    if not isinstance(index, Sequence) or isinstance(index, str):
        return
    nested = any(
        x is None
        or x is Ellipsis
        or isinstance(x, (Sequence, slice))
        or (isinstance(x, (Value, np.ndarray)) and x.ndim)
        for x in index
    )
    write = "arr[tuple(seq)]" if nested else "arr[array(seq)]"
    raise TypeError(
        "Using a non-tuple sequence for multidimensional indexing is not allowed; "
        f"use `{write}` instead of `arr[seq]`."
    )


def _expanded(item: Any) -> list[Any]:
    """A part in canonical form: None, Ellipsis, slice, int, bool or an array of integers.

    A mask becomes as many index arrays as it has axes.
    """
    if item is None or item is Ellipsis or type(item) is int or isinstance(item, slice):
        return [item]
    if is_symbolic_length(item):
        return [item]
    if isinstance(item, (bool, np.bool_)):
        return [bool(item)]
    if isinstance(item, (int, np.integer)):
        return [int(item)]
    if isinstance(item, str):
        raise TypeError(f"effax does not support string indexing; got idx={item!r}")
    if isinstance(item, Sequence):
        item = _as_array(item)
    if isinstance(item, (float, complex, np.generic)):
        _refuse_dtype(np.dtype(type(item)))
    if not isinstance(item, (Value, np.ndarray)):
        if hasattr(item, "__jax_array__"):
            return _expanded(item.__jax_array__())
        raise IndexError(_NOT_AN_INDEX.format(item))
    dtype = typeof(item).dtype
    if dtype.kind == "b":
        return _positions(item)
    if not is_integer(dtype):
        _refuse_dtype(dtype)
    if dtype.kind not in "iu":  # XLA has no indices of four or two bits
        item = convert_element_type(item, dtype=int32)
    return [item]


def _refuse_dtype(dtype: Any) -> None:
    raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {dtype}")


def _as_array(item: Sequence[Any]) -> Any:
    """A list inside an index tuple, as an array."""
    if not item:
        return np.zeros(np.shape(item), np.int32)
    return asarray(item, "indexing")


def _positions(mask: Any) -> list[Any]:
    """A mask as index arrays; a scalar one stays a Boolean."""
    if isinstance(mask, Carrier):
        raise NonConcreteBooleanIndexError(mask)
    known = np.asarray(mask)
    if known.ndim == 0:
        return [bool(known)]
    return [
        i.astype(np.int32) if n <= _LARGEST else positions_array(i, n)
        for i, n in zip(known.nonzero(), known.shape, strict=True)
    ]


def _axes_of(part: Any) -> int:
    return 0 if part is None or part is Ellipsis or isinstance(part, bool) else 1


def _side_by_side(parts: Sequence[Any]) -> bool:
    """Whether integers and arrays stand next to each other, nothing between them."""
    places = [
        i
        for i, x in enumerate(parts)
        if x is not None and x is not Ellipsis and not isinstance(x, slice)
    ]
    return not places or places[-1] - places[0] == len(places) - 1
