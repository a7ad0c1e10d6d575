"""Libraries' own tests, run on JAX and on effax side by side: `make libraries-own LIBRARY=optax`.

    python tests/libraries/own_suites.py --sources build/own --path build/libraries optax chex

runs the tests of each library (all of `suites.py`, or the named) on JAX first, then on effax those
that passed, and writes the library's row of the table in docs/libraries.md. `--sources` has a
checkout of each library's repository, at its tag, or gets one; `--path` (given once or more) has folders of
installed libraries. What JAX answered is kept in `--out` and asked again with `--again`; the
failures are written there too, with their tracebacks.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from suites import REASONS, SUITES, Suite

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/libraries.md"
BEGIN, END = "<!-- own tests: written by own_suites.py -->", "<!-- own tests: end -->"


class Runner:
    """Runs suites on one of two libraries, in processes of their own."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.out: Path = args.out
        self.out.mkdir(parents=True, exist_ok=True)

    def ask(self, suite: Suite, which: str, given: set[str] | None = None) -> dict[str, dict]:
        """Run a suite on "jax" or "effax", and return what each of its tests came to."""
        args, folder = self.args, self.args.sources / suite.name
        outcomes = self.out / f"{suite.name}.{which}.jsonl"
        outcomes.unlink(missing_ok=True)
        paths = [folder, *args.path, Path(__file__).parent / "plugin"]
        command = [args.jax_python, "-P", "-m", "pytest"]
        env = os.environ | dict(suite.environment)
        env |= {"PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu"}
        if which == "effax":
            paths.append(ROOT)
            command = [sys.executable, "-P", "-m", "effax.as_jax", "-m", "pytest"]
        env["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        command += ["-q", "-c", os.devnull, f"--rootdir={folder}", "-p", "no:cacheprovider"]
        command += ["-o", "python_files=*_test.py test_*.py", "--tb=short", "-p", "outcomes"]
        command.append("--continue-on-collection-errors")
        command += [
            f"--outcomes={outcomes}",
            f"--seconds={args.seconds}",
            f"--one-in={suite.one_in}",
        ]
        command += [f"--{'deselect' if '::' in x else 'ignore'}={x}" for x in suite.without]
        if given is not None:
            chosen = self.out / f"{suite.name}.given"
            chosen.write_text("\n".join(sorted(given)))
            command += [f"--given={chosen}"]
        unfinished = self.out / f"{suite.name}.{which}.unfinished"
        unfinished.unlink(missing_ok=True)
        with open(self.out / f"{suite.name}.{which}.log", "w") as log:
            try:
                subprocess.run(
                    [*command, *suite.tests], cwd=folder, env=env, timeout=args.limit,
                    stdout=log, stderr=log,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                unfinished.touch()
                print(f"{suite.name}: {which} did not finish in {args.limit} s", file=sys.stderr)
        return read(outcomes)


def fetch(suite: Suite, folder: Path) -> None:
    """Clone a library's repository, at its tag, where there is no checkout of it."""
    if not folder.is_dir():
        subprocess.run(["git", "clone", "-q", suite.repository, str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "checkout", "-q", suite.tag], check=True)


def read(outcomes: Path) -> dict[str, dict]:
    """The last outcome of each test (a set-up that fails has none after it)."""
    if not outcomes.exists():
        return {}
    found: dict[str, dict] = {}
    for line in outcomes.read_text().splitlines():
        one = json.loads(line)
        if found.get(one["test"], {}).get("outcome") != "failed":
            found[one["test"]] = one
    return found


def chosen(test: str, suite: Suite) -> bool:
    """Whether a test is in the part of its suite that is run."""
    return zlib.crc32(test.encode()) % suite.one_in == 0


def reason(library: str, test: str, text: str) -> str:
    """Say why a test fails here that passes on JAX, as far as `REASONS` know."""
    said = f"{library}::{test}: {text}"
    return next(
        (why for pattern, why in REASONS if re.search(pattern, said, re.S)), "not explained"
    )


def compare(runner: Runner, suite: Suite) -> str:
    """Run a suite on both, and return its row of the table."""
    fetch(suite, runner.args.sources / suite.name)
    kept = runner.out / f"{suite.name}.jax.jsonl"
    theirs = read(kept) if kept.exists() and not runner.args.again else runner.ask(suite, "jax")
    passed = {t for t, one in theirs.items() if one["outcome"] == "passed" and chosen(t, suite)}
    mine = runner.out / f"{suite.name}.effax.jsonl"
    ours = read(mine) if runner.args.kept else runner.ask(suite, "effax", passed)
    files = {test: one for test, one in ours.items() if "::" not in test}  # not to be imported
    reasons: Counter[str] = Counter()
    report = []
    for test in sorted(passed):
        one = ours.get(test) or files.get(test.partition("::")[0]) or {"outcome": "missing"}
        if one["outcome"] != "passed":
            text = one.get("text", "it was not run to its end")
            reasons[reason(suite.name, test, text)] += 1
            report.append(f"{test}: {one['outcome']}\n{text}\n")
    (runner.out / f"{suite.name}.failures").write_text("\n".join(report))
    here = len(passed) - len(report)
    share = f"{100 * here / max(len(passed), 1):.1f} %"
    rest = "; ".join(f"{n} {why}" for why, n in reasons.most_common())
    part = f"one in {suite.one_in}" if suite.one_in > 1 else "all"
    if (runner.out / f"{suite.name}.jax.unfinished").exists():
        part += f", the first {len(theirs)}"
    return f"| {suite.name} {suite.tag} | {part} | {len(passed)} | {here} | {share} | {rest} |"


def write(rows: list[str]) -> None:
    """Put rows into the table of the page, in place of those of the same libraries."""
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    table, _, tail = rest.partition(END)
    lines = table.strip().splitlines()
    known = {line.split()[1]: line for line in [*lines[2:], *rows]}
    body = [*lines[:2], *(known[name] for name in sorted(known))]
    PAGE.write_text("\n".join([head + BEGIN, *body, END]) + tail)


def main() -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("libraries", nargs="*", help="all, where none is named")
    parser.add_argument("--sources", type=Path, default=ROOT / "build/own")
    parser.add_argument("--path", type=Path, action="append", default=[])
    parser.add_argument("--out", type=Path, default=ROOT / "build/own-outcomes")
    parser.add_argument("--jax-python", default=str(ROOT / ".venv-bench/bin/python"))
    parser.add_argument("--seconds", type=int, default=60, help="the time of a test")
    parser.add_argument("--limit", type=int, default=900, help="the time of a suite")
    parser.add_argument("--again", action="store_true", help="ask JAX again")
    parser.add_argument("--kept", action="store_true", help="write the rows of kept outcomes")
    args = parser.parse_args()
    args.sources, args.out = args.sources.resolve(), args.out.resolve()
    args.path = [path.resolve() for path in args.path]
    for suite in SUITES:
        if suite.name in (args.libraries or [s.name for s in SUITES]):
            row = compare(Runner(args), suite)
            write([row])
            print(row, flush=True)


if __name__ == "__main__":
    main()
