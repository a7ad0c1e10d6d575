"""The page on the architecture is short, and what it shows is what happens."""

import doctest
import re

from tests.architecture.sources import ROOT

PAGE = ROOT / "ARCHITECTURE.md"


def test_it_is_a_page():
    """Of 245 lines: it also tells how eager calls and gradients are answered, and the rooms."""
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 245


def test_its_examples_run():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_column_and_every_package_of_columns_is_in_the_table():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE))
    from effax.matrix import COLUMNS

    assert set(COLUMNS) <= named


ROOMS = ("effects", "interpreters", "backends", "effax", "effax/api")
"""The folders whose packages are in the table of rooms."""


def test_every_package_is_in_the_table_of_rooms():
    table = PAGE.read_text(encoding="utf-8").partition("## The rooms\n")[2].partition("\n## ")[0]
    linked = set(re.findall(r"\]\(([^)]+)\)", table))
    packages = {
        path.parent.relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in (ROOT / room).glob("*/__init__.py")
        if not path.parent.is_symlink()
    }
    assert packages <= linked, sorted(packages - linked)


def test_paths_in_code_font_exist():
    """The paths of links are tested in test_links."""
    text = re.sub(r"```.*?```", "", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    paths = re.findall(
        r"`((?:effects|interpreters|backends|effax|tests|docs|examples)/[^`<]*)", text
    )
    assert len(paths) > 5
    assert [path for path in paths if not (ROOT / path).exists()] == []
