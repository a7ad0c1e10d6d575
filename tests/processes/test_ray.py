"""The example for Ray, run for real; `make ray` runs this where Ray is installed."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.architecture.sources import ROOT

pytest.importorskip("ray")

PROGRAM = ROOT / "examples" / "processes" / "ray_train.py"
SECONDS = 240


def start(folder, log):
    command = [sys.executable, PROGRAM, folder, "--processes", "2", "--devices", "2"]
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def losses(text):
    """The loss that was printed at each step, as it was printed."""
    return dict(re.findall(r"(step \d+): loss ([\d.]+)", text))


def test_a_process_is_killed_and_the_run_goes_on(tmp_path):
    """The losses are those of a run of the supervisor on this machine, in which nobody is killed."""
    log = tmp_path / "log"
    with log.open("w") as out:
        job = start(tmp_path / "run", out)
        try:
            limit = time.monotonic() + SECONDS
            while not (tmp_path / "run" / "step-000000060").exists():
                assert job.poll() is None and time.monotonic() < limit, log.read_text()
                time.sleep(0.2)
            first, second = map(
                int, re.findall(r"\d+", re.findall(r"processes (.*)", log.read_text())[0])
            )
            os.kill(second, signal.SIGKILL)
            assert job.wait(SECONDS) == 0, log.read_text()
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
    text = log.read_text()
    assert "a process was lost, 9 attempts are left" in text
    assert text.count("processes [") == 2, text
    command = [sys.executable, "-m", "effax.distributed", "run", "-n", "2", "--devices", "2"]
    command += [ROOT / "examples" / "processes" / "train.py", tmp_path / "other"]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert len(losses(text)) == 10
    assert losses(text) == losses(alone.stdout)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
