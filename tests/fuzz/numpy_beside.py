"""NumPy and SciPy in a process of their own: for some arguments SciPy's loops have no end.

`python -m tests.fuzz.numpy_beside`; `tests.grid.ask.Oracle` speaks to it.
"""

from __future__ import annotations

import sys

from tests.grid.ask import Answer, Leaf, Oracle, serve
from tests.grid.case import Case
from tests.grid.play import Numbers, in_64_bits, refused_by_numpy


class NumPyBeside:
    """The process, which has so many seconds for a case; it has no opinion after them."""

    def __init__(self, patience: float) -> None:
        self.process = Oracle(sys.executable, "tests.fuzz.numpy_beside", patience)

    def numbers(self, case: Case, inexact: bool) -> Numbers:
        """The numbers of `tests.grid.play.in_64_bits`, or None where that does not end."""
        leaves = self.process.ask(case, "inexact" if inexact else "exact").leaves
        return leaves and [x.values for x in leaves if isinstance(x, Leaf)]

    def refuses(self, case: Case) -> bool:
        """Whether NumPy has a function for a case, and refuses its arguments."""
        return bool(self.process.ask(case, "refused").error)


def said(case: Case, inexact: bool) -> Answer:
    """Return NumPy's numbers as an answer. Those of no dtype of numbers are no opinion."""
    numbers = in_64_bits(case, inexact)
    if numbers is None or any(x.dtype == object for x in numbers):
        return Answer(None, ["no opinion"], [])
    return Answer([Leaf(str(x.dtype), False, x) for x in numbers], [], [])


if __name__ == "__main__":
    serve(
        None,
        {
            "exact": lambda library, case: said(case, inexact=False),
            "inexact": lambda library, case: said(case, inexact=True),
            "refused": lambda library, case: Answer([], refused_by_numpy(case), []),
        },
    )
