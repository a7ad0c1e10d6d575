"""Processes that die in the midst of a collective: the others end by name, in bounded time."""

import subprocess
import sys
import time

import pytest

from effax.distributed.supervisor import free_port
from effax.distributed.watchdog import GRACE, LOST
from tests.processes import jobs

HEARTBEAT = 3
SLOW = pytest.mark.slow


def started(program, how, processes, devices=1):
    """The processes of a job without a supervisor."""
    address = f"127.0.0.1:{free_port()}"
    return [
        subprocess.Popen(
            [
                sys.executable,
                *map(str, (jobs.PROGRAMS / program, how, address, processes, index, HEARTBEAT)),
            ],
            env=jobs.variables({"EFFAX_NUM_CPU_DEVICES": str(devices)}),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for index in range(processes)
    ]


def killed(processes, devices, victim):
    """Each process of a job, one of which dies: exit code, output, seconds after the death."""
    run = started("losing.py", victim, processes, devices)
    try:
        run[victim].wait(timeout=40)
        death = time.monotonic()
        found = []
        for one in run:
            out, err = one.communicate(timeout=30)
            found.append((one.returncode, out, err, time.monotonic() - death))
        return found
    finally:
        for one in run:
            one.kill()
            one.wait()


@pytest.mark.parametrize(
    ("processes", "devices", "victim"),
    [
        (3, 1, 0),
        pytest.param(3, 1, 1, marks=SLOW),
        pytest.param(2, 2, 1, marks=SLOW),
        (4, 2, 0),
    ],
)
def test_the_others_end_by_name(processes, devices, victim):
    found = killed(processes, devices, victim)
    for index, (code, out, err, seconds) in enumerate(found):
        if index == victim:
            assert code == -9
            continue
        said = f"process {index}, {seconds:.1f} s after, code {code}\n{out}\n{err[-4000:]}"
        assert code == LOST, said
        assert (
            f"ProcessLostError: lost to process {index}: process {victim} of {processes}" in err
        ), said
        assert seconds < HEARTBEAT + GRACE + 4, said


@pytest.mark.slow
def test_what_started_the_job_tells_it_at_once():
    job = jobs.run(2, "losing.py", 0, devices=2, seconds=40)
    assert job.code == 128 + 9, str(job)
    assert "lost to process 1: process 0 of 2 was ended by SIGKILL" in job.err, str(job)
    assert jobs.none_is_left(job)


@pytest.mark.parametrize("how", ["well", pytest.param("error", marks=SLOW)])
def test_process_0_ends_first(how):
    """Its child, the service, stays until the others have ended or been told."""
    run = started("plain.py", how, 3)
    try:
        found = [(*one.communicate(timeout=40), one.returncode) for one in run]
    finally:
        for one in run:
            one.kill()
    wanted = {"well": [0, 0, 0], "error": [1, LOST, LOST]}[how]
    assert [code for *_, code in found] == wanted, found
    for index, (out, err, _) in enumerate(found):
        assert "276.0" in out
        named = f"lost to process {index}: process 0 of 3" in err
        assert named == (how == "error" and index > 0), err
