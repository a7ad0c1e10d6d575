"""Names of TPU kernels: memory spaces, prefetched scalars, hints for the compiler."""

from __future__ import annotations

import enum
from typing import Any, Final

import attrs

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.experimental.pallas.inside import load as load
from effax.experimental.pallas.inside import store as _store
from effax.experimental.pallas.specs import MemorySpace as MemorySpace
from effax.experimental.pallas.specs import PrefetchScalarGridSpec as PrefetchScalarGridSpec

__all__ = [
    "ANY",
    "ARBITRARY",
    "HBM",
    "PARALLEL",
    "SMEM",
    "VMEM",
    "CompilerParams",
    "GridDimensionSemantics",
    "InterpretParams",
    "MemorySpace",
    "PrefetchScalarGridSpec",
    "load",
    "roll",
    "store",
]
__dir__ = __all__.copy

ANY: Final = MemorySpace.ANY
VMEM: Final = MemorySpace.VMEM
SMEM: Final = MemorySpace.SMEM
HBM: Final = MemorySpace.HBM


class GridDimensionSemantics(enum.Enum):
    """Whether the points along an axis of a grid may be visited in any order."""

    PARALLEL = "parallel"
    ARBITRARY = "arbitrary"


PARALLEL: Final = GridDimensionSemantics.PARALLEL
ARBITRARY: Final = GridDimensionSemantics.ARBITRARY


def _semantics(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(GridDimensionSemantics(getattr(x, "value", x)).value for x in given)


@attrs.frozen(kw_only=True)
class CompilerParams:
    """Hints for the compiler of TPU kernels.

    Args:
      dimension_semantics: for each axis of the grid, "parallel" where its points may be visited in
        any order, "arbitrary" otherwise.
      vmem_limit_bytes: how much VMEM the kernel may take.
      has_side_effects: whether the call stays where nothing uses its results.
    """

    dimension_semantics: tuple[str, ...] | None = attrs.field(default=None, converter=_semantics)
    vmem_limit_bytes: int | None = None
    has_side_effects: bool = False

    def parallel(self, axes: int) -> tuple[bool, ...]:
        """Return along which axes of a grid points may be visited in any order."""
        return tuple(x == "parallel" for x in self.dimension_semantics or ("arbitrary",) * axes)


@attrs.frozen
class InterpretParams:
    """A form of `interpret=True`; its fields are accepted for JAX's sake."""

    dma_execution_mode: str = "on_wait"
    detect_races: bool = False
    uninitialized_memory: str = "nan"


def store(ref: Any, val: ArrayLike, *, mask: ArrayLike | None = None) -> None:
    """Write what a reference, or a part of one, holds, where `mask` holds."""
    _store(ref, None, val, mask=mask)


def roll(x: ArrayLike, shift: ArrayLike, axis: int) -> Array:
    """Return the array with its elements moved along an axis, those from the end to the front."""
    return jnp.roll(x, shift, axis)
