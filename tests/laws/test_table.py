"""The table of laws by transformations, and the page that shows it."""

import re
from pathlib import Path

import pytest

import effax as fx
import effax.numpy as jnp
from effax import laws
from effax.laws.table import BEGIN, END, write_into
from tests.examples import e3

DOCS = Path(__file__).parents[2] / "docs"


def test_cells_say_what_was_found():
    class Refusing(fx.Interpreter):
        value: fx.Leaf

    asked = {
        "nothing": laws.Asked(lambda f: f),
        "twice": laws.Asked(lambda f: lambda *xs: f(*[2.0 * x for x in xs])),
        "refusing": laws.Asked(
            Refusing.transform,
            embed=lambda *xs: [Refusing(x) for x in xs],
            apart={"T f = f": "it knows no effect at all"},
        ),
    }
    table = laws.markdown(asked, max_examples=2)
    first, second = (line for line in table.splitlines() if "= f`" in line or "(call f)" in line)
    assert first == "| `T f = f` | true | **false** [1] | – [2] |"
    assert second == "| `T (call f) = T f` | true | true | **undefined** [3] |"
    assert "2. it knows no effect at all" in table
    assert "Refusing has no rule for the effect" in table
    with pytest.raises(ValueError, match="no laws named"):
        laws.Asked(lambda f: f, apart={"T f = g": ""}).verdicts()


def test_only_the_laws_that_are_named_are_asked():
    report = laws.check(lambda f: f, laws=["T f = f"], max_examples=1)
    assert [v.law for v in report.verdicts] == ["T f = f"]


def test_writing_into_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_into(page, "new")
    assert page.read_text() == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    page.write_text("nothing")
    with pytest.raises(ValueError, match="no lines"):
        write_into(page, "new")


def test_the_page_has_a_column_for_each_transform_and_nothing_unexplained():
    text = (DOCS / "transforms.md").read_text(encoding="utf-8")
    table = text.partition(BEGIN)[2].partition(END)[0]
    header = next(line for line in table.splitlines() if line.startswith("| law |"))
    columns = [cell.strip() for cell in header.strip("|").split("|")][1:]
    asked = e3.load("asked").ASKED
    assert columns == list(asked), (
        "run: python -m effax.laws --markdown examples/transforms/asked.py --into docs/transforms.md"
    )
    stated = [law.name for law in laws.transform.laws_of(lambda f: f)]
    assert re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE) == stated
    assert "**false**" not in table
    notes = set(re.findall(r"\[(\d+)\]", table))
    assert notes == set(re.findall(r"^(\d+)\. ", table, re.MULTILINE))


def test_every_transform_is_asked_or_has_a_reason():
    lines, asked = e3.load("lines"), e3.load("asked")
    modules = {asked.MODULES.get(name, name) for name in asked.ASKED}
    assert set(lines.measured()) - modules <= set(asked.NOT_ASKED)


def test_a_law_that_a_transform_breaks_is_found_false():
    report = laws.check(lambda f: lambda *xs: tuple(jnp.sin(y) for y in f(*xs)), max_examples=3)
    assert report["T (g . f) = T g . T f"].verdict == "false"
