"""Images at places between their pixels, as `scipy.ndimage` has them."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.eager.whole import own_promotion, whole
from effax.effects.types import is_bool, is_complex, is_integer
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.operands.promoting import arraylike, asarray

__all__ = ["map_coordinates"]
__dir__ = __all__.copy


def _mirrored(index: Array, size: int) -> Array:
    """Places reflected about the centres of the outermost pixels."""
    if size == 1:
        return jnp.zeros_like(index)
    last = size - 1
    return jnp.abs((index + last) % (2 * last) - last)


_FOLDS: dict[str, Callable[[Array, int], Array]] = {
    "constant": lambda index, size: index,
    "mirror": _mirrored,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "reflect": lambda index, size: _mirrored(2 * index + 1, 2 * size + 1) // 2,
    "wrap": lambda index, size: index % size,
}


def _rounded(x: Array) -> Array:
    """The nearest integer; halves go away from zero."""
    return lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)


def _pixels(coordinate: Array, order: int) -> list[tuple[Array, Array]]:
    """Pixels that have a part in the value at a coordinate, and how large a part."""
    if order == 0:
        return [(_rounded(coordinate).astype("int32"), jnp.ones_like(coordinate))]
    lower = jnp.floor(coordinate)
    above = coordinate - lower
    index = lower.astype("int32")
    return [(index, 1 - above), (index + 1, above)]


@own_promotion
@whole("order", "mode")
def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[ArrayLike],
    order: int,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
) -> Array:
    """Return the values of an array at places between its elements.

    Args:
      input: an array of rank n.
      coordinates: n arrays, or one whose first axis is of length n; they broadcast.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: what is outside: "constant" (`cval`), "nearest" (the last element), "wrap" (the array
        again), "mirror" and "reflect" (the array backwards, the last element once or twice).
      cval: a number.

    Returns:
      An array of the coordinates' shape and the input's dtype; integers are rounded.

    Raises:
      NotImplementedError: for other orders and modes.
      ValueError: where there are not n coordinates.
      TypeError: for complex coordinates.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.ndimage import map_coordinates
    >>> map_coordinates(jnp.array([0.0, 10.0, 30.0]), [jnp.array([0.5, 1.5])], order=1)
    Array([ 5., 20.], dtype=float32)
    """
    if mode not in _FOLDS:
        raise NotImplementedError(
            f"scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently supported "
            f"modes are {sorted(_FOLDS)}."
        )
    if order not in (0, 1):
        raise NotImplementedError("scipy.ndimage.map_coordinates currently requires order<=1")
    image = jnp.asarray(asarray(input, "map_coordinates"))
    (outside,) = arraylike("map_coordinates", cval)
    places = [jnp.asarray(asarray(c, "map_coordinates")) for c in coordinates]
    if len(places) != image.ndim or not places:
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, but "
            f"{len(places)} != {image.ndim}"
        )
    # Each by itself first: integers of few bits meet no floats.
    places = [floats("map_coordinates", x)[0] for x in places]
    places = jnp.broadcast_arrays(*floats("map_coordinates", *places))
    if is_complex(places[0].dtype):
        raise TypeError(f"coordinates must be real, got {places[0].dtype}")
    total = _interpolated(image, places, order, mode, outside)
    if is_integer(image.dtype) or is_bool(image.dtype):
        total = _rounded(total)
    return total.astype(image.dtype)


def _interpolated(image: Array, places: list[Array], order: int, mode: str, outside: Any) -> Array:
    """The sum, over the corners of the cells in which the places are, of weighted elements."""
    if image.size == 0:
        return jnp.full_like(places[0], outside)
    background = jnp.asarray(outside, image.dtype)
    axes = []
    for place, size in zip(places, image.shape, strict=True):
        corners = []
        for index, weight in _pixels(place, order):
            folded = _FOLDS[mode](index, size)
            corners.append((folded, (folded >= 0) & (folded < size), weight))
        axes.append(corners)
    parts = []
    for corner in itertools.product(*axes):
        indices, inside, weights = zip(*corner, strict=True)
        value = image[indices]
        if mode == "constant":
            value = jnp.where(functools.reduce(operator.and_, inside), value, background)
        parts.append(functools.reduce(operator.mul, weights) * value)
    return functools.reduce(operator.add, parts)
