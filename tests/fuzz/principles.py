"""Differences that are let pass since NumPy says so, or since there is nothing to say.

What a case's function, code and dtypes tell by themselves has a row in `tests.fuzz.forgiven`.
"""

from __future__ import annotations

import re

from tests.fuzz.numpy_beside import NumPyBeside
from tests.grid.ask import Answer, Leaf
from tests.grid.case import Case


def principle(kind: str, case: Case, found: Answer, numpy: NumPyBeside | None) -> str:
    """The reason to let a difference of a kind pass, whatever the function, or ""."""
    if kind == "accepts" and found.leaves is not None:
        return _for_more(case, found, numpy)
    if kind == "refuses" and numpy is not None and numpy.refuses(case):
        return "NumPy refuses it"
    return ""


def _for_more(case: Case, found: Answer, numpy: NumPyBeside | None) -> str:
    """The reason to give a result where JAX gives none, or ""."""
    if any(0 in o.shape for o in case.operands):
        return "of no numbers there is a result"
    assert found.leaves is not None
    said = numpy and numpy.numbers(case, False)
    if said and [x.shape for x in said] == [_shape(x) for x in found.leaves]:
        return "NumPy gives it"
    return ""


def _shape(leaf: Leaf | str) -> tuple[int, ...]:
    """The shape of a result, or of its type in words: `float32*[2, 3]`."""
    if isinstance(leaf, Leaf):
        return leaf.values.shape
    words = re.search(r"\[([\d, ]*)\]$", leaf)
    return tuple(int(n) for n in words[1].split(",") if n.strip()) if words else (-1,)
