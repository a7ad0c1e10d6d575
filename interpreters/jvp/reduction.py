"""Forward mode of reductions.

`reduce_prod` and the general `reduce` have no rule here: they are written out as a tree of
products (`composites/definitions.py`), whose derivative is right where factors are zero.
"""

from __future__ import annotations

from typing import Any

import effax.interpreters.composites.definitions  # noqa: F401  (the definitions that this column stands on)
from effax.effects.effect import Effect
from effax.effects.rows import comparison, conversion, elementwise, reduction, shape
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import rule


def _chooser_rule(effect: Effect) -> None:
    @rule(effect, pure=True)
    def chooser_jvp(primals: list[Any], tangents: list[Any], *, axes: tuple[int, ...]) -> Any:
        """The tangent where the extremum is; where several are equal, their average."""
        (x,), (dx,) = primals, tangents
        y = effect(x, axes=axes)
        if dx is None:
            return y, None
        type = typeof(x)
        if any(type.shape[i] == 0 for i in axes):  # the identity, chosen from nothing
            return y, None
        kept = tuple(i for i in range(type.ndim) if i not in axes)
        around = shape.broadcast_in_dim(y, shape=type.shape, dims=kept)
        there = conversion.convert_element_type(comparison.eq(x, around), dtype=type.dtype)
        total = reduction.reduce_sum(elementwise.mul(dx, there), axes=axes)
        return y, elementwise.div(total, reduction.reduce_sum(there, axes=axes))


_chooser_rule(reduction.reduce_max)
_chooser_rule(reduction.reduce_min)
