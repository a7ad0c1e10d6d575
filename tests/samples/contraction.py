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


def _ragged(lhs, rhs, sizes, contract, batch=((), ()), ragged=0, group=(0,), **how):
    attributes = {
        "dimension_numbers": (contract, batch),
        "ragged": ragged,
        "group": group,
        "precision": how.get("precision"),
        "preferred_element_type": None,
    }
    operands = (lhs, rhs, np.array(sizes, np.int32))
    return Sample(contraction.ragged_dot_general, operands, attributes, (0, 1))


SAMPLES += [
    _ragged(floats(6, 2), floats(3, 2, 4), [2, 0, 3], ((1,), (1,))),
    _ragged(floats(6, 2), floats(4, 3, 2), [1, 2, 3], ((1,), (2,)), group=(1,)),
    _ragged(floats(6, 2), floats(6, 3), [4, 0, 1], ((0,), (0,)), group=()),
    _ragged(floats(2, 6, 2), floats(3, 2, 4), [2, 1, 2], ((2,), (1,)), ragged=1),
    _ragged(
        *(floats(2, 6, 4, 5), floats(3, 4, 5, 3)),
        np.reshape([1, 2, 3, 0, 5, 0, 2, 2, 2] * 3, (9, 3))[:8].reshape(4, 2, 3),
        *(((3,), (2,)), ((2,), (1,)), 1),
    ),
    _ragged(floats(2, 3, 5), floats(2, 5, 4), [[1, 4], [3, 1]], ((2,), (1,)), ((0,), (0,)), 2, ()),
    _ragged(floats(4, 3, 5), floats(5, 2, 4), [2, 1], ((2, 0), (0, 2)), ragged=0, group=()),
    _ragged(
        floats(4, 3, 5),
        floats(4, 2, 5),
        [[1, 2], [2, 2], [0, 1], [4, 0], [2, 1]],
        ((2, 0), (2, 0)),
        ragged=0,
        group=(),
        precision=("HIGHEST", "HIGH"),
    ),
]

NARROW = [
    _dot(floats(2, 3, dtype=d), floats(3, 2, dtype=d), ((1,), (0,)), preferred=p, moving=())
    for d in (np.float16, ml_dtypes.bfloat16)
    for p in (None, "float32")
]
