"""A journal of questions and findings, as JSON lines; the next run goes on from there.

`asked.jsonl` has a line for each visit of a function (its seed draws the questions again),
`findings.jsonl` one for each cause, and `forgiven.jsonl` one for each cause that was let pass.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.judge import KINDS, Finding
from tests.grid.case import Case


class Journal:
    """The two files in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.asked, self.found = folder / "asked.jsonl", folder / "findings.jsonl"
        self.passed = folder / "forgiven.jsonl"
        self.visits = _lines(self.asked)
        self.forgiven = {(line["reason"], line["cause"]) for line in _lines(self.passed)}
        self.findings = {line["cause"]: line for line in _lines(self.found)}

    def visited(self, seed: int, turn: int) -> set[str]:
        """Functions that this seed's turn has been at."""
        return {v["function"] for v in self.visits if (v["seed"], v["turn"]) == (seed, turn)}

    def last_turn(self, seed: int) -> int:
        return max((v["turn"] for v in self.visits if v["seed"] == seed), default=0)

    def visit(self, **line: Any) -> None:
        self.visits.append(line)
        _append(self.asked, line)

    def add(self, finding: Finding) -> bool:
        """Write a finding down; False if its cause is known."""
        if finding.cause in self.findings:
            return False
        line = _line(finding)
        self.findings[finding.cause] = line
        _append(self.found, line)
        return True

    def forgive(self, finding: Finding, reason: str) -> None:
        """Write down what is let pass, once for each cause: a reason without any can be deleted."""
        if (reason, finding.cause) not in self.forgiven:
            self.forgiven.add((reason, finding.cause))
            _append(self.passed, {"reason": reason, **_line(finding)})

    def recall(self) -> list[Finding]:
        """The findings, the worst first."""
        made = [
            Finding(x["function"], x["kind"], Case.make(x["case"]), x["why"])
            for x in self.findings.values()
        ]
        return sorted(made, key=lambda f: (KINDS.index(f.kind), f.function))

    def keep(self, findings: list[Finding]) -> None:
        """Forget the other findings."""
        self.found.write_text("")
        self.findings = {}
        for finding in findings:
            self.add(finding)

    def summary(self) -> str:
        """Questions by family, findings by kind, and processor time."""
        questions: Counter[str] = Counter()
        for visit in self.visits:
            questions[family(visit["function"])] += sum(visit["asked"].values())
        kinds = Counter(line["kind"] for line in self.findings.values())
        hours = sum(v["cpu"] for v in self.visits) / 3600
        lines = [f"{name:20} {count:9} questions" for name, count in sorted(questions.items())]
        lines.append(f"{sum(questions.values())} questions in {hours:.2f} hours of processor time")
        found = ", ".join(f"{kinds[k]} {k}" for k in KINDS if kinds[k]) or "none"
        return "\n".join([*lines, f"findings: {found}"])


def family(function: str) -> str:
    """The part of the library that a function is of: `jsp.stats`, `jnp`, `Array`, `law`."""
    head = function.split(" ")[0]
    return head.rpartition(".")[0] or head


def _line(finding: Finding) -> dict[str, Any]:
    return {
        "cause": finding.cause,
        **finding._asdict(),
        "case": json.loads(finding.case.line()),
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
