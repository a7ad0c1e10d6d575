"""An effect as what a function of its operands performs: staged, and written into a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.backends.xla.lowering.arrays import array_constant
from effax.backends.xla.lowering.writer import Name, Writer
from effax.effects.types import ShapedArray
from effax.interpreters.stage import Staged, stage


def expanded(
    function: Callable[..., Any],
    types: Sequence[ShapedArray],
    attributes: dict[str, Any],
    name: str,
    multiple: bool,
) -> Staged:
    """The function, of operands of these types, staged; it returns one result or, if `multiple`,
    a sequence of them."""

    def body(*values: Any) -> Sequence[Any]:
        result = function(*values, **attributes)
        return list(result) if multiple else [result]

    return stage(body, types, name)


def write(w: Writer, staged: Staged, operands: Sequence[Name]) -> list[Name]:
    """Write what was staged in place; arrays that the function holds are constants."""
    held = [array_constant(w, np.asarray(x)) for x in staged.captured]
    return w.body(staged.program, [*held, *operands])
