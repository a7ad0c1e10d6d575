"""Pieces of arrays: those that this process writes, and an array put together from many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from effax.api.placing.global_arrays import make_array_from_callback
from effax.backends.xla.array import Array, asarray
from effax.backends.xla.device import process_index
from effax.backends.xla.placement import bounds
from effax.checkpointing.tensor_files import TensorFile
from effax.effects.dtypes import as_dtype
from effax.effects.errors import CheckpointError
from effax.effects.handler import Carrier
from effax.effects.tree import keystr, tree_flatten_with_path
from effax.effects.types import ShapedArray

Box = tuple[tuple[int, int], ...]


@attrs.frozen
class Leaf:
    """A leaf of a tree: its path, and the shape and the name of the dtype of the whole array."""

    path: str
    shape: tuple[int, ...]
    dtype: str


def leaves_of(tree: Any) -> list[tuple[Leaf, Any]]:
    """Return the leaves of a tree with their values.

    Raises `TypeError` for one that is no array or number.
    """
    found = []
    for path, x in tree_flatten_with_path(tree)[0]:
        name = keystr(path) or "the tree"
        if isinstance(x, Carrier):
            raise TypeError(f"Checkpointer: {name} is traced; save and restore outside of jit")
        if isinstance(x, bool | int | float | complex):
            x = np.asarray(x)
        elif not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise TypeError(
                f"Checkpointer: checkpoints hold arrays and numbers, but {name} is {x!r}"
            )
        found.append((Leaf(name, tuple(x.shape), np.dtype(x.dtype).name), x))
    return found


def own_pieces(leaf: Leaf, x: Any) -> Iterator[tuple[str, tuple[int, ...], np.ndarray[Any, Any]]]:
    """Yield name, start and a copy of each piece that this process writes.

    Of each piece the first copy is written, and what is no array of effax by process 0.
    """
    if not isinstance(x, Array) or x.spec.placement.is_single:
        if isinstance(x, Array) and not x.is_fully_addressable:
            raise ValueError(
                f"Checkpointer: {leaf.path} is on {x.device}, which belongs to another process; "
                "put it on a mesh of the devices of all processes"
            )
        if process_index() == 0:
            yield leaf.path, (0,) * len(leaf.shape), np.array(x)
        return
    for shard in x.addressable_shards:
        if shard.replica_id == 0:
            box = bounds(shard.index, leaf.shape)
            ranges = ", ".join(f"{a}:{b}" for a, b in box)
            # A copy, because the memory may be donated before it is written to the file.
            yield f"{leaf.path}[{ranges}]", tuple(a for a, _ in box), np.array(shard.data)


@attrs.frozen
class Piece:
    """A piece of an array in a file."""

    file: TensorFile
    name: str
    start: tuple[int, ...]
    shape: tuple[int, ...]

    def common(self, box: Box) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
        """Return where a box and the piece meet, in the box and in the piece; or None."""
        within, here = [], []
        for (first, stop), start, length in zip(box, self.start, self.shape, strict=True):
            low, high = max(first, start), min(stop, start + length)
            if low >= high:
                return None
            within.append(slice(low - first, high - first))
            here.append(slice(low - start, high - start))
        return tuple(within), tuple(here)


def part_of(leaf: Leaf, pieces: Sequence[Piece], box: Box) -> np.ndarray[Any, Any]:
    """Return a part of an array from the pieces that meet it.

    Raises `CheckpointError` where they do not fill it.
    """
    missing = math.prod(b - a for a, b in box)
    dtype = as_dtype(leaf.dtype)
    result = np.empty([b - a for a, b in box], dtype)
    for piece in pieces if missing else ():
        met = piece.common(box)
        if met is not None:
            part = piece.file.read(piece.name, piece.shape)[met[1]]
            if part.dtype != dtype:
                raise CheckpointError(
                    f"{piece.name} in {piece.file.path} should have the dtype {dtype}, but has "
                    f"{part.dtype}"
                )
            result[met[0]] = part
            missing -= part.size
    if missing:
        raise CheckpointError(f"{leaf.path}: {missing} elements of {list(box)} are in no file")
    return result


def restored(leaf: Leaf, like: Any, pieces: Sequence[Piece]) -> Any:
    """Return a leaf as `like` has it: in its sharding, as NumPy's array, or as Python's number.

    Raises `CheckpointError` where the shape or the dtype is another.
    """
    name, wanted = leaf.path, like
    if (wanted_shape := tuple(np.shape(wanted))) != leaf.shape:
        raise CheckpointError(
            f"{name} has the shape {leaf.shape} in the checkpoint, but {wanted_shape} was asked for"
        )
    whole = tuple((0, n) for n in leaf.shape)
    if isinstance(wanted, bool | int | float | complex):
        return type(wanted)(part_of(leaf, pieces, whole).item())
    if np.dtype(wanted.dtype).name != leaf.dtype:
        raise CheckpointError(
            f"{name} has the dtype {leaf.dtype} in the checkpoint, but {wanted.dtype} was asked for"
        )
    sharding = getattr(wanted, "sharding", None)
    if isinstance(wanted, np.ndarray | np.generic):
        return part_of(leaf, pieces, whole)[()]
    weak = bool(getattr(wanted, "weak_type", False))
    type_ = ShapedArray(leaf.shape, as_dtype(leaf.dtype), weak)
    uncommitted = isinstance(wanted, Array) and not wanted.committed
    if sharding is None or (uncommitted and sharding.placement().is_single):
        return asarray(part_of(leaf, pieces, whole), type_)

    def read(index: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        return part_of(leaf, pieces, bounds(index, leaf.shape))

    made = make_array_from_callback(leaf.shape, sharding, read, dtype=type_.dtype)
    return asarray(made, type_)
