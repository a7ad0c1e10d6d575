"""Donated operands: those whose memory no result can take over, and those given twice."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeAlias

from effax.backends.xla.client import XlaRuntimeError
from effax.effects.program import Program
from effax.effects.types import ShapedArray

Names: TypeAlias = Sequence[str]

_REPEATED: Final = re.compile(r"donated?\b.*\(flattened argument (\d+),.*first use: (\d+)\)")
"""XLA's words on an operand that is donated and given once more, with both positions."""


def warn_of_unusable(program: Program, donated: Sequence[int]) -> None:
    """Warn of donated operands that the program reads and that have no result of their size.

    The caller keeps their memory, though the donation was probably meant to save it.
    """
    sizes = Counter(_nbytes(t) for t in program.out_types)
    read = {x for equation in program.equations for x in equation.inputs}
    read.update(program.outputs)
    unusable = []
    for position in donated:
        variable = program.inputs[position]
        size = _nbytes(variable.type)
        if sizes[size]:
            sizes[size] -= 1
        elif variable in read:
            unusable.append(variable.type)
    if unusable:
        listed = ", ".join(f"{t.dtype}[{','.join(map(str, t.shape))}]" for t in unusable)
        warnings.warn(
            f"Some donated buffers were not usable: {listed}. No result has their size, so the "
            "caller keeps them; leave them out of donate_argnums",
            stacklevel=2,
        )


def refuse_repeated(error: XlaRuntimeError, types: Sequence[ShapedArray], names: Names) -> None:
    """Raise a clearer `JaxRuntimeError` where XLA's says that a donated operand is given twice.

    Args:
      error: XLA's error, which gives the positions of the two operands.
      types: the operands' types.
      names: the user's names of the last of the operands, all that are arguments; may be empty.
    """
    found = _REPEATED.search(str(error))
    if found is None:
        return
    later, first = (int(i) for i in found.groups())
    before = len(types) - len(names)
    one, other = (names[i - before] if names and i >= before else f"{i}" for i in (first, later))
    type = types[later]
    array = f"{type.dtype.name}[{','.join(map(str, type.shape))}]"
    twice = "donate the same buffer twice" in str(error)
    what = (
        f"Attempt to donate the same buffer twice: the arguments {one} and {other} are the same "
        f"array {array}, and both are donated"
        if twice
        else f"Attempt to use a buffer that the same call donates: the arguments {one} and {other} "
        f"are the same array {array}, and one of them is donated"
    )
    raise XlaRuntimeError(
        f"{what}; pass a copy for one of them (jnp.copy), or leave the argument out of "
        "donate_argnums"
    ) from None


def _nbytes(type: ShapedArray) -> int:
    return type.size * type.dtype.itemsize
