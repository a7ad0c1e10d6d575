"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from effax.eager.whole import whole
from effax.effects.rows import shape
from effax.effects.rows.convolution import ConvDimensionNumbers, conv_general_dilated
from effax.effects.types import typeof
from effax.effects.value import Array, ArrayLike, DTypeLike, PrecisionLike
from effax.lax.contraction import canonical_precision, preferred
from effax.numpy.contraction import conjugated
from effax.operands.arguments import check_arrays
from effax.operands.promoting import promote_dtypes, promote_dtypes_inexact


def _sliding(
    a: ArrayLike, v: ArrayLike, name: str, mode: str, precision: Any, preferred_element_type: Any
) -> Array:
    """Products of the shorter vector with each place of the longer."""
    for x in (a, v):
        if typeof(x).ndim != 1:
            raise ValueError(f"{name}() only support 1-dimensional inputs.")
        if typeof(x).size == 0:
            raise ValueError(
                f"{name}: inputs cannot be empty, got shapes {typeof(a).shape} and "
                f"{typeof(v).shape}."
            )
    wanted = preferred(preferred_element_type, name)
    a, v = promote_dtypes_inexact(a, v) if wanted is None else promote_dtypes(a, v)
    convolving = name == "convolve"
    if not convolving:
        v = conjugated(v)
    swapped = typeof(a).size < typeof(v).size
    if swapped:
        a, v = v, a
    if convolving:
        v = shape.rev(v, dims=(0,))
    n = typeof(v).size
    pads = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    if mode not in pads:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    out = conv_general_dilated(
        shape.expand_dims(a, (0, 1)),
        shape.expand_dims(v, (0, 1)),
        window_strides=(1,),
        padding=(pads[mode],),
        lhs_dilation=(1,),
        rhs_dilation=(1,),
        dimension_numbers=ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2)),
        feature_group_count=1,
        batch_group_count=1,
        precision=canonical_precision(precision),
        preferred_element_type=wanted,
    )
    out = shape.reshape(out, shape=(typeof(out).size,))
    return shape.rev(out, dims=(0,)) if swapped and not convolving else out


@whole("mode", "precision", "preferred_element_type")
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the convolution of two vectors; integers are computed as floats.

    Args:
      a, v: vectors.
      mode: 'full', 'same' (as long as the longer), or 'valid' (where they overlap wholly).
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.

    Raises:
      ValueError: for other ranks, empty vectors and unknown modes.

    >>> import effax.numpy as jnp
    >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    check_arrays("convolve", a, v)
    return _sliding(a, v, "convolve", mode, precision, preferred_element_type)


@whole("mode", "precision", "preferred_element_type")
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the correlation of two vectors, the second conjugated; integers become floats.

    Args:
      a, v: vectors.
      mode: 'full', 'same' (as long as the longer), or 'valid' (where they overlap wholly).
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.

    Raises:
      ValueError: for other ranks, empty vectors and unknown modes.

    >>> import effax.numpy as jnp
    >>> jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]))
    Array([2., 3.], dtype=float32)
    """
    check_arrays("correlate", a, v)
    return _sliding(a, v, "correlate", mode, precision, preferred_element_type)
