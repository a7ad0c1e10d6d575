"""`x[...]` and `x.at[...]`: NumPy's indexing, read and written, by slices, gathers and scatters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypedDict, Unpack

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.eager.whole import compiled, whole
from effax.effects.frames import filtered
from effax.effects.handler import bottom, current
from effax.effects.promotion import lattice_result
from effax.effects.rows import elementwise, indexing, selection, shape
from effax.effects.rows.indexing import GatherScatterMode, scatter_dims
from effax.effects.types import iinfo, typeof
from effax.effects.value import Array, ArrayLike, Index, OutSharding, Value
from effax.lax.gathering import fill_number, gather_mode
from effax.numpy.index_parts import Fixed, IndexSkeleton, New, Span, is_mask, read
from effax.numpy.plans import (
    IndexBox,
    box_of,
    is_box,
    planned,
    read_slices,
    same_dtype,
    without_slices,
)
from effax.numpy.slices import cut, has_slices, read_windows, write_windows
from effax.operands.arguments import broadcast, cast, zeros_as
from effax.operands.promoting import asarray, promote_dtypes

Mode = str | GatherScatterMode | None


def getitem(x: Any, index: Any) -> Array:
    """Return `x[index]`, by NumPy's rules.

    Positions outside give the nearest element, as in JAX.

    Args:
      x: an array.
      index: an index, or a tuple of one for each axis.

    Raises:
      IndexError, TypeError: for what is no index.
      NonConcreteBooleanIndexError: for a traced mask.
    """
    if has_slices(index):
        found, index = cut(x, index)
        x = read_windows(x, found)
    skeleton, values = read(index, typeof(x).shape, current.get() is bottom, checked=True)
    return _gather_with(x, values, skeleton)


def to_be_gathered(x: Any, index: Any) -> tuple[Any, list[Any]]:
    """The executable that reads an array at an index, and the buffers of its operands."""
    skeleton, values = read(index, x.shape, True, checked=True)
    return compiled(_gather_with, x, values, skeleton)


class ApplyOptions(TypedDict, total=False):
    """The keywords of a function applied at an index."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: Mode
    wrap_negative_indices: bool


class Options(ApplyOptions, total=False):
    """The keywords of an update at an index."""

    out_sharding: OutSharding


class ArrayAt:
    """The result of `x.at`: `x.at[index]` names a part of the array, to be read or updated."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: Index) -> IndexUpdateHelper:
        return IndexUpdateHelper(self.array, index)

    def __repr__(self) -> str:
        return f"At({self.array!r})"


class IndexUpdateHelper:
    """A part of an array; each method gives a new array in which that part was updated.

    Args:
      array: the array.
      index: the index of the part.

    The methods share some keywords.

    Keyword Args:
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; results
        are undefined where they are broken.
      mode: the meaning of an index outside: for updates "drop" (the default) ignores it, for `get`
        "fill" gives `fill_value`; "clip" takes the nearest element, as `get` does by default;
        "promise_in_bounds" promises that there is none.
      wrap_negative_indices: whether negative indices count from the end.
      out_sharding: the sharding of the result, on a mesh with explicit axes.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: Index) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexUpdateHelper({self.array!r}, {self.index!r})"

    @filtered
    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: ArrayLike | None = None,
        wrap_negative_indices: bool = True,
        out_sharding: OutSharding = None,
    ) -> Array:
        """Return the part itself.

        Args:
          indices_are_sorted, unique_indices: promises that let the compiler write faster code;
            results are undefined where they are broken.
          mode: the meaning of an index outside: "fill" for `fill_value`, "clip" (the nearest
            element, as by default) or "promise_in_bounds".
          fill_value: the scalar to return where an index lies outside, with mode="fill"; by default
            NaN for floats, the lowest signed integer, the highest unsigned one, True for Booleans.
          wrap_negative_indices: whether negative indices count from the end.
          out_sharding: the sharding of the result, on a mesh with explicit axes.
        """
        if out_sharding is not None:
            return _read_part(
                self.array,
                self.index,
                out_sharding=out_sharding,
                indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices,
                mode=mode,
                fill_value=fill_value,
                wrap_negative_indices=wrap_negative_indices,
            )
        if fill_value is not None:
            if np.ndim(fill_value) != 0:
                raise ValueError("fill_value argument to indexed get() must be a scalar")
            fill_value = fill_number(fill_value)
        array, index = self.array, self.index
        if has_slices(index):
            found, index = cut(array, index)
            array = read_windows(array, found)
        eager = current.get() is bottom
        lengths = typeof(array).shape
        meant = None if mode is None else GatherScatterMode.from_any(mode)
        checked = meant in (None, GatherScatterMode.PROMISE_IN_BOUNDS)
        skeleton, values = read(index, lengths, eager, wrap_negative_indices, checked)
        return _gather_with(
            array,
            values,
            skeleton,
            meant,
            fill_value,
            bool(indices_are_sorted),
            bool(unique_indices),
            bool(wrap_negative_indices),
        )

    @filtered
    def set(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """The part replaced: `x[index] = values`."""
        return update(self.array, self.index, values, "set", **options)

    @filtered
    def add(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """`x[index] += values`; where an index repeats, repeatedly."""
        return update(self.array, self.index, values, "add", **options)

    @filtered
    def subtract(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """`x[index] -= values`; where an index repeats, repeatedly."""
        return update(self.array, self.index, values, "subtract", **options)

    sub = subtract

    @filtered
    def multiply(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """`x[index] *= values`; where an index repeats, repeatedly."""
        return update(self.array, self.index, values, "multiply", **options)

    mul = multiply

    @filtered
    def divide(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """`x[index] /= values`; where an index repeats, repeatedly."""
        from effax.numpy import true_divide

        factor = update(_ones_like(self.array), self.index, values, "multiply", **options)
        return true_divide(self.array, factor)

    @filtered
    def power(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """`x[index] **= values`; where an index repeats, repeatedly."""
        from effax.numpy import power

        exponent = update(_ones_like(self.array), self.index, values, "multiply", **options)
        return power(self.array, exponent)

    @filtered
    def min(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """`x[index] = minimum(x[index], values)`."""
        return update(self.array, self.index, values, "min", **options)

    @filtered
    def max(self, values: ArrayLike | Sequence[Any], **options: Unpack[Options]) -> Array:
        """`x[index] = maximum(x[index], values)`."""
        return update(self.array, self.index, values, "max", **options)

    @filtered
    def apply(self, func: Callable[[Array], ArrayLike], **options: Unpack[ApplyOptions]) -> Array:
        """Apply a function to each element of the part.

        Where an index repeats the function is applied repeatedly.

        Args:
          func: a function of one number.
          **options: as in `IndexUpdateHelper`, without `out_sharding`.
        """
        return _apply(self.array, self.index, func, **options)


def _refused(name: str) -> Callable[..., NoReturn]:
    """Make a special method that says how to update instead."""

    @filtered
    def operator(self: Any, *operands: Any) -> NoReturn:
        from effax.numpy.at_operators import refusal

        raise refusal(name)

    return operator


# The operators are set, not declared, so that type checkers refuse them too. Python has one slot
# for assignment and deletion, so that one needs the other.
for _name in ("setitem", "delitem"):
    setattr(ArrayAt, f"__{_name}__", _refused(_name))
for _name in ("add", "sub", "mul", "truediv", "pow"):
    for _prefix in ("", "i", "r"):
        setattr(IndexUpdateHelper, f"__{_prefix}{_name}__", _refused(f"{_prefix}{_name}"))


@whole()
def _ones_like(x: Array) -> Array:
    type = typeof(x)
    return cast(shape.full(type.shape, 1, type.dtype), type.dtype, type.weak_type)


@whole("skeleton", "mode", "fill_value", "indices_are_sorted", "unique_indices", "wrap")
def _gather_with(
    x: Array,
    values: Sequence[Any],
    skeleton: IndexSkeleton,
    mode: GatherScatterMode | None = None,
    fill_value: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap: bool = True,
) -> Array:
    """`x[index]` for the index that the skeleton becomes with these values."""
    entries = skeleton.entries
    if is_box(entries, mode, reading=True):
        return _read_box(x, entries, values, wrap)
    # Apply the slices first; integers, arrays and whole axes are left.
    x = read_slices(x, entries)
    plan = planned(typeof(x).shape, without_slices(entries), values, skeleton.together, wrap)
    if 0 in plan.shape:
        return zeros_as(x, plan.shape)
    if plan.truths:
        x = shape.expand_dims(x, plan.truths)
    found = indexing.gather(
        x,
        plan.indices,
        dimension_numbers=plan.dims,
        slice_sizes=plan.sizes,
        mode=gather_mode(mode),
        fill_value=fill_value,
        indices_are_sorted=indices_are_sorted or plan.alone,
        unique_indices=unique_indices or plan.alone,
    )
    return _reshaped(found, plan.shape)


def _reshaped(x: Array, lengths: Sequence[int]) -> Array:
    lengths = tuple(lengths)
    return x if typeof(x).shape == lengths else shape.reshape(x, shape=lengths)


def _read_box(x: Array, entries: Sequence[Any], values: Sequence[Any], wrap: bool) -> Array:
    """The box an index names: slices by the static parts, then one by the others.

    A known position that is outside is among the others: it is moved inside, and checkify sees it.
    """
    lengths = typeof(x).shape
    box = box_of(lengths, entries, values, wrap)
    axes = [e for e in entries if type(e) is not New]
    known = [type(e) is Span or (type(e) is Fixed and e.inside) for e in axes]
    static = [
        Span(s, 1, 1, n == 1) if type(e) is Fixed and k else e
        for e, s, n, k in zip(axes, box.starts, lengths, known, strict=True)
    ]
    x = read_slices(x, static)
    if not all(known):
        starts = [0 if k else s for k, s in zip(known, box.starts, strict=True)]
        starts = same_dtype(starts, typeof(x).shape)
        x = indexing.dynamic_slice(x, *starts, sizes=tuple(box.sizes))
    return _reshaped(x, box.shape)


@placed
def _read_part(array: Array, index: Index, **options: Any) -> Array:
    return IndexUpdateHelper(array, index).get(**options)


_COMBINE: dict[str, Any] = {
    "set": (indexing.scatter, lambda there, new: new),
    "add": (indexing.scatter_add, elementwise.add),
    "subtract": (indexing.scatter_add, elementwise.sub),
    "multiply": (indexing.scatter_mul, elementwise.mul),
    "min": (indexing.scatter_min, elementwise.min),
    "max": (indexing.scatter_max, elementwise.max),
}


_NOT_DROPPED = (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)


@placed
def update(
    x: Any,
    index: Any,
    values: Any,
    operation: str,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
    wrap_negative_indices: bool = True,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array with a part of it combined with values, broadcast to the shape of the part.

    Args:
      x: an array.
      index: an index, or a tuple of one for each axis.
      values: array_like, broadcast to the shape of the part.
      operation: "set", "add", "subtract", "multiply", "min" or "max".
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; results
        are undefined where they are broken.
      mode: the meaning of an index outside: "drop" (the default), "clip" or "promise_in_bounds".
      wrap_negative_indices: whether negative indices count from the end.
      out_sharding: the sharding of the result, on a mesh with explicit axes.
    """
    if has_slices(index):
        found, inner = cut(x, index)
        clipped = mode is not None and GatherScatterMode.from_any(mode) in _NOT_DROPPED
        part = update(read_windows(x, found), inner, values, operation, mode=mode)
        return write_windows(x, found, part, clipped)
    type = typeof(x)
    if isinstance(values, (list, tuple)) or hasattr(values, "__jax_array__"):
        values = asarray(values)
    if isinstance(index, (Value, np.ndarray)) and is_mask(index):
        lengths = typeof(index).shape
        leads = type.shape[: len(lengths)] == lengths
        if leads and typeof(values).ndim <= type.ndim - len(lengths):
            return _update_where(x, index, _as_values(values, type), operation)
    skeleton, dynamic = read(index, type.shape, current.get() is bottom, wrap_negative_indices)
    values = _as_values(values, type)
    return _scatter_with(
        x,
        values,
        dynamic,
        skeleton,
        operation,
        None if mode is None else GatherScatterMode.from_any(mode),
        bool(indices_are_sorted),
        bool(unique_indices),
        bool(wrap_negative_indices),
    )


def _as_values(values: Any, type: Any) -> Any:
    """Convert the new elements to the array's dtype if it can hold them; warn where it can't."""
    if isinstance(values, int) and type.dtype.kind in "iu":
        limits = iinfo(type.dtype)
        if limits.min <= values <= limits.max:
            return type.dtype.type(values)
    of_values = typeof(values)
    if lattice_result([type, of_values])[0] != type.dtype:
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{of_values.dtype} to dtype={type.dtype}. Convert it first with astype.",
            FutureWarning,
            stacklevel=4,
        )
    return values


@whole("operation")
def _update_where(x: Array, mask: ArrayLike, values: Array, operation: str) -> Array:
    """The update where a mask over the first axes is True: nothing needs to be counted."""
    type = typeof(x)
    x, values = promote_dtypes(x, values)
    mask = shape.broadcast_in_dim(
        mask, shape=type.shape, dims=tuple(range(len(typeof(mask).shape)))
    )
    combine = _COMBINE[operation][1]
    updated = combine(x, broadcast(values, type.shape))
    return cast(selection.select_n(mask, x, updated), type.dtype, type.weak_type)


@whole("skeleton", "operation", "mode", "indices_are_sorted", "unique_indices", "wrap")
def _scatter_with(
    x: Array,
    values: Array,
    dynamic: Sequence[Any],
    skeleton: IndexSkeleton,
    operation: str,
    mode: GatherScatterMode | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    wrap: bool,
) -> Array:
    """An update at the index that the skeleton becomes with the dynamic values."""
    type = typeof(x)
    effect, combine = _COMBINE[operation]
    entries = skeleton.entries
    x, values = promote_dtypes(x, values)
    if is_box(entries, mode, reading=False):
        box = box_of(type.shape, entries, dynamic, wrap)
        out = _write_box(x, values, box, combine if operation != "set" else None)
        return cast(out, type.dtype, type.weak_type)
    plan = planned(type.shape, entries, dynamic, skeleton.together, wrap, reading=False)
    values = _fitted(values, plan.shape)
    if 0 in plan.shape or 0 in type.shape:
        return cast(x, type.dtype, type.weak_type)
    values = _reshaped(values, plan.bare_shape)
    if operation == "subtract":
        values = elementwise.neg(values)
    lengths = typeof(x).shape
    if plan.truths:
        x = shape.expand_dims(x, plan.truths)
    out = effect(
        x,
        plan.indices,
        values,
        dimension_numbers=scatter_dims(plan.dims),
        mode=GatherScatterMode.from_any(mode),
        indices_are_sorted=indices_are_sorted or plan.alone,
        unique_indices=unique_indices or plan.alone,
    )
    return cast(_reshaped(out, lengths), type.dtype, type.weak_type)


def _fitted(values: Any, lengths: tuple[int, ...]) -> Any:
    """The values broadcast to the shape of the part.

    Raises `ValueError` where they don't broadcast.
    """
    given = typeof(values).shape
    while len(given) > len(lengths) and given[0] == 1:
        values = shape.squeeze(values, (0,))
        given = given[1:]
    fits = len(given) <= len(lengths) and all(
        a in (1, b) for a, b in zip(reversed(given), reversed(lengths), strict=False)
    )
    if not fits:
        raise ValueError(
            f"Incompatible shapes for broadcasting: {given} and requested shape {lengths}"
        )
    return broadcast(values, lengths)


def _write_box(x: Array, values: Array, box: IndexBox, combine: Any) -> Array:
    """The box replaced by the values, or combined with them."""
    values = _fitted(values, box.shape)
    if 0 in box.sizes:
        return x
    values = _reshaped(values, box.sizes)
    if box.reversed:
        values = shape.rev(values, dims=box.reversed)
    if tuple(box.sizes) == typeof(x).shape:
        return values if combine is None else combine(x, values)
    starts = same_dtype(box.starts, typeof(x).shape)
    if combine is not None:
        there = indexing.dynamic_slice(x, *starts, sizes=tuple(box.sizes))
        values = combine(there, values)
    return indexing.dynamic_update_slice(x, values, *starts)


def _apply(
    x: Any,
    index: Any,
    func: Callable[[Any], Any],
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
    wrap_negative_indices: bool = True,
) -> Array:
    """The function applied where the index points, once for each time it does."""
    from effax.lax.gathering import scatter_apply

    if has_slices(index):
        found, inner = cut(x, index)
        part = _apply(read_windows(x, found), inner, func, mode=mode)
        return write_windows(x, found, part, clipped=False)
    lengths = typeof(x).shape
    skeleton, values = read(index, lengths, False, wrap_negative_indices)
    entries = skeleton.entries
    how = None if mode is None else GatherScatterMode.from_any(mode)
    if is_box(entries, how, reading=False):
        box = box_of(lengths, entries, values, wrap_negative_indices)
        there = _read_box(x, entries, values, wrap_negative_indices)
        return _write_box(x, func(there), box, None)
    plan = planned(
        lengths, entries, values, skeleton.together, wrap_negative_indices, reading=False
    )
    if 0 in plan.shape or 0 in lengths:
        return x
    if plan.truths:
        x = shape.expand_dims(x, plan.truths)
    out = scatter_apply(
        x,
        plan.indices,
        func,
        scatter_dims(plan.dims),
        update_shape=plan.bare_shape,
        indices_are_sorted=indices_are_sorted or plan.alone,
        unique_indices=unique_indices or plan.alone,
        mode=mode,
    )
    return _reshaped(out, lengths)
