"""Good arguments for every effect of the contraction family."""

import ml_dtypes
import numpy as np

from effax.effects.rows import contraction
from tests.effects.cells import Sample

_random = np.random.default_rng(1)


def floats(*shape: int, dtype=np.float32) -> np.ndarray:
    return _random.normal(size=shape).astype(dtype)


def _dot(lhs, rhs, contract, batch=((), ()), precision=None, preferred=None, moving=(0, 1)):
    attributes = {
        "dimension_numbers": (contract, batch),
        "precision": precision,
        "preferred_element_type": preferred,
    }
    return Sample(contraction.dot_general, (lhs, rhs), attributes, moving)


_COMPLEX = floats(2, 3) + 1j * floats(2, 3)

SAMPLES = [
    _dot(floats(3), floats(3), ((0,), (0,))),
    _dot(floats(2, 3), floats(3, 4), ((1,), (0,))),
    _dot(floats(2), floats(3), ((), ())),
    _dot(floats(), floats(2), ((), ())),
    _dot(floats(5, 2, 3), floats(5, 3, 4), ((2,), (1,)), ((0,), (0,))),
    _dot(floats(2, 3, 4, 5), floats(5, 2, 4, 6), ((2, 3), (2, 0)), ((0,), (1,))),
    _dot(floats(2, 3, 4, 5), floats(4, 6, 3, 5), ((3, 1), (3, 2)), ((2,), (0,))),
    _dot(floats(0, 3), floats(3, 2), ((1,), (0,))),
    _dot(floats(2, 0), floats(0, 2), ((1,), (0,))),
    _dot(floats(2, 3), floats(3, 4), ((1,), (0,)), precision=("HIGHEST", "HIGH")),
    _dot(_COMPLEX.astype(np.complex64), floats(3, 2).astype(np.complex64), ((1,), (0,)), moving=()),
    _dot(
        np.arange(6, dtype=np.int8).reshape(2, 3),
        np.arange(6, dtype=np.int8).reshape(3, 2) * 20,
        ((1,), (0,)),
        preferred="int32",
        moving=(),
    ),
]

NARROW = [
    _dot(floats(2, 3, dtype=d), floats(3, 2, dtype=d), ((1,), (0,)), preferred=p, moving=())
    for d in (np.float16, ml_dtypes.bfloat16)
    for p in (None, "float32")
]
