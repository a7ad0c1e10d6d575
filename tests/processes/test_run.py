"""`python -m effax.distributed run`: output, exit codes, restarts, and that nothing is left over."""

import os
import signal
import subprocess
import time

import pytest

from tests.processes import jobs


def test_output_says_whose_it_is():
    job = jobs.run_well(2, "devices.py", "an argument", devices=3, seconds=40)
    first, second = job.lines(0), job.lines(1)
    assert first[:2] == [
        "['an argument'] process 0 of 2",
        "6 devices, 3 here, owners [0, 0, 0, 1, 1, 1]",
    ]
    assert second[0] == "['an argument'] process 1 of 2"
    assert "[1] on stderr" in job.err and "[1] on stderr" not in job.out


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        pytest.param("code", 7, "process 0 ended with code 7", marks=pytest.mark.slow),
        pytest.param("signal", 128 + 9, "process 0 was ended by SIGKILL", marks=pytest.mark.slow),
        pytest.param("error", 1, "ValueError: no more data", marks=pytest.mark.slow),
        pytest.param("unconnected", 7, "ending 1 processes by SIGTERM", marks=pytest.mark.slow),
    ],
)
def test_one_process_ends_all(how, code, said):
    start = time.monotonic()
    job = jobs.run(2, "ending.py", how, grace=2, seconds=40)
    assert job.code == code, str(job)
    assert said in job.err
    assert time.monotonic() - start < 25
    assert jobs.none_is_left(job)


def test_the_others_are_told_by_name_why_they_end():
    job = jobs.run(2, "ending.py", "error", grace=15, seconds=40)
    assert "[1] effax.errors.ProcessLostError: lost to process 1: process 0 of 2" in job.err, str(
        job
    )
    assert "failed with ValueError: no more data" in job.err
    assert jobs.none_is_left(job)


@pytest.mark.slow
def test_restarts():
    job = jobs.run_well(2, "ending.py", "second attempt", restarts=2, grace=1, seconds=60)
    assert job.err.count("[effax] restart") == 1
    assert job.lines(0)[-1] == "well"
    assert jobs.none_is_left(job)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_supervisor(number):
    started = subprocess.Popen(
        jobs.command(2, jobs.PROGRAMS / "sleeping.py", grace=2),
        env=jobs.variables(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    pids = [started.stdout.readline().split("pid ")[1] for _ in range(2)]
    os.kill(started.pid, number)
    started.communicate(timeout=20)
    assert started.returncode == (-9 if number == signal.SIGKILL else 128 + 15)
    end = time.monotonic() + 5
    while any(map(jobs.runs, pids)):
        assert time.monotonic() < end
        time.sleep(0.1)
