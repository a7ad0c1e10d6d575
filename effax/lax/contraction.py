"""Products of arrays as `lax` has them, and how precise they are to be."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Sequence
from typing import Any

from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.config import read
from effax.effects.dot_algorithms import DotAlgorithm as DotAlgorithm
from effax.effects.dot_algorithms import DotAlgorithmPreset as DotAlgorithmPreset
from effax.effects.rows import contraction, conversion
from effax.effects.types import (
    bit_width,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
    real_dtype,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


class Precision(enum.Enum):
    """The precision of float products on hardware that offers a choice.

    DEFAULT is fastest, HIGHEST the dtype's own precision. Functions also take the names, and a
    pair for the two operands.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __eq__(self, other: object) -> bool:
        """Equal to its name too, which the equations of programs have."""
        return self is other or (isinstance(other, str) and other == self.name)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


PrecisionLike = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)


_NAMES = {
    "default": "DEFAULT",
    "fastest": "DEFAULT",
    "bfloat16": "DEFAULT",
    "high": "HIGH",
    "bfloat16_3x": "HIGH",
    "tensorfloat32": "HIGH",
    "highest": "HIGHEST",
    "float32": "HIGHEST",
}


def canonical_precision(precision: Any) -> Any:
    """The precisions of both operands, or a dot algorithm; None for the default.

    Without one the setting `default_matmul_precision` holds. Raises `ValueError` for an unknown
    name.
    """
    if precision is None:
        precision = read("default_matmul_precision")
        if precision is None:
            return None
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        precision = DotAlgorithmPreset[precision]
    if isinstance(precision, DotAlgorithm | DotAlgorithmPreset):
        return None if precision is DotAlgorithmPreset.DEFAULT else precision
    if isinstance(precision, (tuple, list)):
        if len(precision) != 2:
            raise ValueError(
                f"precision must be one precision or a pair of them, got {precision!r}"
            )
        both = tuple(map(_member, precision))
    else:
        both = (_member(precision),) * 2
    return both


def _member(precision: Any) -> Precision:
    if precision is None:
        return Precision.DEFAULT
    if isinstance(precision, Precision):
        return precision
    name = _NAMES.get(str(precision).lower())
    if name is None:
        raise ValueError(
            f"unknown precision {precision!r}: expected a Precision, or one of "
            f"{', '.join(map(repr, _NAMES))}; a pair of them; or a DotAlgorithm, a "
            "DotAlgorithmPreset or its name"
        )
    return Precision[name]


def preferred(dtype: Any, name: str) -> Any:
    """The dtype of `preferred_element_type`, canonical; None for none."""
    return None if dtype is None else user_dtype(dtype, name)


def _axes(axes: Any) -> tuple[int, ...]:
    return tuple(operator.index(a) for a in axes)


# The product of two dtypes has the one that comes later here. This is XLA's order, by range first,
# then by width, signed integers after unsigned ones; it is not the promotion of effax.numpy.
_FACTORS = (  # noqa: SIM905
    "bool uint2 int2 uint4 int4 uint8 int8 uint16 int16 uint32 int32 uint64 int64 "
    "float8_e4m3b11fnuz float8_e4m3fnuz float8_e4m3fn float8_e5m2 float8_e5m2fnuz "
    "float16 bfloat16 float32 float64 complex64 complex128"
).split()


def common_factor(
    lhs: ArrayLike, rhs: ArrayLike, preferred: Any
) -> tuple[ArrayLike, ArrayLike, Any]:
    """Operands of a product in one dtype, and the dtype to sum in.

    Operands of two dtypes are converted to the preferred one, else to the wider of theirs. Narrow
    floats of two kinds stay as they are: it is their sum that has the wider dtype.
    """
    left, right = typeof(lhs).dtype, typeof(rhs).dtype
    if left == right:
        return lhs, rhs, preferred
    known = left.name in _FACTORS and right.name in _FACTORS
    if not known or {left.name, right.name} == {"float8_e5m2", "float8_e5m2fnuz"}:
        return lhs, rhs, preferred
    wide = max(left, right, key=lambda d: _FACTORS.index(d.name))
    if left.name.startswith("float8") and right.name.startswith("float8"):
        return lhs, rhs, wide if preferred is None else preferred
    if preferred is not None:  # the wider one may be too coarse: float8_e5m2 has no 9
        sums_in(wide, preferred)
        wide = preferred
    lhs = lhs if left == wide else conversion.convert_element_type(lhs, dtype=wide)
    rhs = rhs if right == wide else conversion.convert_element_type(rhs, dtype=wide)
    return lhs, rhs, preferred


def sums_in(dtype: Any, preferred: Any) -> bool:
    """Whether sums of products of a dtype can be taken in another, or must be converted to it.

    Raises `TypeError` for what is narrower than integers or than the parts of complex numbers.
    """
    if preferred is None:
        return True
    narrower = bit_width(real_dtype(preferred)) < bit_width(real_dtype(dtype))
    narrower |= is_bool(preferred) and is_integer(dtype)
    if narrower and (is_integer(dtype) or is_complex(dtype)):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"{preferred.name} for the result type {dtype.name}"
        )
    if not is_inexact(dtype):
        return True
    return is_inexact(preferred) and is_complex(preferred) >= is_complex(dtype)


@whole("dimension_numbers", "precision", "preferred_element_type")
def _dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
) -> Array:
    return products(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def products(
    lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: Any, precision: Any, preferred: Any
) -> Array:
    """Sums of products of two arrays of any dtypes, in the preferred one or converted to it."""

    def product(lhs: ArrayLike, rhs: ArrayLike, wanted: Any) -> Any:
        return contraction.dot_general(
            lhs,
            rhs,
            dimension_numbers=dimension_numbers,
            precision=precision,
            preferred_element_type=wanted,
        )

    return in_one_dtype(product, lhs, rhs, preferred)


def in_one_dtype(
    product: Callable[[ArrayLike, ArrayLike, Any], Any],
    lhs: ArrayLike,
    rhs: ArrayLike,
    preferred: Any,
) -> Array:
    """`product(lhs, rhs, preferred)` of operands of any dtypes, converted where it must be."""
    lhs, rhs, wanted = common_factor(lhs, rhs, preferred)
    direct = sums_in(typeof(lhs).dtype, wanted)
    if not direct:
        lhs, rhs, wanted = common_factor(lhs, rhs, None)
    result: Array = product(lhs, rhs, wanted)
    return result if direct else conversion.convert_element_type(result, dtype=preferred)


@placed
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Sum products over paired axes.

    Args:
      lhs, rhs: arrays; of two dtypes the wider is taken, floats before integers.
      dimension_numbers: `((lhs contracted, rhs contracted), (lhs batch, rhs batch))`.
      precision: a `Precision` or its name, or a pair of them; or a dot algorithm.
      preferred_element_type: the dtype to sum in, and of the result.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    Returns:
      The batch axes, then the free axes of lhs, then those of rhs.

    Raises:
      TypeError: where lengths of paired axes differ, or integers are to be summed in narrower ones.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dot_general(jnp.eye(2), jnp.arange(2.0), (((1,), (0,)), ((), ())))
    Array([0., 1.], dtype=float32)
    """
    (lc, rc), (lb, rb) = dimension_numbers
    numbers = (_axes(lc), _axes(rc)), (_axes(lb), _axes(rb))
    return _dot_general(
        lhs,
        rhs,
        numbers,
        canonical_precision(precision),
        preferred(preferred_element_type, "dot_general"),
    )


@placed
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Multiply vectors and matrices: the last axis of lhs with the first of rhs.

    Raises `ValueError` for arrays of other ranks than 1 and 2 (see `dot_general`), or where paired
    axes have different lengths.

    Args:
      lhs, rhs: vectors or matrices; of two dtypes the wider is taken, floats before integers.
      dimension_numbers: as for `dot_general`, which then allows any ranks.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.dot(jnp.arange(3.0), jnp.ones(3))
    Array(3., dtype=float32)
    """
    left, right = typeof(lhs), typeof(rhs)
    if dimension_numbers is None:
        plain = 1 <= left.ndim <= 2 and 1 <= right.ndim <= 2
        if not plain or left.shape[-1] != right.shape[0]:
            raise ValueError(
                "dot: expected vectors or matrices whose contracted axes have the same length, "
                f"got {left.str_short()} and {right.str_short()}"
                + ("" if plain else "; dot_general and jnp.matmul take more axes")
            )
        dimension_numbers = (((left.ndim - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Multiply matrices for all of the leading axes, which must agree.

    Args:
      lhs: array_like, (..., m, k).
      rhs: array_like, (..., k, n).
      precision: as for `lax.dot_general`.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.batch_matmul(jnp.ones((4, 2, 3)), jnp.ones((4, 3, 5))).shape
    (4, 2, 5)
    """
    left, right = typeof(lhs), typeof(rhs)
    if left.ndim < 2 or left.ndim != right.ndim:
        raise ValueError(
            f"batch_matmul: expected arrays of the same rank, at least 2, got {left.str_short()} "
            f"and {right.str_short()}"
        )
    n = left.ndim
    batch = tuple(range(n - 2))
    return dot_general(lhs, rhs, (((n - 1,), (n - 2,)), (batch, batch)), precision)
