"""Arguments for reductions."""

import ml_dtypes
import numpy as np

from effax.effects.rows import comparison, elementwise, reduction, selection
from effax.effects.types import ShapedArray
from effax.interpreters.stage import stage

random = np.random.default_rng(2)
X = random.normal(size=(4, 5)).astype(np.float32)
HOLES = X.copy()
HOLES[1, 2] = np.nan
ZEROS = X.copy()
ZEROS[0, 1] = ZEROS[2, 1] = ZEROS[3, 3] = 0
COUNTS = random.integers(-5, 6, (4, 5)).astype(np.int32)
FLAGS = random.random((4, 5)) > 0.5
COMPLEX = (X + 1j * X[::-1]).astype(np.complex64)
NARROW = X.astype(ml_dtypes.bfloat16)
INT32 = np.dtype(np.int32)

SCALAR = ShapedArray((), np.float32)
MULTIPLY = stage(lambda a, b: [elementwise.mul(a, b)], [SCALAR] * 2).program
INDEX = ShapedArray((), np.int32)


def _largest(a, i, b, j):
    better = comparison.gt(a, b)
    return [selection.select_n(better, b, a), selection.select_n(better, j, i)]


LARGEST = stage(_largest, [SCALAR, INDEX] * 2).program
PLACES = np.broadcast_to(np.arange(5, dtype=np.int32), (4, 5))

SAMPLES = [
    *((e, (X,), {"axes": (0,)}) for e in (reduction.reduce_sum, reduction.reduce_prod)),
    *((e, (X,), {"axes": (0, 1)}) for e in (reduction.reduce_max, reduction.reduce_min)),
    *((e, (X[:0],), {"axes": (0,)}) for e in (reduction.reduce_max, reduction.reduce_prod)),
    *((e, (COUNTS,), {"axes": (1,)}) for e in (reduction.reduce_sum, reduction.reduce_min)),
    *((e, (COMPLEX,), {"axes": (1,)}) for e in (reduction.reduce_sum, reduction.reduce_max)),
    *((e, (NARROW,), {"axes": (1,)}) for e in (reduction.reduce_sum, reduction.reduce_max)),
    *((e, (HOLES,), {"axes": (1,)}) for e in (reduction.reduce_min, reduction.reduce_max)),
    (reduction.reduce_sum, (X,), {"axes": ()}),
    (reduction.reduce_prod, (ZEROS,), {"axes": (0,)}),
    (reduction.reduce_prod, (ZEROS,), {"axes": (0, 1)}),
    *(
        (e, (x,), {"axes": (1,)})
        for e in (reduction.reduce_and, reduction.reduce_or, reduction.reduce_xor)
        for x in (COUNTS, FLAGS)
    ),
    *(
        (e, (x,), {"axis": 1, "index_dtype": INT32})
        for e in (reduction.argmax, reduction.argmin)
        for x in (X, HOLES, COUNTS, FLAGS)
    ),
    (reduction.reduce, (X, np.float32(1)), {"body": MULTIPLY, "axes": (0,)}),
    (
        reduction.reduce,
        (X, PLACES, np.float32(-np.inf), np.int32(0)),
        {"body": LARGEST, "axes": (1,)},
    ),
]
