"""A plugin of pytest: fast paths are taken for the smallest operands that they are right for.

They are for large ones, and most tests have small ones. `pytest -p tests.backends.paths_at_all_sizes`.
"""

import math
from importlib import import_module

from effax.effects.columns import load

LEAST = {
    "backends.xla.fast.cumulative": {"LARGE": 1, "LONG": 32, "ROWS": 1, "WIDE": 1},
    "backends.xla.fast.convolution": {"LARGE": 1},
    "backends.xla.fast.elementwise": {"LARGE": 1, "LONG": 1, "VAST": 1},
    "backends.xla.fast.reduction": {
        **{"LARGE": 1, "LONG": 1, "VECTOR": 1, "WIDE": 1, "FEW": 1},
        **{"ROWS": 2, "LEAST": 4, "VAST": 2, "WRITTEN": 1, "BOTH": (0, 0)},
    },
    "backends.xla.fast.reduction_apart": {"LEAST": 1},
    "backends.xla.fast.sorting": {"LARGE": 1},
    "backends.xla.fast.transcendental": {"LARGE": 1, "PERIODIC": 1},
    "backends.xla.fast.window": {"LARGE": 1},
    "backends.xla.dispatch": {"LEAST": 4},
    "backends.xla.pieces.program": {"GROWTH": 0.0, "KEPT": math.inf},
    "backends.xla.pieces.runs": {"SHORTEST": 3},
    "backends.xla.pieces.cutting": {"SHORTEST": 3, "LONGEST": 6},
    "lax.associative": {"_WIDE": 1},
}
"""Thresholds; sums in one dimension are made of blocks of 16, reductions of a few lanes."""


def pytest_configure() -> None:
    load("effax.backends.xla.lowering")
    load("effax.backends.xla.fast")
    for module, sizes in LEAST.items():
        found = import_module(f"effax.{module}")
        for name, size in sizes.items():
            assert hasattr(found, name)
            setattr(found, name, size)
