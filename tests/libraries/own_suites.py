"""The tests that libraries ship with themselves, run on effax; by hand, as it takes an hour.

    python own_suites.py build/libraries build/own_suites [library or file of tests ...]

runs each file of tests of the folder's libraries in a process of its own, with a time limit, leaves
its outcomes (XML) in the second folder, and prints how many tests of each library passed, were
skipped and failed, and how many failed because they ask for JAX's private modules or for what is
not installed. Then it lists the other failures.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

LIBRARIES = ("chex", "haiku", "jmp", "jraph", "mctx", "optax")
SECONDS = 600
ROOT = Path(__file__).resolve().parents[2]

# Names that are JAX's inside, or its type of a jitted function; and what tests use besides.
_PRIVATE = re.compile(r"is private to JAX|jax\._src|PjitFunction|tensorflow")


def run(folder: Path, file: Path, outcomes: Path) -> None:
    """Runs one file of tests; where time runs out there are no outcomes."""
    paths = [str(folder), str(ROOT)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        sys.executable,
        "-P",
        "-m",
        "effax.as_jax",
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--tb=short",
    ]
    command += ["-p", "no:cacheprovider", "--import-mode=importlib", f"--rootdir={folder}"]
    command += [f"--junitxml={outcomes}", "-o", "python_files=*_test.py", str(file)]
    try:
        subprocess.run(command, cwd=folder, env=env, timeout=SECONDS, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"{file}: not finished in {SECONDS} s")


def read(outcomes: Path) -> tuple[Counter[str], list[str]]:
    """How many tests of a file came to what, and the names of those that failed."""
    count: Counter[str] = Counter()
    failed = []
    for case in ElementTree.parse(outcomes).iter("testcase"):
        (kind, text), *_ = [(x.tag, f"{x.get('message')} {x.text}") for x in case] or [
            ("passed", "")
        ]
        if kind in ("failure", "error"):
            kind = "private" if _PRIVATE.search(text) else "failed"
            if kind == "failed":
                failed.append(
                    f"{case.get('classname')}.{case.get('name')}: {text.splitlines()[0][:120]}"
                )
        count[kind] += 1
    return count, failed


def main(folder: Path, target: Path, *chosen: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    everything: list[str] = []
    for asked in chosen or LIBRARIES:
        total: Counter[str] = Counter()
        here = folder / asked
        for file in sorted(here.rglob("*_test.py")) if here.is_dir() else [here]:
            outcomes = target / f"{'.'.join(file.relative_to(folder).with_suffix('').parts)}.xml"
            outcomes.unlink(missing_ok=True)
            run(folder, file, outcomes)
            count, failed = read(outcomes) if outcomes.exists() else (Counter(unfinished=1), [])
            total += count
            everything += failed
        print(asked, ", ".join(f"{n} {kind}" for kind, n in sorted(total.items())), flush=True)
    print(*everything, sep="\n")


if __name__ == "__main__":
    main(*(Path(x).resolve() for x in sys.argv[1:3]), *sys.argv[3:])
