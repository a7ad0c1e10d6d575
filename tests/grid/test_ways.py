"""Recorded cases in ways that must agree: CI asks one case of some functions each day."""

from __future__ import annotations

import datetime
import os
import warnings

import numpy as np
import pytest

from tests.grid import test_modules, test_numpy
from tests.grid.ask import answer
from tests.grid.case import Case
from tests.grid.check import EFFAX
from tests.grid.play import Entry
from tests.grid.ways import complaints

DAYS = 40
AWAY = (
    # Their second derivatives take XLA a minute.
    *("jsp.special.hyp1f1", "jsp.special.hyp2f1", "jsp.stats.betabinom", "Kummer's function"),
    # Whether narrow numbers add up to 1 is seen by a rounding.
    "jsp.stats.dirichlet",
)
"""Beginnings of the names of functions that are not asked."""


def cases() -> dict[str, tuple[Entry, Case]]:
    """A case of each function that gives a result and can be traced."""
    found = {}
    tables = [(test_numpy.TABLE, test_numpy.RECORDED)]
    tables += [(test_modules.table(t), test_modules.records(t)) for t in test_modules.TABLES]
    for table, records in tables:
        for name, entry in table.items():
            good = [r.case for r in records[name] if r.wanted.leaves and not r.wanted.traced]
            if good and entry.vmap and not name.startswith(AWAY):
                found[name] = entry, good[-1]
    return found


CASES = cases()
TODAY = datetime.date.fromisoformat(
    os.environ.get("EFFAX_DAY", datetime.date.today().isoformat())
).toordinal()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if (i + TODAY) % DAYS == 0 else [pytest.mark.slow])
        for i, name in enumerate(CASES)
    ],
)
def test_ways_agree(name: str) -> None:
    entry, case = CASES[name]
    if answer(EFFAX, case).traced:
        pytest.skip("it asks for values")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = list(complaints(entry, case))
    assert not found, "\n".join([case.line(), *found])
