"""Items told apart by a mask: operands that are known or not, references or arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def pick(items: Sequence[Any], mask: Sequence[bool], wanted: bool) -> list[Any]:
    """The items where the mask is as wanted."""
    return [x for x, m in zip(items, mask, strict=True) if m is wanted]


def merge(mask: Sequence[bool], yes: Sequence[Any], no: Sequence[Any]) -> list[Any]:
    """Interleave: the next of `yes` where the mask is set, else the next of `no`."""
    ones, others = iter(yes), iter(no)
    return [next(ones) if m else next(others) for m in mask]
