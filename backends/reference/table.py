"""The reference: every effect defined by NumPy, one equation at a time.

It is the oracle of differential tests and the debugger's interpreter, so it is written to be
read, not to be fast. Low-precision floats are computed in float32 and rounded once at the end,
as the mathematics says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from effax.effects.effect import Effect, only_effects

rules: Final[dict[Effect, Callable[..., Any]]] = {}


def rule(*effects: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Fill cells of the reference.

    The rule is called with NumPy arrays (0-d arrays for scalars; literals already have their
    peers' dtype) and the attributes, and returns a NumPy array (a list for several results) of
    the shape that typing gives; the evaluator converts it to the dtype that typing gives.
    """

    only_effects("extend.reference.rule", effects)

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        for effect in effects:
            rules[effect] = function
        return function

    return fill
