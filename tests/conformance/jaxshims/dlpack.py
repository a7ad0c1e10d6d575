"""jax._src.dlpack."""

from __future__ import annotations

import numpy as np

from jaxshims import _numerics as num

SUPPORTED_DTYPES_SET = frozenset(
    num.INTS
    + [np.dtype(bool), num.bfloat16]
    + [np.dtype(t) for t in (np.float16, np.float32, np.float64, np.complex64, np.complex128)]
)
