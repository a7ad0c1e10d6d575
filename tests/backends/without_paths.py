"""Each fast path switched off by itself, for the files of tests that take it: `make paths`.

A file that never takes a path is the same with and without it. So the suite is run once with all
paths on, to note which files take which (and must pass), and then those files once for each path.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from effax.backends.xla.fast.path import PATHS
from effax.effects.columns import load
from tests.architecture.sources import ROOT

SETS_THEM = "tests/backends/test_fast_paths.py"
"""It chooses the paths that it tests, whatever the environment asks for."""


def run(paths: str, workers: str, *arguments: str, notes: str = "") -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-n", workers, *arguments]
    env = os.environ | {"EFFAX_FAST_PATHS": paths, "EFFAX_PATHS_TAKEN": notes}
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def taken(workers: str, tests: list[str]) -> tuple[int, dict[str, list[str]]]:
    """Whether tests failed, and the files that take each path."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "taken")
        notes.touch()
        plugin = ["-p", "tests.backends.paths_taken", "--dist", "loadfile"]
        status = run("all", workers, *plugin, *tests, notes=str(notes))
        pairs = sorted({tuple(line.split()) for line in notes.read_text().splitlines()})
    return status, {
        name: [file for n, file in pairs if n == name and file != SETS_THEM] for name in PATHS
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", default="2", help="processes")
    parser.add_argument("tests", nargs="*", help="instead of all")
    asked = parser.parse_args()
    load("effax.backends.xla.lowering")
    load("effax.backends.xla.fast")
    status, files_of = taken(asked.n, asked.tests)
    for name, files in files_of.items():
        print(f"\nwithout {name}: {len(files)} files take it: {' '.join(files)}", flush=True)
        if files and run(f"-{name}", asked.n, *files):
            print(f"FAILED without {name}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
