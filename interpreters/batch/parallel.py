"""A program at many places as one batch: what `pmap` means where there is one device."""

from __future__ import annotations

from typing import Any

from effax.effects.program import Program
from effax.interpreters.batch.batched import BATCHED, Batch, repeat
from effax.interpreters.functor.lifting import PLAIN, Lifted, lift
from effax.interpreters.stage import stage


def as_batch(program: Program, mapped: tuple[bool, ...], size: int, name: Any) -> Program:
    """The program over the rows of its mapped inputs, its results stacked; the axis is bound."""
    key = "as batch", mapped, size, name
    found: Program | None = program.memo.get(key)
    if found is None:
        found = program.memo[key] = _as_batch(program, mapped, size, name)
    return found


def _as_batch(program: Program, mapped: tuple[bool, ...], size: int, name: Any) -> Program:
    modes = tuple(BATCHED if m else PLAIN for m in mapped)
    types = [
        t.update(shape=(size, *t.shape)) if m else t
        for t, m in zip(program.in_types, mapped, strict=True)
    ]

    def body(*values: Any) -> list[Any]:
        lifted: Lifted = lift(program, Batch(size=size, axis_name=name), modes)
        results = lifted.program.run(*lifted.captured, *values)
        return [
            repeat(x, size) if mode is PLAIN else x
            for x, mode in zip(results, lifted.out_modes, strict=True)
        ]

    return stage(body, types, program.name).program
