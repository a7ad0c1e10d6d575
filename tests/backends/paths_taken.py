"""A plugin of pytest: which files' tests take which fast paths, as lines of a file.

`pytest -p tests.backends.paths_taken` with EFFAX_PATHS_TAKEN=<file>. What was compiled is forgotten
between files, so that no file takes a path unseen in an executable of another's.
"""

import os

import effax as fx
from effax.backends.xla.fast import path

_taken = path.taken
_file = ""
_noted: set[tuple[str, str]] = set()


def _note(name: str) -> bool:
    found = _taken(name)
    if found and _file and (name, _file) not in _noted:
        _noted.add((name, _file))
        with open(os.environ["EFFAX_PATHS_TAKEN"], "a") as notes:
            notes.write(f"{name} {_file}\n")
    return found


path.taken = _note


def pytest_runtest_logstart(nodeid: str) -> None:
    global _file
    file = nodeid.partition("::")[0]
    if file != _file:
        fx.clear_caches()
        _file = file
