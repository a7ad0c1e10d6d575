"""Arrays over many devices, made from pieces: from a function, from arrays, from this process's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.api.shardings import resolve
from effax.backends.xla.array import Array, asarray, device_put, from_shards
from effax.backends.xla.placement import Sharding, single
from effax.effects.frames import filtered
from effax.effects.types import ShapedArray, canonical_dtype
from effax.keys.arrays import KeyArray, is_keys


def _checked(shape: Sequence[int], sharding: Any, function: str) -> tuple[tuple[int, ...], Any]:
    where: Sharding = resolve(sharding, function, "sharding")
    lengths = tuple(map(int, shape))
    where.shard_shape(lengths)
    return lengths, where


@filtered
def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Array:
    """An array whose pieces a function gives.

    Args:
      shape: of the whole array.
      sharding: how it is cut up.
      data_callback: from an index (a tuple of slices) to that part of the array; called once for
        each part.
      dtype: of the array; by default that of the first piece.

    Raises:
      ValueError: for pieces of other shapes, or a shape that can't be cut so.

    >>> import effax, numpy as np
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> whole = np.arange(4.0)
    >>> spread = effax.NamedSharding(mesh, effax.P("x"))
    >>> make_array_from_callback((4,), spread, lambda index: whole[index])
    Array([0., 1., 2., 3.], dtype=float32)
    """
    lengths, where = _checked(shape, sharding, "make_array_from_callback")
    made: dict[str, Any] = {}
    pieces: list[Array] = []
    implementation = None
    for device, index in where.devices_indices_map(lengths).items():
        key = str(index)
        if key not in made:
            full = (*index, *(slice(None),) * (len(lengths) - len(index)))
            piece = data_callback(full)
            if is_keys(piece):
                implementation, piece = piece.implementation, piece.words
            made[key] = np.asarray(piece)
        if dtype is None:
            dtype = made[key].dtype
        type = ShapedArray(made[key].shape, canonical_dtype(np.dtype(dtype)))
        pieces.append(asarray(made[key], type, single(device)))
    if implementation is None:
        return _joined(pieces, lengths, where)
    words = _joined(pieces, (*lengths, pieces[0].shape[-1]), where)
    return _keys(words, implementation)


def _keys(words: Array, implementation: str) -> Any:
    """An array of keys, which passes for an `Array`."""
    return KeyArray(words, implementation=implementation)


def _joined(pieces: Sequence[Array], shape: tuple[int, ...], where: Sharding) -> Array:
    type = ShapedArray(shape, pieces[0].dtype)
    if where.placement().is_single:
        wanted = where.shard_shape(shape)
        if pieces[0].shape != wanted:
            raise ValueError(f"the piece of {type} has the shape {wanted}, not {pieces[0].shape}")
        return device_put(pieces[0], where)
    return from_shards(list(pieces), type, where)


@filtered
def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """An array whose pieces are arrays, each on a device of the sharding.

    Raises `ValueError` where a device has no piece or two, or a piece another shape or dtype.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> spread = effax.NamedSharding(mesh, effax.P("x"))
    >>> make_array_from_single_device_arrays((2,), spread, [jnp.ones(2)]).sharding == spread
    True
    """
    if arrays and all(map(is_keys, arrays)) and len({x.dtype for x in arrays}) == 1:
        kind, pieces = arrays[0].dtype, [x.words for x in arrays]
        words = make_array_from_single_device_arrays((*shape, kind.width), sharding, pieces)
        return _keys(words, kind.implementation)
    lengths, where = _checked(shape, sharding, "make_array_from_single_device_arrays")
    if isinstance(arrays, Array) or not all(isinstance(x, Array) for x in arrays):
        raise TypeError(
            f"make_array_from_single_device_arrays takes a sequence of arrays, not {arrays!r}"
        )
    found: dict[Any, Array] = {}
    for x in arrays:
        if not x.spec.placement.is_single:
            raise ValueError(
                f"When making an array from single-device arrays the input arrays must have one "
                f"shard each, and one is on {x.sharding}"
            )
        found[x.spec.placement.device] = x
    devices = where.placement().devices
    if len(found) != len(arrays) or set(found) != set(devices):
        raise ValueError(
            f"Expected {len(devices)} per-device arrays (this is how many devices are addressable "
            f"by the sharding), one on each of {list(devices)}, but got {len(arrays)}, on "
            f"{list(found)}"
        )
    if dtype is not None and any(x.dtype != np.dtype(dtype) for x in arrays):
        raise ValueError(f"the pieces are not of dtype {dtype}: {[x.dtype for x in arrays]}")
    return _joined([found[device] for device in devices], lengths, where)


@filtered
def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Sequence[int] | None = None
) -> Array:
    """An array of which this process gives the parts that lie on its devices.

    With one process that is all of it: `local_data` has the whole shape. Raises `ValueError`
    for another `global_shape`.

    >>> import effax, numpy as np
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> spread = effax.NamedSharding(mesh, effax.P("x"))
    >>> make_array_from_process_local_data(spread, np.ones(2, np.float32))
    Array([1., 1.], dtype=float32)
    """
    if is_keys(local_data):
        shape = None if global_shape is None else (*global_shape, local_data.words.shape[-1])
        words = make_array_from_process_local_data(sharding, local_data.words, shape)
        return _keys(words, local_data.implementation)
    data = np.asarray(local_data)
    lengths, where = _checked(data.shape, sharding, "make_array_from_process_local_data")
    if not where.is_fully_addressable:
        raise NotImplementedError(
            "make_array_from_process_local_data over several processes: make each process's "
            "pieces arrays, and join them by make_array_from_single_device_arrays"
        )
    if global_shape is not None and tuple(global_shape) != lengths:
        raise ValueError(
            f"one process has all of the data: global_shape {tuple(global_shape)} must be the "
            f"shape of local_data, {lengths}"
        )
    return device_put(data, where)
