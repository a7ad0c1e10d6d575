"""The records of a roofline: a result, the shape of an operand, and the context of a rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from effax.effects.effect import Effect
from effax.effects.mesh import MeshShape
from effax.effects.types import ShapedArray

# Dataclasses, not classes of attrs as elsewhere: programs written for JAX use `dataclasses.replace`
# and `dataclasses.fields` on them.


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """The operations, bytes and hops of a program on one device.

    `result + other` is the cost of one after the other: everything adds up, except the peak, of
    which the larger remains. `result * n` multiplies everything, the peak too.

    Args:
      flops: operations of matrix products, which no fusion removes.
      unfused_flops: operations of everything.
      ici_bytes: for each mesh axis, the bytes that cross its busiest link.
      ici_latency: for each mesh axis, the hops from device to device, one after the other.
      hbm_bytes: bytes that matrix products read and write, if all else is fused into them.
      peak_hbm_bytes: the most bytes of arrays alive at once.
      unfused_hbm_bytes: bytes read and written if nothing is fused.

    >>> from effax.experimental.roofline import RooflineResult
    >>> both = RooflineResult(flops=2, peak_hbm_bytes=8) + RooflineResult(flops=3, peak_hbm_bytes=4)
    >>> both.flops, both.peak_hbm_bytes, (2 * both).flops
    (5, 8, 10)
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = field(default_factory=dict)
    ici_latency: dict[str, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """Return the result of a program that does nothing.

        >>> from effax.experimental.roofline import RooflineResult
        >>> RooflineResult.zeros().flops
        0
        """
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        return RooflineResult(
            flops=self.flops + other.flops,
            unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=_merged(self.ici_bytes, other.ici_bytes),
            ici_latency=_merged(self.ici_latency, other.ici_latency),
            hbm_bytes=self.hbm_bytes + other.hbm_bytes,
            peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes,
        )

    def __mul__(self, constant: float) -> RooflineResult:
        return RooflineResult(
            flops=int(self.flops * constant),
            unfused_flops=int(self.unfused_flops * constant),
            ici_bytes={name: int(n * constant) for name, n in self.ici_bytes.items()},
            ici_latency={name: int(n * constant) for name, n in self.ici_latency.items()},
            hbm_bytes=int(self.hbm_bytes * constant),
            peak_hbm_bytes=int(self.peak_hbm_bytes * constant),
            unfused_hbm_bytes=int(self.unfused_hbm_bytes * constant),
        )

    __rmul__ = __mul__


def _merged(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """The shape and dtype of an operand, as a rule gets them.

    Args:
      shape: the lengths of the axes.
      dtype: the dtype, of numbers or of random keys.

    >>> from effax.experimental.roofline import RooflineShape
    >>> import effax, effax.numpy
    >>> x = RooflineShape.from_aval(effax.typeof(effax.numpy.ones((2, 3))))
    >>> x.size, x.bytes
    (6, 24)
    """

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """Return the shape of a type.

        Args:
          aval: the type of an array.

        Raises:
          TypeError: for another type, such as that of a reference.

        >>> import effax
        >>> from effax.experimental.roofline import RooflineShape
        >>> RooflineShape.from_aval(effax.core.ShapedArray((2,), "int8")).bytes
        2
        """
        if not isinstance(aval, ShapedArray):
            raise TypeError(f"RooflineShape.from_aval: expected a ShapedArray, got {type(aval)}")
        return cls(shape=aval.shape, dtype=aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The number of bytes."""
        return int(self.size * self.dtype.itemsize)

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """Return the bytes of arrays of these types together.

        Args:
          avals: types of arrays.

        >>> import effax
        >>> from effax.experimental.roofline import RooflineShape
        >>> RooflineShape.total_bytes([effax.core.ShapedArray((2,), "int8")] * 3)
        6
        """
        return sum(cls.from_aval(aval).bytes for aval in avals)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """An effect in its program, as a rule gets it.

    Args:
      name_stack: the names of the function and of the scopes around the effect, by slashes.
      primitive: the effect.
      avals_in: the types of its operands.
      avals_out: the types of its results.
      jaxpr_eqn_ctx: the metadata that it was staged with.
      mesh: the mesh that names the axes of collectives, or None.
      pin_lhs_in_vmem: whether left operands and results of matrix products stay on the chip.
      pin_rhs_in_vmem: whether right operands of matrix products stay on the chip.

    >>> import effax
    >>> from effax.experimental import roofline
    >>> tick = effax.extend.core.Primitive("doctest_roofline_context")
    >>> shape = tick.def_abstract_eval(lambda x: x)
    >>> @roofline.register_roofline(tick)
    ... def price(ctx: roofline.RooflineRuleContext, x: roofline.RooflineShape, **params):
    ...     return roofline.RooflineResult(unfused_flops=ctx.avals_out[0].size)
    >>> roofline.roofline(tick.bind)(effax.numpy.ones(3))[1].unfused_flops
    3
    """

    name_stack: str
    primitive: Effect
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    jaxpr_eqn_ctx: Any
    mesh: MeshShape | None
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool
