"""Arrays as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.effects.types import ShapedArray


def array_text(host: np.ndarray[Any, Any], type: ShapedArray) -> str:
    """An array of a type as `repr` shows it.

    >>> array_text(np.arange(2, dtype="float32"), ShapedArray((2,), "float32"))
    'Array([0., 1.], dtype=float32)'
    >>> array_text(np.zeros((0, 3), "int8"), ShapedArray((0, 3), "int8"))
    'Array([], shape=(0, 3), dtype=int8)'
    """
    width = np.get_printoptions()["linewidth"]
    if type.size == 0:
        text = f"[], shape={type.shape}"
    else:
        text = np.array2string(
            host, prefix="Array(", suffix=",", separator=", ", max_line_width=width
        )
    last = f"dtype={type.dtype.name}{', weak_type=True' if type.weak_type else ''})"
    # Exactly as JAX prints arrays, since doctests compare the text.
    used = len(text) - text.rfind("\n") + 1
    gap = " " if used + len(last) + 1 <= width else "      "
    return f"Array({text},{gap}{last}"
