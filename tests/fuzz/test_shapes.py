"""Functions of two arrays, of shapes that fit and shapes that don't, against JAX's recorded types.

tests/goldens/shapes.json has an answer for each function and each pair of nine shapes. CI asks a
few pairs of each function, `make test-all` every pair.
"""

from __future__ import annotations

import json
from random import Random

import pytest

from tests.fuzz.forgiven import forgiven
from tests.fuzz.judge import difference_of_types
from tests.goldens.make_shapes import PAIRS, PATH, case
from tests.grid.ask import Answer, types
from tests.grid.check import EFFAX

RECORDED: dict[str, list[str]] = json.loads(PATH.read_text(encoding="utf-8"))
SAMPLED = 6


def complaints(name: str, places: list[int]) -> list[str]:
    """Return the differences between effax and JAX for some pairs of shapes."""
    found = []
    for place in places:
        said = RECORDED[name][place]
        if said == "?":
            continue
        asked = case(name, *PAIRS[place])
        wanted = Answer(said.split("; "), [], []) if said else Answer(None, ["ValueError"], [])
        kind, why = difference_of_types(types(EFFAX, asked), wanted)
        if kind not in ("", "error") and not forgiven(name, kind, asked, why):
            left, right = PAIRS[place]
            found.append(f"{name} of {left} and {right}: {kind}: {why}")
    return found


@pytest.mark.parametrize("name", RECORDED)
def test_some_pairs(name):
    wrong = complaints(name, Random(name).sample(range(len(PAIRS)), SAMPLED))
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_all_pairs(name):
    wrong = complaints(name, list(range(len(PAIRS))))
    assert not wrong, "\n".join(wrong)
