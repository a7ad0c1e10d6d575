"""A named value is the value, and so is one in another memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.reference.table import rule
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.rows import naming
from effax.interpreters.residual.replaying import unkept


@rule(naming.named)
def reference_named(x: np.ndarray[Any, Any], *, name: str) -> np.ndarray[Any, Any]:
    return x


@rule(naming.annotated)
def reference_annotated(x: np.ndarray[Any, Any], *, metadata: Any) -> np.ndarray[Any, Any]:
    return x


@rule(naming.moved)
def reference_moved(x: np.ndarray[Any, Any], *, src: str, dst: str) -> np.ndarray[Any, Any]:
    return x


@rule(naming.sink)
def reference_sink(*xs: np.ndarray[Any, Any], prevent: bool) -> list[np.ndarray[Any, Any]]:
    return []


@rule(naming.unstored)
def reference_unstored(**told: Any) -> list[np.ndarray[Any, Any]]:
    raise UnsupportedDerivativeError(unkept(**told))
