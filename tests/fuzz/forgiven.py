"""Where effax differs from JAX on purpose, each place with its reason, as narrow as it can be."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from tests.grid.case import Case


class Forgiven(NamedTuple):
    """What is let pass: of functions (a pattern of names), kinds of difference, in cases whose code
    `code` is found in and whose difference `why` is found in. `dtypes`: some operand has one of
    these; "" is any."""

    reason: str
    function: str
    kinds: str
    why: str = ""
    code: str = ""
    dtypes: str = ""

    def covers(self, function: str, kind: str, case: Case, why: str) -> bool:
        return (
            fnmatchcase(function, self.function)
            and kind in self.kinds.split()
            and bool(re.search(self.why, why))
            and bool(re.search(self.code, case.code))
            and (not self.dtypes or any(o.dtype in self.dtypes.split() for o in case.operands))
        )


TABLE = [
    Forgiven(
        "JAX leaves four bits out of many functions, as some platforms can't; XLA's CPU can",
        "*",
        "accepts",
        dtypes="int4 uint4",
    ),
]


def forgiven(function: str, kind: str, case: Case, why: str) -> str:
    """The reason to let a difference pass, or ""."""
    return next((f.reason for f in TABLE if f.covers(function, kind, case, why)), "")
