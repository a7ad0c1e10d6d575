"""A barrier, which stands in programs as the half of a `remat` that is done again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from effax.effects.program import Program
from effax.effects.rows.control import remat
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.stage import stage


def barrier(*values: Any) -> Sequence[Any]:
    """The values themselves, each computed once, before anything that uses one of them.

    The lowering of what is done again puts a barrier before it: here it has nothing to do.
    """
    same = _identity(tuple([typeof(x) for x in values]))
    kept = remat(*values, program=same, policy=None, prevent_cse=True, again=True)
    return cast("Sequence[Any]", kept)


@lru_cache(1024)
def _identity(types: tuple[ShapedArray, ...]) -> Program:
    """A program that returns its operands: one object, by which what it compiles to is known."""
    return stage(lambda *xs: list(xs), types, "optimization_barrier").program
