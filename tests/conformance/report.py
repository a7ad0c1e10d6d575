"""Tests that effax and jax passed: kept in `results/`, explained by `reasons.toml`, printed."""

from __future__ import annotations

import collections
import datetime
import fnmatch
import functools
import json
import pathlib
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import suite

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results"
PAGE = ROOT / "docs" / "conformance.md"
GROUPS = [group for group in suite.GROUPS if group not in ("priority", "smoke")]

HEAD = """\
# JAX's own tests

`make conformance` runs the tests of JAX at tag {ref} with effax, by public names only ([how](../tests/conformance/README.md)).
The tests that effax does not pass are run with jax {jax} as well. A test counts if jax passes it in the same environment. In the
text that a test expects of an error, the name effax counts for JAX. "Of other issues" are features that effax lacks as a whole, and
many devices. Tests that need a private name of JAX without a public counterpart are left out. The runner writes this page from
four fifths of the tests, chosen by a hash of their names. If "measured" has a second date, only the tests that were left have been
run again since the first.

| group | JAX passes | effax passes | of them | of other issues | of the rest | listed | unlisted | measured |
|---|--:|--:|--:|--:|--:|--:|--:|---|
"""


@dataclass
class Compared:
    """One group: what both passed, and what jax alone passed, with how effax failed it."""

    passed: int
    left: dict[str, str]
    refused_by_both: int
    jax: str
    date: str
    again: str = ""
    """When effax was last asked what is left, if that was after `date`."""

    @property
    def jax_passes(self) -> int:
        """The tests that jax passes: those that effax passes too, and those left."""
        return self.passed + len(self.left)


def compare(mine: dict, theirs: dict) -> Compared:
    """Compare two result files: effax's, and jax's on what effax did not pass."""
    left: dict[str, str] = {}
    passed = both = 0
    for file, summary in mine["files"].items():
        errors = {t["id"]: t["error"] for t in summary["failures"]}
        jax_outcomes = theirs["files"].get(file, {}).get("tests", {})
        for error in summary["collect_errors"]:
            left[f"{file}::collection"] = error["error"]
        for test, outcome in summary["tests"].items():
            if outcome == "passed":
                passed += 1
            elif outcome != "internal" and jax_outcomes.get(test) == "passed":
                left[f"{file}::{test}"] = errors.get(test, outcome)
            elif outcome in ("failed", "timeout", "crashed"):
                both += 1
    version = theirs.get("meta", {}).get("target_version", "")
    return Compared(passed, left, both, version.split(" ")[0], datetime.date.today().isoformat())


def asked_again(kept: Compared, mine: dict) -> Compared:
    """The result in which what was left has been asked of effax once more; the rest is as it was."""
    left, passed = dict(kept.left), kept.passed
    for file, summary in mine["files"].items():
        errors = {t["id"]: t["error"] for t in summary["failures"]}
        for test, outcome in summary["tests"].items():
            name = f"{file}::{test}"
            if name not in left:
                continue
            passed += outcome == "passed"
            if outcome in ("passed", "internal"):
                del left[name]
            else:
                left[name] = errors.get(test, outcome)
    today = datetime.date.today().isoformat()
    return replace(kept, left=left, passed=passed, again="" if today == kept.date else today)


def to_ask_again(left: Iterable[str]) -> dict:
    """A result file with what is left, as `run_suite.py --only` reads it."""
    files: dict = {}
    for name in left:
        file, _, test = name.partition("::")
        files.setdefault(file, {"tests": {}})["tests"][test] = "failed"
    return {"files": files}


def keep(group: str, compared: Compared) -> None:
    """Write a group's result to its file."""
    RESULTS.mkdir(exist_ok=True)
    content = json.dumps(asdict(compared), indent=1, sort_keys=True) + "\n"
    (RESULTS / f"{group}.json").write_text(content, encoding="utf-8")


def load(group: str) -> dict:
    """Read a group's result."""
    return json.loads((RESULTS / f"{group}.json").read_text(encoding="utf-8"))


def recorded() -> list[str]:
    """The groups that have a result."""
    return [group for group in GROUPS if (RESULTS / f"{group}.json").exists()]


@functools.cache
def reasons() -> list[tuple[str, list[str]]]:
    """The table of reasons: each with the patterns of the tests that it is for."""
    table = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    return [(row["why"], row["tests"]) for row in table.get("reason", [])]


@functools.cache
def of_other_issues() -> frozenset[str]:
    """The reasons that are work of another issue: what is missing wholesale, many devices."""
    table = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    return frozenset(row["why"] for row in table.get("reason", []) if "issue" in row)


@functools.cache
def reason_of(test: str) -> str | None:
    """Why a test is left as it is, or None where nobody has said."""
    for why, patterns in reasons():
        if any(fnmatch.fnmatchcase(test, pattern) for pattern in patterns):
            return why
    return None


def write_page() -> None:
    """Write docs/conformance.md from the results and the reasons."""
    results = {group: Compared(**load(group)) for group in recorded()}
    versions = sorted({r.jax for r in results.values() if r.jax})
    lines = [HEAD.format(ref=suite.DEFAULT_REF, jax=", ".join(versions))]
    for group, result in results.items():
        whys = [reason_of(test) for test in result.left]
        elsewhere = sum(why in of_other_issues() for why in whys)
        unlisted = whys.count(None)
        shares = [
            f"{100 * result.passed / max(asked, 1):.1f} %"
            for asked in (result.jax_passes, result.jax_passes - elsewhere)
        ]
        lines.append(
            f"| {group} | {result.jax_passes} | {result.passed} | {shares[0]} | {elsewhere} |"
            f" {shares[1]} | {len(whys) - elsewhere - unlisted} | {unlisted} | {result.date}"
            f"{f'; left: {result.again}' if result.again else ''} |\n"
        )
    for group, result in results.items():
        if result.left:
            lines.append(f"\n## {group}\n\n")
            lines += _failures(result)
    PAGE.write_text("".join(lines), encoding="utf-8")


def _failures(result: Compared) -> list[str]:
    """The lines on what a group leaves: by reason, and what has none."""
    counts = collections.Counter(why for test in result.left if (why := reason_of(test)))
    lines = [f"- {count} × {why}\n" for why, count in counts.most_common()]
    for test, error in result.left.items():
        if reason_of(test) is None:
            words = error.replace("`", "'").replace("](", "] (").replace(">>>", "> > >")
            lines.append(f"- unlisted: `{test}`: `{words[:120].strip()}`\n")
    return lines
