"""An effect as what a function of its operands performs: staged, and written into a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.arrays import array_constant
from effax.backends.xla.lowering.writer import Name, Writer, answered
from effax.effects.effect import Effect
from effax.effects.errors import UnhandledEffectError
from effax.effects.program import row_of
from effax.effects.types import ShapedArray
from effax.interpreters.stage import Staged, stage


def expanded(
    function: Callable[..., Any],
    effect: Effect,
    types: Sequence[ShapedArray],
    attributes: dict[str, Any],
    multiple: bool,
) -> Staged:
    """Write an effect out, of operands of these types, for a backend.

    The function returns one result or, if `multiple`, a sequence of them.

    Raises `UnhandledEffectError` where it performs what only a handler answers, and the effect
    does not say so: no handler was asked.
    """

    def body(*values: Any) -> Sequence[Any]:
        result = function(*values, **attributes)
        return list(result) if multiple else [result]

    staged = stage(body, types, effect.name)
    unsaid = staged.program.row - row_of(effect, attributes) - answered
    if unsaid:
        found = ", ".join(str(one) for one in unsaid.asked)
        raise UnhandledEffectError(
            f"the effect '{effect.name}' is written out in terms of effects that a handler "
            f"answers: {found}. Declare them, so that the handler finds them: "
            f"@extend.expand({effect.name}, performs=[{unsaid.asked[0].effect.name}])"
        )
    return staged


def write(w: Writer, staged: Staged, operands: Sequence[Name]) -> list[Name]:
    """Write what was staged in place; arrays that the function holds are constants."""
    held = [array_constant(w, np.asarray(x)) for x in staged.captured]
    return w.body(staged.program, [*held, *operands])
