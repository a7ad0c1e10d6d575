"""The counter of code lines, and the table that it keeps in README.md."""

from pathlib import Path

from tests.examples import e3

lines = e3.load("lines")
README = Path(__file__).parents[2] / "README.md"


def test_only_code_counts():
    text = '''"""Docstring
of two lines."""

import os  # a comment


# another comment
def f(
    x,
):
    """Docstring."""
    text = """a value
    of two lines"""

    return x, text, os


class C:
    """Docstring."""
    y = 1
'''
    assert lines.code_lines(text) == 1 + 3 + 2 + 1 + 2


def test_no_transform_is_longer_than_its_bar():
    assert lines.missed() == []


def test_transforms_import_nothing_else():
    for name in lines.measured():
        text = (e3.FOLDER / f"{name}.py").read_text(encoding="utf-8")
        foreign = lines.foreign_imports(text) - set(lines.BARS)
        assert not foreign, f"{name}.py imports {sorted(foreign)}"


def test_the_table_in_the_readme_is_what_is_counted():
    text = README.read_text(encoding="utf-8")
    assert lines.written_into(text) == text, "run: python examples/transforms/lines.py README.md"
