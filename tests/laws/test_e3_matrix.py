"""Laws and the programs of E3: none false, none undefined. All of them in `make test-all`."""

import pytest

from effax.laws.law import LAWS
from tests.laws.e3_matrix import ask
from tests.programs.e3 import PROGRAMS


def _all(name, laws):
    found = {law.identifier: ask(law, name) for law in laws}
    return {law: verdict for law, verdict in found.items() if verdict not in (None, "true")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_some_laws_hold(name):
    assert _all(name, list(LAWS.values())[:: max(1, len(LAWS) // 4)]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_law_holds(name):
    assert _all(name, LAWS.values()) == {}
