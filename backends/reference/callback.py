"""Callbacks in the reference: Python calls Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.rows.callback import (
    answer,
    debug_callback,
    io_callback,
    pure_callback,
    sequenced_callback,
)


@rule(debug_callback, pure_callback, io_callback)
def reference_callback(
    *operands: np.ndarray[Any, Any], callback: Any, result_types: Any = (), **_: Any
) -> list[np.ndarray[Any, Any]]:
    return list(answer(callback, operands, result_types))


@rule(sequenced_callback)
def reference_sequenced_callback(
    token: np.ndarray[Any, Any],
    *operands: np.ndarray[Any, Any],
    callback: Any,
    result_types: Any,
    **_: Any,
) -> list[np.ndarray[Any, Any]]:
    return [token, *answer(callback, operands, result_types)]
