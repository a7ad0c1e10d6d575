"""Each rule on the page of semantics names the definition that implements it, and what checks it."""

import ast
import re

import pytest

import effax as fx
from effax import laws
from effax.laws.check import stated_of
from effax.laws.described import Described
from effax.laws.one_effect import laws_of_one_effect
from effax.laws.rulewise import laws_of_rules
from tests.architecture.sources import ROOT

PAGE = ROOT / "docs" / "semantics.md"
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+\.py)\)")


class Plain(fx.Interpreter):
    """A value as it is: the laws of a class whose leaf is the value are asked of it."""

    value: fx.Leaf(primal=True)


def rules():
    """The rows of the tables that have columns named code and law, as dicts."""
    columns = None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            columns = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if columns is None:
            columns = [cell.strip() for cell in line.strip().strip("|").split("|")]
        elif {"code", "law"} <= set(columns) and not set(line) <= set("|-"):
            yield dict(zip(columns, cells, strict=True))


def defined_in(path):
    """The names of the functions, classes and methods of a file, and of what it assigns."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{m.name}" for m in node.body if hasattr(m, "name"))


def unknown_names(cell):
    """The links of a cell whose text is no definition of the file that they lead to."""
    return [
        f"{name} in {path}"
        for name, path in LINK.findall(cell)
        if name not in defined_in((PAGE.parent / path).resolve())
    ]


def known_laws():
    described = Described(Plain.transform, sound=lambda box, x: True)
    stated = [*stated_of(described), *laws_of_rules(described), *laws_of_one_effect()]
    return {*laws.LAWS, *(law.name for law in stated)}


RULES = list(rules())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: next(iter(rule.values()))[:40])
def test_a_rule_names_its_code_and_its_law(rule):
    assert LINK.search(rule["code"]), "no definition is linked"
    assert unknown_names(rule["code"]) == []
    named = re.findall(r"`([^`]+)`", rule["law"])
    tests = LINK.findall(rule["law"])
    assert named or tests, "nothing checks it"
    assert [name for name in named if name not in known_laws()] == []
    assert all(name.startswith("test_") for name, _ in tests)
    assert unknown_names(rule["law"]) == []


def test_every_section_of_the_calculus_has_rules():
    text = PAGE.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+)\n([\s\S]*?)(?=^## |\Z)", text, flags=re.MULTILINE))
    claimed = [name for name in sections if name != "What is not claimed"]
    assert len(claimed) == 5
    assert [name for name in claimed if "| code | law |" not in sections[name]] == []
    # Every row of a table that links a file of code is a rule, so none escapes the test above.
    assert len(RULES) == len(re.findall(r"\]\([^)]*\.py\).* \|$", text, flags=re.MULTILINE))
