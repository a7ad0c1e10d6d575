"""Kernels by NumPy: the loop over the grid that each means."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.evaluate import run
from effax.backends.reference.table import rule
from effax.effects.rows.kernel import kernel
from effax.effects.types import typeof
from effax.interpreters.functor.kernel import loop

Array = np.ndarray[Any, Any]


@rule(kernel)
def reference_kernel(*operands: Array, **attributes: Any) -> list[Array]:
    return run(loop(list(map(typeof, operands)), attributes), operands)
