"""Transformations under explicit axes, on eight devices; run by `test_mesh.py` in its own process."""

import json
from pathlib import Path

import pytest

import effax
from tests.parallel.explicit_cases import answers
from tests.parallel.in_pieces import quick
from tests.parallel.transformed_cases import functions, programs

if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

WANTED = json.loads((Path(__file__).parent / "transformed_types.json").read_text())
ALLOWED = {"vmap cond": "float32[2,8@x,4@y] 41.65"}  # JAX's select needs a predicate that is cut
FEW = {"softmax", "spread", "written", "relu", "pieces", "bits"}


@pytest.mark.parametrize("name", quick(functions(effax), FEW))
def test_types_and_values_are_jaxs(name):
    asked = [case for case in WANTED if case.split(" ", 1)[1] == name]
    found = answers(effax, asked, programs)
    assert found == {case: ALLOWED.get(case, WANTED[case]) for case in asked}


def test_every_program_has_an_answer():
    assert list(WANTED) == list(programs(effax))
