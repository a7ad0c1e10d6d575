"""Arguments for cumulative effects."""

import numpy as np

from effax.effects.rows import cumulative

random = np.random.default_rng(3)
X = random.normal(size=(4, 7)).astype(np.float32)
ZEROS = X.copy()
ZEROS[0, 1] = ZEROS[2, 1] = ZEROS[3, 3] = 0
LOW = X.copy()
LOW[0, :3] = -np.inf
COUNTS = random.integers(-5, 6, (4, 5)).astype(np.int32)
EFFECTS = (
    cumulative.cumsum,
    cumulative.cumprod,
    cumulative.cummax,
    cumulative.cummin,
    cumulative.cumlogsumexp,
)

SAMPLES = [
    *((e, (X,), {"axis": 1, "reverse": r}) for e in EFFECTS for r in (False, True)),
    *((e, (X,), {"axis": 0, "reverse": False}) for e in EFFECTS),
    *((e, (X[:, :0],), {"axis": 1, "reverse": False}) for e in EFFECTS),
    *((e, (COUNTS,), {"axis": 1, "reverse": True}) for e in EFFECTS[:4]),
    (cumulative.cumprod, (ZEROS,), {"axis": 1, "reverse": False}),
    (cumulative.cumsum, (X.astype(np.complex64),), {"axis": 0, "reverse": False}),
]
