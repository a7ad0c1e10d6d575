"""A plugin of pytest: of the tests that take long, an eighth a day.

`make test` has it on; pytest without `-p tests.rotation`, and so `make test-all`, runs all. The
functions of tests are in `rotation.txt`, a line for each file, from reports of runs, whole ones or
a day's:

    PYTEST_ADDOPTS=--junitxml=build/tests.xml make test
    .venv/bin/python -m tests.rotation build/tests.xml

`EFFAX_DAY=2026-11-28 make test` asks the tests of that day.
"""

import argparse
import datetime
import itertools
import os
import xml.etree.ElementTree as ElementTree
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".txt")
DAYS = 8
LONG = 0.3
"""Seconds that a case takes on average, on two cores."""
MUCH = 6.0
"""Seconds that all cases of a function take."""
ALWAYS = ("tests/architecture/", "tests/docs/", "tests/typing/", "tests/grid/test_ways.py")
"""Files whose tests don't take turns, or do so by themselves."""


def rotating() -> frozenset[str]:
    """The functions that take turns, as `file::function`."""
    lines = (line.split() for line in TABLE.read_text().splitlines())
    return frozenset(f"{file}::{name}" for file, *names in lines for name in names)


def of_the_day(cases: Iterable[str], turns: frozenset[str], day: int) -> set[str]:
    """The cases that are asked on a day (an ordinal number), by their addresses."""
    chosen = set()
    for name, of_one in itertools.groupby(cases, lambda case: case.partition("[")[0]):
        first = day + zlib.crc32(name.encode())
        for i, case in enumerate(of_one):
            if name not in turns or (first + i) % DAYS == 0:
                chosen.add(case)
    return chosen


def pytest_configure() -> None:
    # Workers are started with this environment: all of them ask the same tests.
    os.environ.setdefault("EFFAX_DAY", datetime.date.today().isoformat())


def pytest_report_header() -> str:
    return f"of the tests in {TABLE.name} those of EFFAX_DAY={os.environ['EFFAX_DAY']}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    day = datetime.date.fromisoformat(os.environ["EFFAX_DAY"]).toordinal()
    chosen = of_the_day([item.nodeid for item in items], rotating(), day)
    config.hook.pytest_deselected(items=[x for x in items if x.nodeid not in chosen])
    items[:] = [x for x in items if x.nodeid in chosen]


def long_functions(report: Path, before: frozenset[str]) -> dict[str, list[str]]:
    """The functions whose cases take long, by file: those of a report of pytest, and of `before`.

    None is taken out, since a report may be of a day, or of a fast machine.
    """
    seconds: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        if (ROOT / file).exists():  # otherwise it is a class, or a doctest in one
            name = case.get("name", "").partition("[")[0]
            seconds[f"{file}::{name}"].append(float(case.get("time", 0)))
    found: dict[str, list[str]] = defaultdict(list)
    for address in sorted(before | {name for name, times in seconds.items() if is_long(times)}):
        file, _, name = address.partition("::")
        if file.startswith("tests/") and not file.startswith(ALWAYS):
            found[file].append(name)
    return dict(found)


def is_long(times: list[float]) -> bool:
    """Whether cases that took so long are to take turns: on average, or as many as there are."""
    return sum(times) / len(times) >= LONG or (sum(times) >= MUCH and len(times) >= DAYS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="what --junitxml wrote")
    functions = long_functions(parser.parse_args().report, rotating())
    TABLE.write_text("".join(f"{' '.join([file, *names])}\n" for file, names in functions.items()))
