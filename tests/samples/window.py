"""Arguments for windows."""

import numpy as np

from effax.effects.rows import elementwise, window
from effax.effects.types import ShapedArray
from effax.interpreters.stage import stage

random = np.random.default_rng(5)
X = (random.permutation(180).reshape(2, 9, 10) / 50 - 1.8).astype(np.float32)  # no near ties
COUNTS = random.integers(-9, 9, X.shape).astype(np.int32)
BOX = {
    "window_dimensions": (1, 3, 2),
    "window_strides": (1, 2, 1),
    "padding": ((0, 0), (1, 1), (0, 1)),
}
ONES = {"base_dilation": (1, 1, 1), "window_dilation": (1, 1, 1)}
APART = {"base_dilation": (1, 2, 1), "window_dilation": (1, 1, 1)}
HOLES = {"base_dilation": (1, 2, 3), "window_dilation": (1, 2, 2)}
SCALAR = ShapedArray((), np.float32)
MULTIPLY = stage(lambda a, b: [elementwise.mul(a, b)], [SCALAR] * 2).program
EFFECTS = (window.reduce_window_sum, window.reduce_window_max, window.reduce_window_min)
SOURCE = random.normal(size=window.windows("", X.shape, *BOX.values(), *ONES.values()))

SAMPLES = [
    *((e, (x,), {**BOX, **ONES}) for e in EFFECTS for x in (X, COUNTS)),
    *((e, (X,), {**BOX, **APART}) for e in EFFECTS),
    (window.reduce_window_sum, (X,), {**BOX, **HOLES}),
    (window.reduce_window, (X, np.float32(1)), {**BOX, **ONES, "body": MULTIPLY}),
    *(
        (window.select_and_gather_add, (X[::-1].copy(), X), {**BOX, **ONES, "select": s})
        for s in ("ge", "le")
    ),
    *(
        (window.select_and_scatter_add, (SOURCE.astype(np.float32), X), {**BOX, "select": s})
        for s in ("ge", "le")
    ),
]
