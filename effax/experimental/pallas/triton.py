"""Names of GPU kernels: masks, atomic updates, hints for the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

import effax.numpy as jnp
from effax.effects.value import Array, ArrayLike
from effax.experimental.pallas.inside import dot as dot
from effax.experimental.pallas.inside import load as _load
from effax.experimental.pallas.inside import store as _store
from effax.experimental.pallas.inside import swap

__all__ = [
    "CompilerParams",
    "approx_tanh",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "debug_barrier",
    "dot",
    "load",
    "max_contiguous",
    "store",
]
__dir__ = __all__.copy


@attrs.frozen
class CompilerParams:
    """Hints for the compiler of GPU kernels.

    Args:
      num_warps: the number of warps, of 32 threads each, that run the kernel at one point.
      num_stages: how many steps of a loop are in flight at once.
    """

    num_warps: int | None = None
    num_stages: int | None = None

    def parallel(self, axes: int) -> tuple[bool, ...]:
        """Return along which axes of a grid points are visited at once: all."""
        return (True,) * axes


def load(
    ref: Any,
    *,
    mask: ArrayLike | None = None,
    other: ArrayLike | None = None,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
) -> Array:
    """Return what a reference, or a part of one, holds; `other` where `mask` is False."""
    return _load(ref, None, mask=mask, other=other)


def store(
    ref: Any, val: ArrayLike, *, mask: ArrayLike | None = None, eviction_policy: str | None = None
) -> None:
    """Write what a reference, or a part of one, holds, where `mask` holds."""
    _store(ref, None, val, mask=mask)


def _atomic(combine: Callable[[Any, Any], Any], name: str) -> Callable[..., Array]:
    def atomic(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
        there = _load(x_ref_or_view, idx, mask=mask)
        return swap(x_ref_or_view, idx, combine(there, val), mask=mask)

    atomic.__name__ = atomic.__qualname__ = f"atomic_{name}"
    atomic.__doc__ = (
        f"Combine a part of what a reference holds with values ({name}), and return what was there."
    )
    return atomic


atomic_xchg = _atomic(lambda there, x: x, "xchg")
atomic_add = _atomic(lambda there, x: there + x, "add")
atomic_max = _atomic(jnp.maximum, "max")
atomic_min = _atomic(jnp.minimum, "min")
atomic_and = _atomic(jnp.bitwise_and, "and")
atomic_or = _atomic(jnp.bitwise_or, "or")
atomic_xor = _atomic(jnp.bitwise_xor, "xor")


def atomic_cas(ref: Any, cmp: ArrayLike, val: ArrayLike) -> Array:
    """Write `val` to a scalar reference that holds `cmp`, and return what was there."""
    there = ref[...]
    _store(ref, None, jnp.where(there == cmp, val, there))
    return there


def debug_barrier() -> None:
    """Wait for all threads of the kernel at this point; the order of effects says so already."""


def approx_tanh(x: ArrayLike) -> Array:
    """Return tanh of `x`, as exactly as the chip's fast instruction has it."""
    return jnp.tanh(x)


def max_contiguous(x: Array, values: Any) -> Array:
    """Return `x`, of which the caller promises that its elements count up: a hint."""
    return x
