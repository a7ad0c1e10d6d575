"""The claims hold."""

import importlib.util
from pathlib import Path


def test_claims_hold():
    place = Path(__file__).with_name("run.py")
    spec = importlib.util.spec_from_file_location("lew_2023_adev_run", place)
    assert spec is not None and spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    for claim, measurement, holds in run.rows():
        assert holds, f"{claim}: {measurement}"
