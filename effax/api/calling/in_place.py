"""Programs run on arrays, and on references whose contents they write over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.array import asarray
from effax.backends.xla.launch import Executor
from effax.effects.handler import bottom
from effax.effects.program import Program
from effax.effects.rows.callback import HOST
from effax.effects.rows.elementwise import copy
from effax.effects.rows.state import OwnedRef, Ref, ref_get
from effax.interpreters.functor.masks import pick


def run_in_place(
    program: Program,
    operands: Sequence[Any],
    compiled: Callable[..., Executor],
    labels: Callable[[], Sequence[str]] | None = None,
) -> list[Any]:
    """Run a program on arrays and references: those that it writes hold what they do in the end.

    `compiled(program, captured, arrays, donate)` gives what runs it. The new contents take over the
    memory of the old, unless these were read and may be in use. `labels` are as of `distinct`.
    """
    from effax.interpreters.functor.discharge import discharged, distinct

    distinct(operands, program.name, labels)
    pure, written = discharged(program)
    places = [i for i, x in enumerate(operands) if isinstance(x, Ref)]
    donate = pick(places, written, True)
    # A program that fails, midway or afterwards, must leave the contents as they were.
    risky = asks_the_host(pure)
    arrays = [
        (_given(x, i in donate, risky) if isinstance(x, Ref) else asarray(x))
        for i, x in enumerate(operands)
    ]
    executor = compiled(pure, (), arrays, donate)
    if executor.checked and donate:
        arrays = [copy(x) if i in donate else x for i, x in enumerate(arrays)]
    results = executor([x.buffer for x in arrays])
    end = len(results) - len(donate)
    for i, x in zip(donate, results[end:], strict=True):
        operands[i].write(x)
        operands[i].shared = False
    return results[:end]


def asks_the_host(program: Program) -> bool:
    """Whether a program calls back to Python."""
    found = program.memo.get("asks the host")
    if found is None:
        found = program.memo["asks the host"] = any(
            e.effect in HOST or any(map(asks_the_host, e.programs())) for e in program.equations
        )
    return bool(found)


def _given(ref: Ref, donated: bool, risky: bool) -> Any:
    """The contents of a reference; of their own memory where that will be given away."""
    if not isinstance(ref, OwnedRef) or ref.handler is not bottom:
        return ref_get(ref)  # raises the error of a freed reference
    contents = asarray(ref.held())
    return copy(contents) if donated and (ref.shared or risky) else contents
