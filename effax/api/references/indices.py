"""Indices of parts of references, taken apart into structure and traced values."""

from __future__ import annotations

from collections.abc import Iterator
from types import EllipsisType
from typing import Any, Final

import numpy as np

_VALUE: Final = "value"
_STATIC: Final = (int, bool, EllipsisType, type(None))


def structure_of(index: Any, values: list[Any]) -> Any:
    """An index without its values, hashable; these are added to `values`."""
    kind = type(index)
    if kind is tuple:
        return (tuple, *(structure_of(i, values) for i in index))
    if kind is slice:
        return (slice, *(structure_of(i, values) for i in (index.start, index.stop, index.step)))
    if kind in _STATIC:
        return kind, index  # the kind too, for True equals 1
    values.append(np.asarray(index) if kind is list else index)
    return _VALUE


def index_of(structure: Any, values: Iterator[Any]) -> Any:
    """The index of that structure, with these values."""
    if structure == _VALUE:
        return next(values)
    kind, *rest = structure
    if kind in _STATIC:
        return rest[0]
    parts = [index_of(part, values) for part in rest]
    return slice(*parts) if kind is slice else tuple(parts)
