"""Operations over the devices of several processes: programs/checks.py, in jobs of several forms."""

import re

import pytest

from tests.processes import jobs

CHECKS = len(re.findall(r"^@check", (jobs.PROGRAMS / "checks.py").read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("processes", "devices"),
    [
        (2, 2),
        (4, 2),
        pytest.param(3, 1, marks=pytest.mark.slow),
    ],
)
def test_all_checks(processes, devices):
    job = jobs.run_well(processes, "checks.py", devices=devices, seconds=100)
    for index in range(processes):
        passed = [line for line in job.lines(index) if line.startswith("ok ")]
        assert len(passed) == CHECKS > 21, str(job)
