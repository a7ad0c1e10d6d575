"""Selections under batch: scalars that choose for a whole array spread over it."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import LITERALS
from effax.effects.rows import shape
from effax.effects.rows.selection import clamp, select_n
from effax.effects.types import typeof
from effax.interpreters.batch.batched import Batch, repeat, rule


@rule(select_n)
def select_n_batch(handler: Batch, values: list[Any], batched: list[bool]) -> Any:
    """A scalar `which` that is not batched may stay one; a batched one is spread over the cases."""
    which, *cases = values
    if not all(batched[1:]):
        cases = [_many(handler, x, b) for x, b in zip(cases, batched[1:], strict=True)]
    many = next(typeof(x).shape for x in cases if type(x) not in LITERALS)
    return select_n(_fit(handler, which, batched[0], many), *cases), True


@rule(clamp)
def clamp_batch(handler: Batch, values: list[Any], batched: list[bool]) -> Any:
    """Scalar bounds that are not batched may stay; batched ones are spread over the array."""
    x = _many(handler, values[1], batched[1])
    lo, hi = (_fit(handler, values[i], batched[i], typeof(x).shape) for i in (0, 2))
    return clamp(lo, x, hi), True


def _many(handler: Batch, x: Any, batched: bool) -> Any:
    return x if batched or type(x) in LITERALS else repeat(x, handler.size)


def _fit(handler: Batch, x: Any, batched: bool, many: tuple[int, ...]) -> Any:
    """A scalar or full operand, made to fit operands of shape `many`."""
    if type(x) in LITERALS:
        return x
    own = typeof(x).shape
    if batched:
        return x if own == many else shape.broadcast_in_dim(x, shape=many, dims=(0,))
    return repeat(x, handler.size) if own else x
