"""Arrays over many devices, made from pieces: from a function, from arrays, from this process's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.api.placing.shardings import resolve
from effax.backends.xla.array import Array, asarray, device_put, from_shards
from effax.backends.xla.placement import Sharding, bounds, single
from effax.effects.errors import UnexpectedTracerError
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.mesh import PartitionSpec
from effax.effects.tree import broadcast_prefix, tree_flatten, tree_unflatten
from effax.effects.types import ShapedArray, canonical_dtype
from effax.keys.arrays import KeyType, is_keys


def _checked(shape: Sequence[int], sharding: Any, function: str) -> tuple[tuple[int, ...], Any]:
    where: Sharding = resolve(sharding, function, "sharding")
    lengths = tuple(map(int, shape))
    where.shard_shape(lengths)
    return lengths, where


@filtered
def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Array:
    """Return an array whose pieces a callback returns.

    Args:
      shape: of the whole array.
      sharding: how it is cut up.
      data_callback: from an index (a tuple of slices) to that part of the array; called once for
        each part that lies on a device of this process.
      dtype: of the array; by default that of the first piece. A process without any of the devices
        must give it.

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
    kind = dtype if isinstance(dtype, KeyType) else None
    if kind is not None:
        dtype = np.uint32
    for device, index in where.addressable_devices_indices_map(lengths).items():
        key = str(index)
        if key not in made:
            piece = data_callback(index)
            if isinstance(piece, Carrier):
                raise UnexpectedTracerError(
                    "effax.make_array_from_callback cannot be called within a traced context, but "
                    f"its callback returned the traced value {piece!r}. Make the array outside, "
                    "and pass it to the function"
                )
            if is_keys(piece):
                kind, piece = piece.dtype, piece.words
            made[key] = np.asarray(piece)
        if dtype is None:
            dtype = made[key].dtype
        type = ShapedArray(made[key].shape, canonical_dtype(np.dtype(dtype)))
        pieces.append(asarray(made[key], type, single(device)))
    if not pieces and dtype is None:
        raise ValueError(
            f"make_array_from_callback: this process has none of the devices of {where}, and so "
            "no piece that says the dtype; pass dtype"
        )
    if kind is None:
        return _joined(pieces, lengths, where, canonical_dtype(np.dtype(dtype)))
    shape, dtype = kind.inside(lengths)
    return kind.around(_joined(pieces, shape, where, dtype))


def _joined(pieces: Sequence[Array], shape: tuple[int, ...], where: Sharding, dtype: Any) -> Array:
    type = ShapedArray(shape, dtype)
    if where.placement().is_single and pieces:
        wanted = where.shard_shape(shape)
        if pieces[0].shape != wanted:
            raise ValueError(
                f"the piece of {type} must have the shape {wanted}, got {pieces[0].shape}"
            )
        return device_put(pieces[0], where)
    return from_shards(list(pieces), type, where)


@filtered
def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Array:
    """Return an array whose pieces are arrays, each on a device of the sharding.

    Args:
      shape: of the whole array.
      sharding: how it is cut up.
      arrays: one for each device of the sharding that is this process's, in any order.
      dtype: of the array, for a process that has none of the devices.

    Raises:
      ValueError: where a device has no piece or two, or a piece another shape or dtype.

    >>> import effax, effax.numpy as jnp
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> spread = effax.NamedSharding(mesh, effax.P("x"))
    >>> make_array_from_single_device_arrays((2,), spread, [jnp.ones(2)]).sharding == spread
    True
    """
    if arrays and all(map(is_keys, arrays)) and len({x.dtype for x in arrays}) == 1:
        kind, pieces = arrays[0].dtype, [x.words for x in arrays]
        inner, _ = kind.inside(shape)
        return kind.around(make_array_from_single_device_arrays(inner, sharding, pieces))
    if not arrays and isinstance(dtype, KeyType):
        inner, words = dtype.inside(shape)
        return dtype.around(make_array_from_single_device_arrays(inner, sharding, [], dtype=words))
    lengths, where = _checked(shape, sharding, "make_array_from_single_device_arrays")
    if not isinstance(arrays, Array) and any(isinstance(x, Carrier) for x in arrays):
        raise ValueError(
            "effax.make_array_from_single_device_arrays requires a list of concrete arrays, and "
            f"got {arrays!r}: call it outside of transformed functions"
        )
    if isinstance(arrays, Array) or not all(isinstance(x, Array) for x in arrays):
        raise TypeError(
            f"make_array_from_single_device_arrays: expected a sequence of arrays, got {arrays!r}"
        )
    if not arrays and dtype is None:
        raise ValueError(
            "If the Array has no addressable shards, `dtype` must be provided via the `dtype` "
            "argument to `effax.make_array_from_single_device_arrays`. This process has no pieces "
            f"of {where}"
        )
    found: dict[Any, Array] = {}
    for x in arrays:
        if not x.spec.placement.is_single:
            raise ValueError(
                "When making an array from single-device arrays the input arrays must have one "
                f"shard each. An argument array had {len(x.sharding.device_set)} shard(s). It is "
                f"on {x.sharding}"
            )
        found[x.spec.placement.device] = x
    devices = [device for device in where.placement().devices if device.is_addressable]
    if len(found) != len(arrays) or set(found) != set(devices):
        raise ValueError(
            f"Expected {len(devices)} per-device arrays (this is how many devices are addressable "
            f"by the sharding), one on each of {devices}, but got {len(arrays)}, on "
            f"{list(found)}"
        )
    if dtype is not None and any(x.dtype != np.dtype(dtype) for x in arrays):
        raise ValueError(
            "If `dtype` is provided to `effax.make_array_from_single_device_arrays`, it must match "
            f"the dtype of the addressable shards. It is {np.dtype(dtype)}, and they are of "
            f"{[str(x.dtype) for x in arrays]}"
        )
    kind = canonical_dtype(np.dtype(dtype)) if not devices else arrays[0].dtype
    return _joined([found[device] for device in devices], lengths, where, kind)


@filtered
def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> Any:
    """Return an array of which each process gives the parts on its own devices.

    Args:
      sharding: how the array is cut up; for a tree of data, one sharding or a prefix of the tree.
      local_data: the parts of this process side by side, in the order of their indices, along each
        axis that is cut among processes; all of the array along the others. Processes that have
        the same parts must give the same.
      global_shape: of the whole array, or a prefix of the tree of such shapes; by default computed,
        as though each process had as much. An axis along which it is as long as `local_data` is
        given whole by each process.

    Returns:
      The array, or a tree of arrays.

    Raises:
      ValueError: where the lengths do not fit, or can't be computed since the parts of processes
        overlap.

    >>> import effax, numpy as np
    >>> mesh = effax.make_mesh((1,), ("x",))
    >>> spread = effax.NamedSharding(mesh, effax.P("x"))
    >>> make_array_from_process_local_data(spread, np.ones(2, np.float32))
    Array([1., 1.], dtype=float32)
    """
    leaves, tree = tree_flatten(local_data)

    def is_shape(x: Any) -> bool:
        return x is None or (
            isinstance(x, tuple) and all(n is None or isinstance(n, int) for n in x)
        )

    places = broadcast_prefix(sharding, local_data, is_leaf=lambda x: isinstance(x, PartitionSpec))
    shapes = broadcast_prefix(global_shape, local_data, is_leaf=is_shape)
    made = [_from_local(*one) for one in zip(places, leaves, shapes, strict=True)]
    return tree_unflatten(tree, made)


def _from_local(sharding: Any, local: Any, given_shape: Any) -> Any:
    if is_keys(local):
        shape = None if given_shape is None else (*given_shape, local.words.shape[-1])
        return local.like(_from_local(sharding, local.words, shape))
    data = np.asarray(local)
    where: Sharding = resolve(sharding, _LOCAL, "sharding")
    if given_shape is not None and None in given_shape:
        raise ValueError(f"{_LOCAL}: global_shape={given_shape} has Nones. This is not supported.")
    lengths = global_shape(data.shape, where) if given_shape is None else tuple(given_shape)
    where.shard_shape(lengths)
    if where.is_fully_addressable:
        if lengths != data.shape:
            raise ValueError(
                f"{_LOCAL}: all devices belong to this process, so global_shape {lengths} must be "
                f"the shape of local_data, {data.shape}"
            )
        return device_put(data, where)
    found = where.addressable_devices_indices_map(lengths)
    # For each axis, the starts of this process's parts, and their total length.
    begin = [[start for start, _ in bounds(index, lengths)] for index in found.values()]
    starts = [sorted(set(along)) for along in zip(*begin, strict=True)]
    piece = where.shard_shape(lengths)
    given = []
    for axis, (length, own) in enumerate(zip(lengths, data.shape, strict=True)):
        parts = len(starts[axis]) * piece[axis]
        if own not in (length, parts):
            raise ValueError(
                f"{_LOCAL}: axis {axis} of local_data must have the length {length} of the whole "
                f"array, or the length {parts} of its part on this process's devices, got {own}"
            )
        given.append(own == length)

    def part(index: tuple[slice, ...]) -> Any:
        chosen = []
        for axis, (start, stop) in enumerate(bounds(index, lengths)):
            if not given[axis]:
                start = starts[axis].index(start) * piece[axis]
                stop = start + piece[axis]
            chosen.append(slice(start, stop))
        return data[tuple(chosen)]

    return make_array_from_callback(lengths, where, part, dtype=data.dtype)


_LOCAL: Final = "make_array_from_process_local_data"


def process_part(where: Sharding, axis: int, ndim: int) -> tuple[int, int]:
    """Return which part of an axis this process has, and how many such parts there are.

    Processes that have the same pieces of the axis have the same part of it. Parts are counted by
    the first piece of each.

    Args:
      where: the sharding of an array over the devices of several processes.
      axis: the axis of the array.
      ndim: the number of axes of the array.

    Returns:
      The number of this process's part, from 0, and the number of parts.

    Raises:
      ValueError: processes have parts of different sizes, or that overlap.
    """
    cuts = (*where.cuts(), *(1,) * (ndim - len(where.cuts())))
    owned: dict[int, set[int]] = {}
    for device, index in where.devices_indices_map(cuts).items():
        owned.setdefault(device.process_index, set()).add(bounds(index, cuts)[axis][0])
    parts = sorted(sorted(part) for part in {frozenset(part) for part in owned.values()})
    if len({*map(len, parts)}) > 1 or sum(map(len, parts)) != cuts[axis]:
        raise ValueError(
            f"the parts of processes overlap along axis {axis}, or are not of the same size "
            f"({ {i: sorted(part) for i, part in owned.items()} })"
        )
    here = next(iter(where.addressable_devices)).process_index
    return parts.index(sorted(owned[here])), len(parts)


def global_shape(shape: tuple[int, ...], where: Sharding) -> tuple[int, ...]:
    """Return the shape of an array of which each process gives so much along each axis.

    Raises `ValueError` where processes have parts of different sizes, or that overlap.
    """
    try:
        counts = [process_part(where, axis, len(shape))[1] for axis in range(len(shape))]
    except ValueError as error:
        raise ValueError(
            f"{_LOCAL}: {error}, so that the shape of the whole can't be computed; "
            "give global_shape"
        ) from None
    return tuple(length * count for length, count in zip(shape, counts, strict=True))
