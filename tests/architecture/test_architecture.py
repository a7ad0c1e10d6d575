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
