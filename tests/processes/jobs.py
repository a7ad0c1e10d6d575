"""Jobs of several processes on this machine, started as users do, and bounded in time."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
ROOT = HERE.parents[1]


class Job:
    """The output of a job, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def lines(self, index: int) -> list[str]:
        """The lines that a process has printed."""
        prefix = f"[{index}] "
        return [x.removeprefix(prefix) for x in self.out.splitlines() if x.startswith(prefix)]

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.out[-6000:]}\n{self.err[-6000:]}"


def command(processes, *program, devices=1, restarts=0, grace=15):
    options = ["-n", processes, "--devices", devices, "--restarts", restarts, "--grace", grace]
    start = [sys.executable, "-m", "effax.distributed", "run"]
    return [*start, *map(str, options), *map(str, program)]


def run(processes, program, *arguments, seconds=60, environment=(), **options) -> Job:
    """Run a program of this folder in several processes, for at most some seconds."""
    line = command(processes, PROGRAMS / program, *arguments, **options)
    started = subprocess.Popen(
        line, cwd=ROOT, env=variables(environment), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        # The processes of the job die with what has started them.
        started.kill()
        out, err = started.communicate(timeout=10)
        raise AssertionError(f"not done in {seconds} s\n{out[-6000:]}\n{err[-6000:]}") from None
    return Job(started.returncode, out, err)


def variables(more=()):
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    return {**kept, "EFFAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **dict(more)}


def run_well(processes, program, *arguments, **options) -> Job:
    """The same for a job that must end well."""
    job = run(processes, program, *arguments, **options)
    assert job.code == 0, str(job)
    return job


def none_is_left(job) -> bool:
    """Whether all processes whose numbers a job has printed ("pid 123") have ended."""
    return not any(map(runs, re.findall(r"pid (\d+)", job.out)))


def runs(pid) -> bool:
    """Whether there is a process with a number that has not ended, as a zombie has."""
    try:
        state = Path(f"/proc/{int(pid)}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"
