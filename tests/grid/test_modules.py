"""lax, nn, scipy, image, ops and trees on the grid; numpy's part is in the tables beside."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grid.ask import Oracle, jax_python
from tests.grid.elsewhere import ELSEWHERE, MODULES
from tests.grid.play import Entry, Record, examples, recorded, replay, search
from tests.names.refused import reason

GOLDENS = Path(__file__).parents[1] / "goldens"
TABLES = ["special", "stats", "nn", "lax_elements", "lax_shapes", "lax_folds", "matrices", "scipy"]
TABLES += ["trees", "found"]


def table(name: str) -> dict[str, Entry]:
    found: dict[str, Entry] = importlib.import_module(f"tests.grid.table_{name}").TABLE
    return found


@functools.cache
def records(name: str) -> dict[str, list[Record]]:
    return recorded(GOLDENS / f"grid_{name}.json")


FUNCTIONS = [(part, name) for part in TABLES for name in table(part)]


@pytest.mark.parametrize(("part", "name"), FUNCTIONS)
def test_recorded(part: str, name: str) -> None:
    """What JAX said of a few cases; one of each function under jit, vmap and differences."""
    complaints = replay(table(part)[name], records(part)[name], transformed=1)
    assert not complaints, "\n".join(complaints)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    python = jax_python()
    if python is None:
        pytest.skip("no Python with jax is here: EFFAX_BENCH_JAX can name one")
    asked = Oracle(python)
    yield asked
    asked.close()


@pytest.mark.slow
@pytest.mark.parametrize(("part", "name"), FUNCTIONS)
def test_searched(part: str, name: str, oracle: Oracle) -> None:
    search(table(part)[name], name, oracle, examples())


@pytest.mark.slow
@pytest.mark.parametrize(("part", "name"), FUNCTIONS)
def test_recorded_under_transforms(part: str, name: str) -> None:
    complaints = replay(table(part)[name], records(part)[name], transformed=99)
    assert not complaints, "\n".join(complaints)


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
