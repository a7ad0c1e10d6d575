"""Programs at many places, one array for all of them: collectives add up along its first axis."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from effax.backends.reference.evaluate import run
from effax.backends.reference.table import rule
from effax.effects.effect import Effect
from effax.effects.errors import UnboundAxisError
from effax.effects.program import Program
from effax.effects.rows import collective
from effax.interpreters.batch.parallel import as_batch

Array = np.ndarray[Any, Any]


@rule(collective.parallel)
def reference_parallel(
    *operands: Array,
    program: Program,
    mapped: tuple[bool, ...],
    size: int,
    binds: Any,
    **_: Any,
) -> list[Array]:
    return run(as_batch(program, mapped, size, binds[0]), operands)


def _unbound(effect: Effect) -> None:
    @rule(effect)
    def refuse_unbound(*operands: Array, axes: Any, **_: Any) -> NoReturn:
        raise UnboundAxisError.of(effect, axes[0])


for _effect in (
    collective.psum,
    collective.pmax,
    collective.pmin,
    collective.all_gather,
    collective.reduce_scatter,
    collective.all_to_all,
    collective.ragged_all_to_all,
    collective.ppermute,
    collective.axis_index,
):
    _unbound(_effect)


@rule(collective.pvary)
def reference_pvary(x: Array, *, axes: Any) -> Array:
    return x
