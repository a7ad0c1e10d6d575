"""Arguments for the shape family."""

import numpy as np

from effax.effects.rows import shape

random = np.random.default_rng(1)
X = random.normal(size=(4, 5)).astype(np.float32)
COUNTS = np.arange(12, dtype=np.int32).reshape(3, 4)
ONE = np.float32(1.5)

SAMPLES = [
    (shape.broadcast_in_dim, (X,), {"shape": (4, 3, 5), "dims": (0, 2)}),
    (shape.broadcast_in_dim, (X[:1],), {"shape": (2, 3, 5), "dims": (1, 2)}),
    (shape.broadcast_in_dim, (ONE,), {"shape": (2, 3), "dims": ()}),
    (shape.transpose, (X,), {"permutation": (1, 0)}),
    (shape.transpose, (COUNTS,), {"permutation": (1, 0)}),
    (shape.reshape, (X,), {"shape": (2, 10)}),
    (shape.reshape, (ONE,), {"shape": (1, 1)}),
    (shape.concatenate, (X, X[:, :2], X * 2), {"axis": 1}),
    (shape.concatenate, (X,), {"axis": 0}),
    (shape.pad, (X, ONE), {"config": ((1, 2, 1), (-1, 3, 2))}),
    (shape.pad, (X, ONE), {"config": ((-3, -1, 1), (0, 0, 0))}),
    (shape.pad, (X[:0], ONE), {"config": ((1, 1, 0), (0, 0, 0))}),
    (shape.rev, (X,), {"dims": (1,)}),
    (shape.rev, (COUNTS,), {"dims": (0, 1)}),
    (shape.slice, (X,), {"start": (1, 0), "limit": (4, 5), "strides": (1, 2)}),
    (shape.slice, (X,), {"start": (1, 2), "limit": (3, 2)}),
    (shape.slice, (X,), {"start": (0, 1), "limit": (4, 4), "strides": (3, 2)}),
    (shape.iota, (), {"dtype": np.dtype(np.int32), "shape": (3, 4), "dimension": 1}),
    (shape.dimension_as_value, (), {"length": 7, "dtype": np.dtype(np.int32), "weak_type": False}),
    (shape.iota, (), {"dtype": np.dtype(np.complex64), "shape": (3,), "dimension": 0}),
]
