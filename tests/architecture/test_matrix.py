"""The matrix has no hole: every effect has a cell in every column, or a reason why it can't."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from effax import matrix
from effax.effects.effect import find_effect
from tests.architecture.sources import ROOT

# The folders whose files are cells, and the files in them that hold the column itself.
COLUMNS = {
    "interpreters/jvp": {"dual"},
    "interpreters/batch": {"batched", "lanes", "parallel", "vmappables"},
    "interpreters/transpose": {"linear"},
    "interpreters/checkify": {"checking", "payload"},
    "interpreters/residual": {
        "exposing",
        "hoisting",
        "narrowing",
        "partition",
        "recomputing",
        "record",
        "replaying",
        "saving",
        "verdicts",
    },
    "backends/xla/lowering": {"arrays", "locations", "replay", "tagging", "writer"},
    "backends/xla/fast": {"path"},
    "backends/reference": {"table", "evaluate"},
}
FILES = [
    path
    for folder, own in COLUMNS.items()
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.stem not in own | {"__init__"}
]


def test_no_cell_is_empty():
    assert not matrix.holes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_cell_file_is_named_like_its_row_and_speaks_of_it(path: Path):
    row = ROOT / "effects" / "rows" / path.name
    helpers = path.stem.split("_")[0]
    assert row.exists() or (ROOT / "effects" / "rows" / f"{helpers}.py").exists(), (
        f"{path} is a cell file of no row: effects/rows/{path.name} does not exist"
    )
    imported = {
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("effax.effects")
        for name in (*(alias.name for alias in node.names), node.module.rpartition(".")[2])
    }
    assert path.stem in imported or helpers in imported, f"{path} imports nothing of its row"


def test_refusals_name_cells_that_there_are_and_say_why():
    for (column, effect), reason in matrix.REFUSED.items():
        assert column in matrix.COLUMNS
        find_effect(effect)
        assert len(reason.split()) > 3


def test_every_effect_has_a_family_with_a_row_file():
    families = matrix.library_families()
    code = (
        "import effax\nfrom effax.effects.effect import all_effects\n"
        "print(*(f'{e.name}:{e.family}' for e in all_effects()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    strays = [x for x in done.stdout.split() if x.rpartition(":")[2] not in families]
    assert strays == []


def test_a_users_interpreter_is_one_more_column(capsys):
    example = str(ROOT / "examples" / "transforms" / "interval.py") + ":Interval"
    matrix.main([example, "--family", "elementwise", "--family", "control"])
    text = capsys.readouterr().out
    head, *lines = text.splitlines()
    assert head.split()[-1] == "interval"
    cells = {line.split()[0]: line.split() for line in lines if len(line.split()) > 2}
    assert cells["add"][-1] == "rule"
    assert cells["scan"][-1] == "functor"
    assert cells["rem"][-1] == "generic"


def test_an_interpreter_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no interpreter named"):
        matrix.find_interpreter("effax.extend:stage")
