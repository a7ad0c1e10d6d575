"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from effax.effects import complex as complex_parts
from effax.effects import shape
from effax.effects.types import is_complex, typeof
from effax.lax.convolution import conv_general_dilated
from effax.numpy.arguments import check_arrays, shape_of
from effax.numpy.operands import promote_dtypes_inexact
from effax.whole import whole


def _slide(name: str, x: Any, y: Any, mode: str, flip: bool, precision: Any, preferred: Any) -> Any:
    """The inner products of a vector with every place of a shorter one along it."""
    check_arrays(name, x, y)
    if len(shape_of(x)) != 1 or len(shape_of(y)) != 1:
        raise ValueError(f"{name}() only support 1-dimensional inputs.")
    n, m = shape_of(x)[0], shape_of(y)[0]
    if n == 0 or m == 0:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {(n,)} and {(m,)}.")
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    x, y = promote_dtypes_inexact(x, y)
    if name == "correlate" and is_complex(typeof(y).dtype):
        y = complex_parts.conj(y)
    turned = False
    if n < m:
        # The longer one is slid over: a correlation then comes out reversed.
        x, y, n, m = y, x, m, n
        turned = not flip
    if flip:
        y = shape.rev(y, dims=(0,))
    border = {"valid": (0, 0), "same": (m // 2, m - m // 2 - 1), "full": (m - 1, m - 1)}[mode]
    result = conv_general_dilated(
        shape.expand_dims(x, (0, 1)),
        shape.expand_dims(y, (0, 1)),
        (1,),
        [border],
        precision=precision,
        preferred_element_type=preferred,
    )
    result = shape.squeeze(result, (0, 1))
    return shape.rev(result, dims=(0,)) if turned else result


@whole("mode", "precision", "preferred_element_type")
def convolve(
    a: Any,
    v: Any,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The convolution of two vectors: "full", as long as the longer ("same"), or "valid".

    >>> import numpy as np
    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0])).tolist()
    [1.0, 3.0, 2.0]
    """
    return _slide("convolve", a, v, mode, True, precision, preferred_element_type)


@whole("mode", "precision", "preferred_element_type")
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """The correlation of two vectors, the second conjugated: "full", "same" or "valid".

    >>> import numpy as np
    >>> correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])).tolist()
    [2.0, 3.0]
    """
    return _slide("correlate", a, v, mode, False, precision, preferred_element_type)
