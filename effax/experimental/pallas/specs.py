"""Grids, and how arrays are cut into blocks: what a user says of a kernel's arguments."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.effects.rows.kernel import Block
from effax.effects.types import ShapedArray


class MemorySpace(enum.Enum):
    """The memory that holds a block; `MemorySpace.VMEM(shape, dtype)` is a scratch array there.

    `ANY` leaves an array where it is: its block is all of it.
    """

    DEFAULT = ""
    ANY = "any"
    VMEM = "vmem"
    SMEM = "smem"
    HBM = "hbm"
    HOST = "host"

    def __call__(self, shape: Sequence[int], dtype: Any) -> MemoryRef:
        """Return what stands for a scratch array in this memory."""
        return MemoryRef(tuple(shape), np.dtype(dtype), self)

    def __str__(self) -> str:
        return self.value


@attrs.frozen
class MemoryRef:
    """The shape, dtype and memory space of a scratch array."""

    shape: tuple[int, ...]
    dtype: Any
    memory_space: MemorySpace = MemorySpace.DEFAULT

    @property
    def type(self) -> ShapedArray:
        """The type of the array."""
        return ShapedArray(self.shape, self.dtype)


@attrs.frozen
class Blocked:
    """An axis cut into blocks of this length; index maps count blocks. An int means this."""

    block_size: int


@attrs.frozen
class Element:
    """An axis along which blocks of this length begin at any element; index maps count elements.

    Args:
      block_size: the length of a block.
      padding: the number of elements put before and after those of the array.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@attrs.frozen
class Squeezed:
    """An axis of which a block has one element, and which the kernel does not see; as None."""


squeezed: Final = Squeezed()
BlockDim = int | None | Blocked | Element | Squeezed


@attrs.frozen
class Buffered:
    """The number of buffers that a pipeline keeps of a block: a hint."""

    buffer_count: int = 2
    use_lookahead: bool = False


@attrs.frozen
class BlockSpec:
    """The blocks into which an argument or a result of a kernel is cut.

    Args:
      block_shape: for each axis the length of a block, `None` or `squeezed` for an axis of which
        the kernel sees one element, or an `Element`. None is the whole array.
      index_map: a function from the point of the grid (an int32 for each axis of it) to the
        position of the block, for each axis of the array; by default 0 everywhere. It is also given
        references to the scalars of a `PrefetchScalarGridSpec`.
      memory_space: where the block is: `ANY`, or one of `effax.experimental.pallas.tpu`.
      pipeline_mode: a hint for the compiler of a TPU.

    >>> BlockSpec((8, None), lambda i, j: (i, j)).block_shape
    (8, None)
    """

    block_shape: Sequence[BlockDim] | None = None
    index_map: Callable[..., Any] | None = None
    memory_space: Any = attrs.field(default=None, kw_only=True)
    pipeline_mode: Buffered | None = attrs.field(default=None, kw_only=True)

    def replace(self, **parts: Any) -> BlockSpec:
        """Return the specification with some parts replaced."""
        return attrs.evolve(self, **parts)

    def block(self, array: ShapedArray, what: str) -> Block:
        """Return the block of an array of that type.

        Raises `ValueError` where the block has another number of axes; `what` names the array.
        """
        space = _space(self.memory_space)
        if self.block_shape is None:
            return Block.whole(array, space)
        dims = [_dim(x) for x in self.block_shape]
        if len(dims) != len(array.shape):
            raise ValueError(
                f"pallas_call: the block shape {tuple(self.block_shape)} of {what} must have one "
                f"entry for each axis of its shape {array.shape}"
            )
        return Block(
            array,
            tuple(1 if isinstance(d, Squeezed) else d.block_size for d in dims),
            tuple(isinstance(d, Squeezed) for d in dims),
            tuple(isinstance(d, Element) for d in dims),
            tuple(d.padding if isinstance(d, Element) else (0, 0) for d in dims),
            space,
        )


class NoBlockSpec:
    """Stands for specifications that were left out: each array is one block."""

    def __repr__(self) -> str:
        return "no_block_spec"


no_block_spec: Final = NoBlockSpec()


def _dim(x: Any) -> Blocked | Element | Squeezed:
    if x is None:
        return squeezed
    if isinstance(x, Blocked | Element | Squeezed):
        return x
    try:
        return Blocked(operator.index(x))
    except TypeError:
        raise TypeError(
            "BlockSpec: a block dimension must be an int, None, Blocked, Element or Squeezed, got "
            f"{x!r}"
        ) from None


def _space(x: Any) -> str:
    if x is None:
        return ""
    if isinstance(x, MemorySpace):
        return x.value
    raise TypeError(f"BlockSpec: memory_space must be a MemorySpace of pallas, got {x!r}")


class GridSpec:
    """A grid, and how arguments, results and scratch arrays of a kernel lie over it.

    Args:
      grid: the lengths of the grid's axes, or one length. `()` has one point.
      in_specs: a `BlockSpec` for each argument, in a tree like the arguments.
      out_specs: a `BlockSpec` for each result, in a tree like the results.
      scratch_shapes: what a kernel may write between one point and the next: a sequence of
        `tpu.VMEM(shape, dtype)` and the like, or a dict of such, given by keyword.
    """

    num_scalar_prefetch: int = 0

    def __init__(
        self,
        grid: int | Sequence[int] = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Sequence[Any] | Mapping[str, Any] = (),
    ) -> None:
        if in_specs is not no_block_spec and not isinstance(in_specs, list | tuple):
            raise ValueError(f"in_specs must be a tuple or a list, got {in_specs!r}")
        self.grid = lengths_of(grid)
        self.in_specs = in_specs
        self.out_specs = out_specs
        self.scratch_shapes = scratch_shapes


class PrefetchScalarGridSpec(GridSpec):
    """A grid whose index maps look at arguments: the first `num_scalar_prefetch` of the call.

    Kernel and index maps are given references to them, which index maps take last and the kernel
    first. `in_specs` says nothing of them.
    """

    def __init__(
        self,
        num_scalar_prefetch: int,
        grid: int | Sequence[int] = (),
        in_specs: Any = no_block_spec,
        out_specs: Any = no_block_spec,
        scratch_shapes: Sequence[Any] | Mapping[str, Any] = (),
    ) -> None:
        super().__init__(grid, in_specs, out_specs, scratch_shapes)
        self.num_scalar_prefetch = num_scalar_prefetch


def lengths_of(grid: Any) -> tuple[int, ...]:
    """The lengths of a grid's axes; axes may have names, `(("rows", 4), ("columns", 2))`.

    Raises `TypeError` for a length that is known only when the program runs.
    """
    axes = (grid,) if not isinstance(grid, tuple | list) else grid
    lengths = [x[1] if isinstance(x, tuple) else x for x in axes]
    try:
        found = tuple(map(operator.index, lengths))
    except TypeError:
        raise TypeError(
            f"pallas_call: the lengths of a grid must be known when it is traced, got {grid!r}"
        ) from None
    if any(n < 0 for n in found):
        raise ValueError(f"pallas_call: the lengths of a grid must not be negative, got {grid!r}")
    return found


@attrs.frozen
class CostEstimate:
    """The cost of a kernel, a hint for the compiler's schedule."""

    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0
