"""Dot algorithms: how products of matrices are computed, down to the operations of hardware."""

from __future__ import annotations

import enum
from typing import Any

import attrs
import numpy as np

from effax.effects.dtypes import bfloat16, float16, float32, float64


def _dtype(x: Any) -> Any:
    # A wrapper, because attrs would look for the signature of `np.dtype`, which takes 2 ms.
    return np.dtype(x)


@attrs.frozen(slots=True)
class DotAlgorithm:
    """The algorithm of a product of matrices.

    Operands are rounded to the precision types, in so many components where one does not hold
    them; so many products of these are summed in the accumulation type, or less precisely where
    that is allowed.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> exact = DotAlgorithm("float32", "float32", "float32")
    >>> lax.dot(jnp.ones(3), jnp.ones(3), precision=exact)
    Array(3., dtype=float32)
    """

    lhs_precision_type: Any = attrs.field(converter=_dtype)
    rhs_precision_type: Any = attrs.field(converter=_dtype)
    accumulation_type: Any = attrs.field(converter=_dtype)
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False

    def swapped(self) -> DotAlgorithm:
        """The same for operands that change places."""
        return attrs.evolve(
            self,
            lhs_precision_type=self.rhs_precision_type,
            rhs_precision_type=self.lhs_precision_type,
            lhs_component_count=self.rhs_component_count,
            rhs_component_count=self.lhs_component_count,
        )


class DotAlgorithmPreset(enum.Enum):
    """Dot algorithms that some hardware has, by the types of operands and accumulation.

    `BF16_BF16_F32_X3` takes three products of bfloat16 for one of float32. The CPU has
    F16_F16_F16, F32_F32_F32, F64_F64_F64, and BF16_BF16_F32 plain, X3 and X6; DEFAULT is anyone's
    choice.
    """

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15

    @property
    def accumulation_type(self) -> Any:
        """The dtype in which products are summed; None where that is not fixed."""
        parts = self.name.split("_")
        return _DTYPES.get(parts[4 if parts[0] == "ANY" else 2]) if len(parts) > 2 else None

    @property
    def storage_types(self) -> tuple[Any, ...] | None:
        """The dtypes of operands that it takes as they are; None for those that a call has."""
        first = self.name.split("_")[0]
        if first in ("DEFAULT", "ANY"):
            return None
        if first == "BF16" and self.products > 1:
            return (float32,)
        return _STORAGE[first]

    supported_lhs_types = supported_rhs_types = storage_types

    @property
    def products(self) -> int:
        """The number of hardware products that make up one product."""
        _, _, count = self.name.rpartition("_X")
        return int(count) if count.isdecimal() else 1

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


_DTYPES = {"F16": float16, "BF16": bfloat16, "F32": float32, "F64": float64}
_STORAGE = {
    "F16": (float16,),
    "BF16": (bfloat16, float32),
    "TF32": (float32,),
    "F32": (float32,),
    "F64": (float64,),
}
