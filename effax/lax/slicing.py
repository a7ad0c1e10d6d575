"""Slices, and gathering and scattering of them, as `lax` has them: nothing is broadcast here."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.effects import comparison, elementwise, indexing, selection, shape
from effax.effects.conversion import convert_element_type
from effax.effects.effect import Effect
from effax.effects.indexing import GatherDimensionNumbers as GatherDimensionNumbers
from effax.effects.indexing import GatherScatterMode as GatherScatterMode
from effax.effects.indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from effax.effects.types import int32, int64, is_bool, is_integer, typeof
from effax.whole import whole

Array = Any
ArrayLike = Any
Mode = str | GatherScatterMode | None


def axis_of(axis: int, ndim: int) -> int:
    """An axis counted from the front; negative ones count from the end.

    Raises `IndexError` where the array has no such axis.
    """
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis + ndim if axis < 0 else axis


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(operator.index(v) for v in values)


@whole("start_indices", "limit_indices", "strides")
def _slice(
    operand: Array,
    start_indices: tuple[int, ...],
    limit_indices: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Array:
    return shape.slice(operand, start=start_indices, limit=limit_indices, strides=strides)


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """The box of an array between start and limit, every `strides`-th element of it.

    Raises `TypeError` where the box does not lie inside the array.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.slice(jnp.arange(10), (2,), (9,), (3,))
    Array([2, 5, 8], dtype=int32)
    """
    steps = None if strides is None else _ints(strides)
    return _slice(operand, _ints(start_indices), _ints(limit_indices), steps)


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """A slice along one axis; negative bounds count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.slice_in_dim(jnp.arange(5), 1, -1)
    Array([1, 2, 3], dtype=int32)
    """
    lengths = typeof(operand).shape
    axis = axis_of(axis, len(lengths))
    n = lengths[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = n if limit_index is None else operator.index(limit_index)
    starts, limits, strides = [0] * len(lengths), list(lengths), [1] * len(lengths)
    starts[axis] = start + n if start < 0 else start
    limits[axis] = limit + n if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """One position along an axis, known beforehand.

    Raises `IndexError` for a position outside the axis.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.index_in_dim(jnp.arange(6).reshape(2, 3), -1, axis=1, keepdims=False)
    Array([2, 5], dtype=int32)
    """
    index = operator.index(index)
    lengths = typeof(operand).shape
    axis = axis_of(axis, len(lengths))
    n = lengths[axis]
    at = index + n if index < 0 else index
    if not 0 <= at < n:
        raise IndexError(f"index {index} is out of bounds for axis {axis} of size {n}")
    result = slice_in_dim(operand, at, at + 1, 1, axis)
    return result if keepdims else _squeeze(result, axis)


@whole("axis")
def _squeeze(operand: Array, axis: int) -> Array:
    return shape.squeeze(operand, (axis,))


def _common_index_dtype(starts: Sequence[Any]) -> Any:
    types = [typeof(s) for s in starts]
    strong = {t.dtype for t in types if not t.weak_type}
    if not all(is_integer(t.dtype) for t in types) or len(strong) > 1:
        listed = ", ".join(t.dtype.name for t in types)
        raise TypeError(f"start indices must be integers of the same type, got: {listed}")
    return int64 if any(d.itemsize == 8 for d in strong) else int32


def as_starts(starts: Any, lengths: Sequence[int], wrap: bool | Sequence[bool]) -> list[Any]:
    """Start indices as scalars of one dtype, negative ones counted from the end where `wrap`.

    Raises `ValueError` where their number is not that of the axes, `TypeError` where they are no
    integers or of several dtypes (Python's take the others').
    """
    if not isinstance(starts, (tuple, list)):
        n = typeof(starts).shape
        if len(n) != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {n}")
        starts = [shape.squeeze(shape.slice_axis(starts, 0, i, i + 1), (0,)) for i in range(n[0])]
    if len(starts) != len(lengths):
        raise ValueError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(starts)} vs {tuple(lengths)})"
        )
    wraps = [wrap] * len(starts) if isinstance(wrap, bool) else list(wrap)
    dtype = _common_index_dtype(starts)
    return [as_start(s, n, w, dtype) for s, n, w in zip(starts, lengths, wraps, strict=True)]


def as_start(start: Any, length: int, wrap: bool, dtype: Any) -> Any:
    """One start index as a scalar of that dtype, counted from the front."""
    if isinstance(start, (int, np.integer)) and not isinstance(start, np.bool_):
        start = int(start)
        limits = np.iinfo(dtype)
        start = start + length if start < 0 else start
        return shape.scalar(min(max(start, int(limits.min)), int(limits.max)), dtype)
    return from_front(start, length, wrap, dtype)


def from_front(index: Any, length: int, wrap: bool, dtype: Any) -> Any:
    """Indices in that dtype, negative ones counted from the end where `wrap`."""
    signed = typeof(index).dtype.kind != "u"
    if typeof(index).dtype != dtype:
        index = convert_element_type(index, dtype=dtype)
    if not (signed and wrap):
        return index
    below = comparison.lt(index, 0)
    return selection.select_n(below, index, elementwise.add(index, length))


@whole("slice_sizes", "wrap")
def _dynamic_slice(operand: Array, starts: Any, slice_sizes: Any, wrap: Any) -> Array:
    lengths = typeof(operand).shape
    return indexing.dynamic_slice(operand, *as_starts(starts, lengths, wrap), sizes=slice_sizes)


def _negative(allow: bool | Sequence[bool], starts: Any) -> bool | tuple[bool, ...]:
    """Which starts may be negative, in a form that can be hashed.

    Raises `ValueError` where a Python integer is and may not.
    """
    given = starts if isinstance(starts, tuple | list) else ()
    allowed = [allow] * len(given) if isinstance(allow, bool) else list(allow)
    for start, may in zip(given, allowed, strict=False):
        if isinstance(start, int | np.integer) and start < 0 and not may:
            raise ValueError(f"Index {start} is out of bounds if allow_negative_indices=False")
    return allow if isinstance(allow, bool) else tuple(allow)


def dynamic_slice(
    operand: ArrayLike,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The part of an array of a known size, at a place known only at run time.

    Args:
      operand: the array.
      start_indices: where the part begins, an integer scalar for each axis. Starts are moved so
        that the whole part lies inside.
      slice_sizes: its shape.
      allow_negative_indices: whether negative starts count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_slice(jnp.arange(5), (3,), (3,))
    Array([2, 3, 4], dtype=int32)
    """
    return _dynamic_slice(
        operand,
        start_indices,
        _ints(slice_sizes),
        _negative(allow_negative_indices, start_indices),
    )


@whole("wrap")
def _dynamic_update_slice(operand: Array, update: Array, starts: Any, wrap: Any) -> Array:
    return indexing.dynamic_update_slice(
        operand, update, *as_starts(starts, typeof(operand).shape, wrap)
    )


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """An array with a part replaced, at a place known only at run time.

    Starts are moved so that the whole update lies inside.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_update_slice(jnp.zeros(5), jnp.ones(2), (1,))
    Array([0., 1., 1., 0., 0.], dtype=float32)
    """
    return _dynamic_update_slice(
        operand, update, start_indices, _negative(allow_negative_indices, start_indices)
    )


def _starts_along(operand: Any, start: Any, axis: int) -> tuple[int, list[Any]]:
    ndim = len(typeof(operand).shape)
    axis = axis_of(axis, ndim)
    starts: list[Any] = [0] * ndim
    starts[axis] = start
    return axis, starts


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`dynamic_slice` along one axis, whole in the others.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_slice_in_dim(jnp.arange(5), 1, 3)
    Array([1, 2, 3], dtype=int32)
    """
    axis, starts = _starts_along(operand, start_index, axis)
    sizes = list(typeof(operand).shape)
    sizes[axis] = operator.index(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """One position along an axis, known only at run time.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_index_in_dim(jnp.arange(5), 2, keepdims=False)
    Array(2, dtype=int32)
    """
    result = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return result if keepdims else _squeeze(result, axis_of(axis, len(typeof(operand).shape)))


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """`dynamic_update_slice` with a start along one axis, zero in the others.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_update_slice_in_dim(jnp.zeros(4), jnp.ones(2), 2, axis=0)
    Array([0., 0., 1., 1.], dtype=float32)
    """
    _, starts = _starts_along(operand, start_index, axis)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@whole("axis", "allow_negative_indices")
def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """An array with one position along an axis replaced; the update may lack that axis.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dynamic_update_index_in_dim(jnp.zeros(3), 5.0, 1, axis=0)
    Array([0., 5., 0.], dtype=float32)
    """
    lengths = typeof(operand).shape
    axis = axis_of(axis, len(lengths))
    if len(typeof(update).shape) != len(lengths):
        update = shape.expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


def _number(fill_value: Any) -> Any:
    """A fill value as a hashable Python or NumPy number."""
    if fill_value is None or isinstance(fill_value, (bool, int, float, complex, np.generic)):
        return fill_value
    return np.asarray(fill_value)[()]


def gather_mode(mode: Mode) -> GatherScatterMode:
    """The mode of a gather: by default, indices are promised to be in bounds."""
    return GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: Any = None,
) -> Array:
    """The slices of an array that start at given indices.

    Args:
      operand: the array.
      start_indices: integers; the last axis holds the components of one index.
      dimension_numbers: how the axes of operand, indices and result belong together.
      slice_sizes: the shape of each slice.
      unique_indices: a promise that slices don't overlap (for the derivative).
      indices_are_sorted: a promise that indices ascend.
      mode: what an index outside means: 'fill', 'clip' or 'promise_in_bounds' (the default;
        the nearest slice is read, and derivatives drop it).
      fill_value: the number for 'fill': by default NaN, or the extreme of an integer type.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> rows = lax.GatherDimensionNumbers((1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    >>> lax.gather(jnp.arange(6).reshape(3, 2), jnp.array([[2], [0]]), rows, (1, 2)).tolist()
    [[4, 5], [0, 1]]
    """
    how = gather_mode(mode)
    return indexing.gather(
        operand,
        start_indices,
        dimension_numbers=GatherDimensionNumbers(*map(_ints, dimension_numbers)),
        slice_sizes=_ints(slice_sizes),
        mode=how,
        fill_value=_number(fill_value) if how is GatherScatterMode.FILL_OR_DROP else None,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
    )


def scatter_with(
    effect: Effect,
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """Perform one of the scatter effects, attributes in canonical form."""
    sums = effect in (indexing.scatter_add, indexing.scatter_mul)
    if sums and is_bool(typeof(operand).dtype) and typeof(updates).size:
        raise TypeError(f"{effect.name} takes numbers, not Booleans; see scatter_max")
    return effect(
        operand,
        scatter_indices,
        updates,
        dimension_numbers=ScatterDimensionNumbers(*map(_ints, dimension_numbers)),
        mode=GatherScatterMode.from_any(mode),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
    )


def _scatter_function(name: str, effect: Effect, what: str, answer: float) -> Callable[..., Array]:
    def scatter_function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> Array:
        return scatter_with(
            effect,
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
        )

    scatter_function.__name__ = scatter_function.__qualname__ = name
    scatter_function.__doc__ = f"""An array in which, at given indices, {what}.

    The mirror image of `gather`: the slices that it would read are written. An index outside is
    dropped, unless mode is 'clip'. `x.at[...]` is the easier way to say it.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, places = jnp.array([2.0, 3.0]), jnp.array([[1]])
    >>> lax.{name}(x, places, jnp.array([5.0]), elements).tolist()
    [2.0, {answer}]
    """
    return scatter_function


scatter = _scatter_function("scatter", indexing.scatter, "updates replace what is there", 5.0)
scatter_add = _scatter_function(
    "scatter_add", indexing.scatter_add, "updates are added, repeatedly where indices repeat", 8.0
)
scatter_mul = _scatter_function(
    "scatter_mul", indexing.scatter_mul, "updates multiply what is there", 15.0
)
scatter_min = _scatter_function(
    "scatter_min", indexing.scatter_min, "the lesser number remains", 3.0
)
scatter_max = _scatter_function(
    "scatter_max", indexing.scatter_max, "the greater number remains", 5.0
)


@whole("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")
def scatter_sub(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """An array in which, at given indices, updates are subtracted; see `scatter_add`.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_sub(jnp.zeros(3), jnp.array([[1]]), jnp.ones(1), elements).tolist()
    [0.0, -1.0, 0.0]
    """
    return scatter_with(
        indexing.scatter_add,
        operand,
        scatter_indices,
        elementwise.neg(updates),
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def scatter_apply(
    operand: Array,
    scatter_indices: Array,
    func: Callable[[Array], Array],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Array:
    """An array in which a function of one number is applied at given indices.

    Where an index repeats the function is applied repeatedly; reverse-mode derivatives then need
    unique_indices=True, since the number of repetitions is known only at run time.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> elements = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, places = jnp.array([1.0, 2.0, 3.0]), jnp.array([[1]])
    >>> lax.scatter_apply(x, places, jnp.square, elements, update_shape=(1,)).tolist()
    [1.0, 4.0, 3.0]
    """
    from effax.lax.control import while_loop

    type = typeof(operand)
    visits = scatter_add(
        shape.full(type.shape, 0, int32),
        scatter_indices,
        shape.full(_ints(update_shape), 1, int32),
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    once = selection.select_n(comparison.gt(visits, 0), operand, func(operand))
    if unique_indices:
        return once

    def again(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        left, x = carry
        left = elementwise.sub(left, 1)
        return left, selection.select_n(comparison.gt(left, 0), x, func(x))

    from effax.effects.reduction import reduce_max

    def unfinished(carry: tuple[Any, Any]) -> Any:
        most = reduce_max(carry[0], axes=tuple(range(type.ndim)))
        return comparison.gt(most, 1)

    if type.size == 0:
        return once
    return while_loop(unfinished, again, (visits, once))[1]


@whole("axes")
def index_take(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Array:
    """The slices at index vectors, one vector for each of the axes; indices wrap around.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.index_take(jnp.arange(6).reshape(2, 3), (jnp.array([0, 3]),), (0,))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    lengths = typeof(src).shape
    columns = []
    for index, axis in zip(idxs, axes, strict=True):
        rest = elementwise.rem(index, lengths[axis])
        below = comparison.lt(rest, 0)
        rest = selection.select_n(below, rest, elementwise.add(rest, lengths[axis]))
        columns.append(shape.expand_dims(rest, (1,)))
    indices = shape.concatenate(*columns, axis=1)
    sizes = tuple(1 if i in axes else n for i, n in enumerate(lengths))
    dims = GatherDimensionNumbers(
        tuple(range(1, 1 + len(lengths) - len(axes))), tuple(axes), tuple(axes)
    )
    return gather(src, indices, dims, sizes)
