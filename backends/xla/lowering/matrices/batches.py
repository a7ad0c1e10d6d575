"""Functions of arrays with one axis of matrices, written for operands with any number of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.lowering.writer import Name, Writer
from effax.effects.rows import shape
from effax.effects.types import ShapedArray
from effax.interpreters.stage import stage


def write_for_batch(
    w: Writer, function: Callable[..., Any], types: Sequence[ShapedArray], x: Name, *more: Name
) -> list[Name]:
    """Write a function of effects whose operand x has one axis before those of the matrices.

    Args:
      function: called with x of shape (count, m, n), and with `more` as they are.
      types: the types of the results, with all axes of the batch.
      x: an array of matrices, with any number of axes before theirs.
      more: further operands of the function.
    """
    flat = x.type.strong().update(shape=(math.prod(x.shape[:-2]), *x.shape[-2:]))

    def batched(x: Any, *more: Any) -> list[Any]:
        found = function(shape.reshape(x, shape=flat.shape), *more)
        return [shape.reshape(y, shape=t.shape) for y, t in zip(found, types, strict=True)]

    given = [x, *more]
    return w.body(stage(batched, [y.type for y in given], "part").program, given)
