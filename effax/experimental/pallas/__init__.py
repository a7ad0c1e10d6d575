"""Kernels: programs written for one block of their arguments, and run over a grid of blocks.

The names are those of JAX's Pallas. A kernel is an effect, so every transformation goes through it.
"""

from typing import Any as _Any

from effax.experimental.pallas.calling import pallas_call as pallas_call
from effax.experimental.pallas.inside import align_to as align_to
from effax.experimental.pallas.inside import cdiv as cdiv
from effax.experimental.pallas.inside import debug_print as debug_print
from effax.experimental.pallas.inside import dot as dot
from effax.experimental.pallas.inside import empty as empty
from effax.experimental.pallas.inside import empty_like as empty_like
from effax.experimental.pallas.inside import load as load
from effax.experimental.pallas.inside import loop as loop
from effax.experimental.pallas.inside import multiple_of as multiple_of
from effax.experimental.pallas.inside import next_power_of_2 as next_power_of_2
from effax.experimental.pallas.inside import reciprocal as reciprocal
from effax.experimental.pallas.inside import run_scoped as run_scoped
from effax.experimental.pallas.inside import run_state as run_state
from effax.experimental.pallas.inside import store as store
from effax.experimental.pallas.inside import strides_from_shape as strides_from_shape
from effax.experimental.pallas.inside import swap as swap
from effax.experimental.pallas.inside import when as when
from effax.experimental.pallas.inside import with_scoped as with_scoped
from effax.experimental.pallas.points import num_programs as num_programs
from effax.experimental.pallas.points import program_id as program_id
from effax.experimental.pallas.specs import BlockDim as BlockDim
from effax.experimental.pallas.specs import Blocked as Blocked
from effax.experimental.pallas.specs import BlockSpec as BlockSpec
from effax.experimental.pallas.specs import Buffered as Buffered
from effax.experimental.pallas.specs import CostEstimate as CostEstimate
from effax.experimental.pallas.specs import Element as Element
from effax.experimental.pallas.specs import GridSpec as GridSpec
from effax.experimental.pallas.specs import MemoryRef as MemoryRef
from effax.experimental.pallas.specs import MemorySpace as MemorySpace
from effax.experimental.pallas.specs import Squeezed as Squeezed
from effax.experimental.pallas.specs import no_block_spec as no_block_spec
from effax.experimental.pallas.specs import squeezed as squeezed
from effax.numpy import broadcast_to as broadcast_to
from effax.numpy.slices import Slice as Slice
from effax.numpy.slices import ds as ds

dslice = ds
ANY = MemorySpace.ANY
HOST = MemorySpace.HOST

__all__ = [
    "ANY",
    "HOST",
    "BlockDim",
    "BlockSpec",
    "Blocked",
    "Buffered",
    "CostEstimate",
    "Element",
    "GridSpec",
    "MemoryRef",
    "MemorySpace",
    "Slice",
    "Squeezed",
    "align_to",
    "broadcast_to",
    "cdiv",
    "debug_print",
    "dot",
    "ds",
    "dslice",
    "empty",
    "empty_like",
    "layers",
    "load",
    "loop",
    "multiple_of",
    "next_power_of_2",
    "no_block_spec",
    "num_programs",
    "pallas_call",
    "program_id",
    "reciprocal",
    "run_scoped",
    "run_state",
    "squeezed",
    "store",
    "strides_from_shape",
    "swap",
    "tpu",
    "triton",
    "when",
    "with_scoped",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> _Any:
    import importlib

    if name in ("layers", "tpu", "triton"):
        return importlib.import_module(f"effax.experimental.pallas.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
