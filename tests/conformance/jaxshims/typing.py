"""jax._src.typing."""

from __future__ import annotations

from typing import Any

import numpy as np

import jaxshims

DType = np.dtype
Shape = tuple
DimSize = Any


def __getattr__(name):
    if name in ("Array", "ArrayLike", "DTypeLike"):
        path = "Array" if name == "Array" else "typing." + name
        return jaxshims.target_attr(path)
    raise AttributeError(name)
