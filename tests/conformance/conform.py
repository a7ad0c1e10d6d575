#!/usr/bin/env python3
"""Ask effax JAX's own tests, ask jax those that effax did not pass, and write docs/conformance.md.

`make conformance` runs this with the environments that it has made:

    conform.py --groups lax,callback    # record these groups, and write the page
    conform.py --groups lax --again     # ask effax only what it left, and write the page
    conform.py --day                    # a sample of the day, held against what is recorded
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import report  # noqa: E402
import suite  # noqa: E402

OUT = ROOT / "build" / "conformance"
DEFAULT_REPO = ROOT.parent / ".mirror" / "jax-ml+jax" / "repo"
DAY_SAMPLE = 10  # per cent of a file's tests


def repository(named: str | None) -> pathlib.Path:
    """Return the copy of JAX's repository, or leave with a sentence that names the one missing."""
    path = pathlib.Path(named or os.environ.get("JAX_REPO") or DEFAULT_REPO)
    if not path.exists():
        print(f"conformance: no copy of JAX's repository at {path}; JAX_REPO=PATH names one.")
        raise SystemExit(3)
    return path


class Runner:
    """The two targets, each asked by `run_suite.py` in its own environment."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.repo = repository(args.jax_repo)
        OUT.mkdir(parents=True, exist_ok=True)

    def ask(self, target: str, name: str, *arguments: str) -> dict:
        """Run one target on some files; return the result file's content."""
        out = OUT / f"{name}.{target}.json"
        out.unlink(missing_ok=True)
        python = {"effax": self.args.effax_python, "jax": self.args.jax_python}[target]
        path = [str(ROOT)] if target == "effax" else [self.site_packages()]
        command = [sys.executable, str(HERE / "run_suite.py"), "--target", target]
        command += ["--python", python, "--path", os.pathsep.join(path)]
        command += ["--jax-repo", str(self.repo), "--out", str(out), "--details"]
        command += ["--workers", str(self.args.workers), "--num-cases", str(self.args.num_cases)]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        subprocess.run([*command, *arguments], check=True, env=environment)
        return json.loads(out.read_text(encoding="utf-8"))

    def site_packages(self) -> str:
        """Return where absl and pytest are, which the environment of the benchmarks lacks."""
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        command = [self.args.effax_python, "-c", code]
        return subprocess.run(command, check=True, text=True, capture_output=True).stdout.strip()

    def compare(self, name: str, *arguments: str) -> report.Compared:
        """Ask effax, and then jax all that effax did not pass."""
        mine = self.ask("effax", name, *arguments)
        theirs: dict = {"files": {}}
        if any(o != "passed" for s in mine["files"].values() for o in s["tests"].values()):
            asked = str(OUT / f"{name}.effax.json")
            theirs = self.ask("jax", name, "--only", asked)
        return report.compare(mine, theirs)


def record(runner: Runner, groups: list[str]) -> int:
    """Run whole groups, keep their results, and write the page."""
    for group in groups:
        compared = runner.compare(group, "--group", group)
        report.keep(group, compared)
        for test, failure in compared.left.items():
            reason = report.reason_of(test)
            print(f"{test}: {f'listed: {reason}' if reason else 'UNLISTED: ' + failure}")
    report.write_page()
    return 0


def again(runner: Runner, groups: list[str]) -> int:
    """Ask effax once more what it left of these groups, keep what has changed, write the page."""
    for group in groups:
        kept = report.Compared(**report.load(group))
        asked = OUT / f"{group}.left.json"
        asked.write_text(json.dumps(report.to_ask_again(kept.left)), encoding="utf-8")
        mine = runner.ask("effax", group, "--only", str(asked))
        report.keep(group, report.asked_again(kept, mine))
    report.write_page()
    return 0


def sample_of_the_day(runner: Runner) -> int:
    """Run files in the day's order until the time is spent; fail on what is not known to fail."""
    day = runner.args.date
    recorded = {file for group in report.recorded() for file in suite.GROUPS[group]}
    files = sorted(recorded.intersection(suite.GROUPS["priority"]))  # the larger, public ones
    random.Random(zlib.crc32(day.encode())).shuffle(files)
    known = {test for group in report.recorded() for test in report.load(group)["left"]}
    start, news, passed = time.monotonic(), {}, 0
    for file in files:
        if time.monotonic() - start > runner.args.seconds:
            break
        arguments = ("--files", file, "--sample", str(DAY_SAMPLE), "--salt", day)
        mine = runner.ask("effax", "day", *arguments)
        passed += mine["totals"]["passed"]
        failed = {
            f"{name}::{test['id']}" for name, s in mine["files"].items() for test in s["failures"]
        }
        failed |= {
            f"{name}::collection" for name, s in mine["files"].items() if s["collection_errors"]
        }
        if all(test in known or report.reason_of(test) for test in failed):
            continue
        theirs = runner.ask("jax", "day", "--only", str(OUT / "day.effax.json"))
        left = report.compare(mine, theirs).left
        news |= {t: e for t, e in left.items() if t not in known and not report.reason_of(t)}
    print(
        f"conformance of {day}: {passed} passed, {len(news)} failed that JAX passes and no list has"
    )
    for test, failure in news.items():
        print(f"  {test}: {failure}")
    return 1 if news else 0


def main() -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", default="all", help="comma-separated; all")
    parser.add_argument("--day", action="store_true", help="a sample of the day")
    parser.add_argument("--again", action="store_true", help="only what effax left")
    parser.add_argument("--page", action="store_true", help="only write the page anew")
    today = datetime.date.today().isoformat()
    parser.add_argument("--date", default=today, help="the day of the sample")
    parser.add_argument("--seconds", type=float, default=90, help="time of the day's sample")
    parser.add_argument("--effax-python", default=str(ROOT / ".venv-conformance/bin/python"))
    parser.add_argument("--jax-python", default=str(ROOT / ".venv-bench/bin/python"))
    parser.add_argument("--jax-repo", help="a bare copy of JAX's repository (or JAX_REPO)")
    parser.add_argument("--num-cases", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    if args.page:
        report.write_page()
        return 0
    runner = Runner(args)
    if args.day:
        return sample_of_the_day(runner)
    groups = report.GROUPS if args.groups == "all" else args.groups.split(",")
    return (again if args.again else record)(runner, groups)


if __name__ == "__main__":
    sys.exit(main())
