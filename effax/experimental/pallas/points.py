"""The point of the grid at which a kernel runs, as the kernel asks for it while it is traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import attrs

from effax.effects.contexts import put


@attrs.frozen
class Point:
    """The coordinates of a point, as variables, and the grid that it is of."""

    ids: tuple[Any, ...]
    grid: tuple[int, ...]


_at: Final[ContextVar[Point | None]] = ContextVar("effax.pallas.point", default=None)


@contextmanager
def at(ids: Sequence[Any], grid: tuple[int, ...]) -> Iterator[None]:
    """Trace a kernel, or an index map, at a point."""
    token = put(_at, Point(tuple(ids), grid))
    try:
        yield
    finally:
        _at.reset(token)


def _axis(axis: int, what: str) -> Point:
    point = _at.get()
    if point is None:
        raise ValueError(f"{what} can only be called in a kernel or an index map of pallas_call")
    if not -len(point.grid) <= axis < len(point.grid):
        raise ValueError(f"{what}: axis {axis} is out of bounds for grid {point.grid}")
    return point


def program_id(axis: int) -> Any:
    """Return the coordinate along an axis of the point of the grid, an int32 scalar.

    Raises:
      ValueError: outside of a kernel, or for an axis that the grid does not have.

    >>> import effax
    >>> from effax.experimental import pallas as pl
    >>> def number(o_ref):
    ...     o_ref[pl.program_id(0)] = pl.program_id(0)
    >>> pl.pallas_call(number, effax.ShapeDtypeStruct((4,), "int32"), grid=4)()
    Array([0, 1, 2, 3], dtype=int32)
    """
    return _axis(axis, "program_id").ids[axis]


def num_programs(axis: int) -> int:
    """Return the length of an axis of the grid.

    Raises:
      ValueError: outside of a kernel, or for an axis that the grid does not have.

    >>> import effax
    >>> from effax.experimental import pallas as pl
    >>> def number(o_ref):
    ...     o_ref[pl.program_id(0)] = pl.num_programs(0) - pl.program_id(0)
    >>> pl.pallas_call(number, effax.ShapeDtypeStruct((4,), "int32"), grid=4)()
    Array([4, 3, 2, 1], dtype=int32)
    """
    return _axis(axis, "num_programs").grid[axis]
