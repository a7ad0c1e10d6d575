"""Arguments for sorting."""

import numpy as np

from effax.effects.rows import sorting

random = np.random.default_rng(4)
X = (random.permutation(36).reshape(4, 9) / 10 - 1.8).astype(np.float32)  # no near ties
KEYS = random.integers(0, 3, (4, 9)).astype(np.int32)
SPECIAL = np.array([3, np.nan, -0.0, 0.0, np.inf, -np.inf, 1, -0.0, np.nan], np.float32)
COMPLEX = (KEYS + 1j * X).astype(np.complex64)


def by(dimension, keys=1):
    return {"dimension": dimension, "is_stable": True, "num_keys": keys}


SAMPLES = [
    (sorting.sort, (X,), by(1)),
    (sorting.sort, (X,), by(0)),
    (sorting.sort, (KEYS, X), by(1)),
    (sorting.sort, (KEYS, X, X + 1), by(1, 2)),
    (sorting.sort, (COMPLEX,), by(1)),
    (sorting.sort, (X[:, :0],), by(1)),
    (sorting.top_k, (X,), {"k": 3, "axis": 1}),
    (sorting.top_k, (X,), {"k": 2, "axis": 0}),
    (sorting.top_k, (KEYS,), {"k": 4, "axis": 1}),
]
