"""Gathering and scattering of slices at computed indices, as `lax` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from effax.eager.whole import whole
from effax.effects.effect import Effect
from effax.effects.rows import comparison, elementwise, indexing, selection, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.indexing import GatherDimensionNumbers as GatherDimensionNumbers
from effax.effects.rows.indexing import GatherScatterMode as GatherScatterMode
from effax.effects.rows.indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from effax.effects.types import bit_width, int32, is_bool, is_integer, typeof
from effax.effects.value import Array, ArrayLike
from effax.keys.decorators import moves_keys
from effax.lax.slicing import ints

if TYPE_CHECKING:
    from effax.api.compiling.function_types import Scatter

Mode = str | GatherScatterMode | None


def fill_number(fill_value: Any) -> Any:
    """A fill value as a hashable Python or NumPy number."""
    if fill_value is None or isinstance(fill_value, (bool, int, float, complex, np.generic)):
        return fill_value
    return np.asarray(fill_value)[()]


def _of_whole_bytes(indices: ArrayLike) -> ArrayLike:
    """Indices that can count: those of four bits and fewer become int32."""
    dtype = typeof(indices).dtype
    narrow = is_integer(dtype) and bit_width(dtype) < 8
    return convert_element_type(indices, dtype=int32) if narrow else indices


def gather_mode(mode: Mode) -> GatherScatterMode:
    """The mode of a gather: by default, indices are promised to be in bounds."""
    return GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)


@moves_keys()
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
    """Return the slices of an array that start at given indices.

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
        _of_whole_bytes(start_indices),
        dimension_numbers=GatherDimensionNumbers(*map(ints, dimension_numbers)),
        slice_sizes=ints(slice_sizes),
        mode=how,
        fill_value=fill_number(fill_value) if how is GatherScatterMode.FILL_OR_DROP else None,
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
        raise TypeError(f"{effect.name}: operand must hold numbers, got Booleans; see scatter_max")
    return effect(
        operand,
        _of_whole_bytes(scatter_indices),
        updates,
        dimension_numbers=ScatterDimensionNumbers(*map(ints, dimension_numbers)),
        mode=GatherScatterMode.from_any(mode),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
    )


def _scatter_function(name: str, effect: Effect, what: str, answer: float) -> Scatter:
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
    scatter_function.__doc__ = f"""Return an array in which, at given indices, {what}.

    The mirror image of `gather`: the slices that it would read are written. An index outside is
    dropped, unless mode is 'clip'. `x.at[...]` is the easier way to say it.

    Args:
      operand: the array.
      scatter_indices: integers; the last axis holds the components of one index.
      updates: the slices, of the operand's dtype.
      dimension_numbers: how the axes of operand, indices and updates belong together.
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; results
        are undefined where they are broken.
      mode: 'drop' (the default), 'clip' or 'promise_in_bounds', or a `GatherScatterMode`.

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
    """Subtract updates from an array at given indices; see `scatter_add`.

    Args:
      operand: the array.
      scatter_indices: integers; the last axis holds the components of one index.
      updates: the slices to subtract, of the operand's dtype.
      dimension_numbers: how the axes of operand, indices and updates belong together.
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; results
        are undefined where they are broken.
      mode: 'drop' (the default), 'clip' or 'promise_in_bounds', or a `GatherScatterMode`.

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
    """Apply a function to the elements of an array at given indices.

    Where an index repeats the function is applied repeatedly; reverse-mode derivatives then need
    unique_indices=True, since the number of repetitions is known only at run time.

    Args:
      operand: the array.
      scatter_indices: integers; the last axis holds the components of one index.
      func: from an array to one of the same shape and dtype, element by element.
      dimension_numbers: how the axes of operand, indices and slices belong together.
      update_shape: the shape that the updates of a `scatter` would have.
      indices_are_sorted, unique_indices: promises that let the compiler write faster code; results
        are undefined where they are broken.
      mode: 'drop' (the default), 'clip' or 'promise_in_bounds', or a `GatherScatterMode`.

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
        shape.full(ints(update_shape), 1, int32),
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

    from effax.effects.rows.reduction import reduce_max

    def unfinished(carry: tuple[Any, Any]) -> Any:
        most = reduce_max(carry[0], axes=tuple(range(type.ndim)))
        return comparison.gt(most, 1)

    if type.size == 0:
        return once
    return while_loop(unfinished, again, (visits, once), checkpoints=8)[1]


@moves_keys()
@whole("axes")
def index_take(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Array:
    """Return the slices at index vectors, one vector for each of the axes; indices wrap around.

    Args:
      src: the array.
      idxs: a vector of integers for each of `axes`, all of one length.
      axes: the axes that are indexed, counted from the front.

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
