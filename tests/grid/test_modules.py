"""lax, nn, scipy, image, ops and trees on the grid; numpy's part is in the tables beside."""

from __future__ import annotations

import functools
import importlib
import json
from pathlib import Path

import pytest

from tests.grid.ask import Oracle
from tests.grid.elsewhere import ELSEWHERE, MODULES
from tests.grid.play import Entry, Record, examples, recorded, replay, search
from tests.names.refused import reason

GOLDENS = Path(__file__).parents[1] / "goldens"
TABLES = ["special", "stats", "nn", "lax_elements", "lax_shapes", "lax_folds", "matrices", "scipy"]
TABLES += ["trees", "found", "random", "indices"]


def table(name: str) -> dict[str, Entry]:
    found: dict[str, Entry] = importlib.import_module(f"tests.grid.table_{name}").TABLE
    return found


@functools.cache
def records(name: str) -> dict[str, list[Record]]:
    return recorded(GOLDENS / f"grid_{name}.json")


FUNCTIONS = [(part, name) for part in TABLES for name in table(part)]


# One in so many functions is transformed in CI; all are in the long run.
SAMPLED = 20


@pytest.mark.parametrize(("part", "name"), FUNCTIONS)
def test_recorded(part: str, name: str) -> None:
    """Compare with JAX's recorded answers to a few cases."""
    complaints = replay(table(part)[name], records(part)[name], transformed=0)
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] if i % SAMPLED else [])
        for i, each in enumerate(FUNCTIONS)
    ],
)
def test_transformed(part: str, name: str) -> None:
    """The same under jit, vmap and differences: CI asks one case of some functions."""
    complaints = replay(table(part)[name], records(part)[name][:1], transformed=1)
    assert not complaints, "\n".join(complaints)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "name"), FUNCTIONS)
def test_searched(part: str, name: str, oracle: Oracle) -> None:
    search(table(part)[name], name, oracle, examples())


def test_every_public_name_is_drawn_or_tested_elsewhere() -> None:
    drawn = {name for part in TABLES for name in table(part)}
    drawn |= {name.rpartition(".")[0] for name in drawn}  # the distributions
    names = json.loads((GOLDENS / "jax_names.json").read_text())["modules"]
    public = {
        f"{alias}.{name}"
        for alias, module in MODULES.items()
        for name in names[module]
        if reason(f"{module}.{name}") is None
    }
    assert sorted(public - drawn - ELSEWHERE.keys()) == []
    assert sorted(ELSEWHERE.keys() - public) == []
