"""Compile every program for every chip, and write what became of them into docs/accelerators.md.

    python -m tests.accelerators [linalg indexing ...] [--into docs/accelerators.md] [--every N]

Ends with a status of 1 where a program failed: neither compiled nor refused by name.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from tests.accelerators.compiling import CHIPS, COMPILED, FAILED, REFUSED, Outcome, outcomes
from tests.accelerators.programs import Sample, samples

BEGIN = "<!-- accelerators: written by python -m tests.accelerators --into -->"
END = "<!-- end of accelerators -->"
Found = dict[tuple[str, str], list[tuple[Sample, str, Outcome]]]
"""The outcomes by family and chip: the program, "value" or "gradient", what became of it."""


def ask(chosen: Iterable[Sample]) -> Found:
    """Compile programs, saying which are not compiled."""
    found: Found = defaultdict(list)
    for sample in chosen:
        for chip in CHIPS:
            for which, result in outcomes(chip, sample).items():
                found[sample.family, chip].append((sample, which, result))
                if result.word != COMPILED:
                    told = f"{chip}: {which} of {sample.family}, {sample.name}: {result.word}"
                    print(f"{told}: {result.why}", flush=True)
    return found


def rows(found: Found) -> list[str]:
    """A row for each family: of how many programs and gradients all chips have how many."""
    families = list(dict.fromkeys(family for family, _ in found))
    lines = [
        f"| family | {' | '.join(CHIPS)} |",
        "|---" * (1 + len(CHIPS)) + "|",
    ]
    for family in families:
        cells = []
        for chip in CHIPS:
            words = Counter(result.word for _, _, result in found[family, chip])
            others = ", ".join(f"{words[w]} {w}" for w in (REFUSED, FAILED) if words[w])
            cell = f"{words[COMPILED]} of {words.total()}"
            cells.append(f"{cell} ({others})" if others else cell)
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return lines


def reasons(found: Found) -> list[str]:
    """The reasons why samples are not compiled, each message once for each chip."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (_, chip), every in found.items():
        for sample, which, result in every:
            if result.word != COMPILED:
                name = sample.name.rsplit(" ", 1)[0]
                at = f"{name}, its gradient" if which == "gradient" else name
                by_reason[chip, f"{result.word}: {result.why.splitlines()[0]}"].append(at)
    lines = ["| chip | program | what is said |", "|---|---|---|"]
    for (chip, why), names in by_reason.items():
        lines.append(f"| {chip} | {'; '.join(dict.fromkeys(names))} | {why} |")
    return lines


def write_into(page: Path, found: Found) -> None:
    """Put the tables between their marks on a page."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = "\n".join([*rows(found), "", *reasons(found)])
    page.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.accelerators")
    parser.add_argument("families", nargs="*", help="by default all")
    parser.add_argument("--into", type=Path, help="the page whose tables are written")
    parser.add_argument("--every", type=int, default=1, help="one of so many, another each day")
    given = parser.parse_args()
    today = date.today().toordinal()
    chosen = [x for x in samples() if not given.families or x.family in given.families]
    found = ask(chosen[today % given.every :: given.every])
    print("\n".join(rows(found)))
    if given.into:
        write_into(given.into, found)
    return int(any(result.word == FAILED for every in found.values() for _, _, result in every))


if __name__ == "__main__":
    sys.exit(main())
