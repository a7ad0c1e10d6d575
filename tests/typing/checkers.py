"""Type checkers, asked about programs: which lines they refuse, and which they should.

`python -m tests.typing.checkers PYRIGHT` is what `make pyright` runs.
"""

import json
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT

PROGRAMS = sorted((ROOT / "tests" / "typing" / "programs").glob("*.py"))
Lines = dict[tuple[str, int], str]


def expected() -> set[tuple[str, int]]:
    """The lines of the programs that are marked `# refused`."""
    return {
        (path.name, number)
        for path in PROGRAMS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.endswith("# refused")
    }


def refused_by_mypy(paths: list[Path]) -> Lines:
    """The lines that mypy finds mistakes in, under the settings of pyproject.toml, with messages."""
    command = [sys.executable, "-m", "mypy", "--output", "json", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        (Path(e["file"]).name, e["line"]): e["message"] for e in found if e["severity"] == "error"
    }


def refused_by_pyright(pyright: str, paths: list[Path]) -> Lines:
    """The lines that pyright finds mistakes in, with messages."""
    command = [pyright, "--outputjson", "--pythonpath", sys.executable, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {
        (Path(e["file"]).name, e["range"]["start"]["line"] + 1): e["message"]
        for e in found
        if e["severity"] == "error"
    }


def main(pyright: str) -> str:
    """Return pyright's disagreements over examples, papers and the programs of tests/typing."""
    examples = refused_by_pyright(pyright, [])  # what pyproject.toml names
    return disagreement(examples, set()) + disagreement(
        refused_by_pyright(pyright, PROGRAMS), expected()
    )


def disagreement(found: Lines, wanted: set[tuple[str, int]]) -> str:
    """Return the lines that a checker wrongly refuses or lets pass; empty if there are none."""
    wrongly = [
        f"{file}:{line}: {found[file, line]}" for file, line in sorted(found.keys() - wanted)
    ]
    passed = [f"{file}:{line}: is not refused" for file, line in sorted(wanted - found.keys())]
    return "\n".join(wrongly + passed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) or 0)
