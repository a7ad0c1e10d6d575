"""The claims hold."""

import importlib.util
from pathlib import Path

import pytest


def load():
    place = Path(__file__).with_name("run.py")
    spec = importlib.util.spec_from_file_location("griewank_2000_revolve_run", place)
    assert spec is not None and spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    return run


def test_claims_hold():
    for claim, measurement, holds in load().rows():
        assert holds, f"{claim}: {measurement}"


@pytest.mark.slow
def test_claims_hold_at_length():
    for claim, measurement, holds in load().rows(large=True):
        assert holds, f"{claim}: {measurement}"
