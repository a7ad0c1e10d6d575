"""The program that docs/processes.md and the files for clusters start, and those files."""

import re
import shutil
import subprocess

import pytest

from tests.architecture.sources import ROOT
from tests.processes import jobs

FOLDER = ROOT / "examples" / "processes"


@pytest.mark.slow
def test_the_program_trains_and_goes_on(tmp_path):
    job = jobs.run_well(2, FOLDER / "train.py", tmp_path, devices=2, seconds=60)
    losses = [float(line.split("loss ")[1]) for line in job.lines(0) if "loss" in line]
    assert len(losses) == 10 and losses[-1] < 0.05 < losses[0], str(job)
    shutil.rmtree(tmp_path / "step-000000200")
    again = jobs.run_well(4, FOLDER / "train.py", tmp_path, seconds=60)
    steps = [line for line in again.lines(0) if "step" in line]
    assert [line.split(":")[0] for line in steps] == ["step 200"]
    assert float(steps[0].split("loss ")[1]) == pytest.approx(losses[-1], rel=1e-4)


@pytest.mark.slow
def test_the_large_program_has_the_losses_of_one_process():
    """The losses that docs/scaling.md shows for one device."""
    program = ROOT / "examples" / "scaling" / "transformer.py"
    job = jobs.run_well(2, program, 1, 2, 2, 2, "--job", devices=4, seconds=120)
    losses = [float(x) for x in job.lines(0)[-1].split()]
    shown = [7.140518, 5.529159, 4.705438, 3.994092]
    assert losses[::3] == pytest.approx(shown, rel=1e-5), str(job)


def test_the_script_for_slurm_is_one():
    subprocess.run(["bash", "-n", FOLDER / "slurm.sh"], check=True, timeout=10)


def test_the_files_name_what_there_is():
    for file in ("slurm.sh", "kubernetes.yaml"):
        text = (FOLDER / file).read_text(encoding="utf-8")
        for path in re.findall(r"examples/[\w/.]+", text):
            assert (ROOT / path).exists(), path
