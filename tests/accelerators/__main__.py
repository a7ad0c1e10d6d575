"""Compile every program for every chip, and write what became of them into docs/accelerators.md.

    python -m tests.accelerators [linalg indexing ...] [--into docs/accelerators.md] [--every N]
                                 [--only cells|public] [--rival PYTHON]

The cells of the matrix are compiled by effax alone; programs of the public surface are compared
with JAX's, which `--rival` records anew with a Python that has jax beside libtpu and CUDA's plugin
(`tests/goldens/accelerators.json`); the cases of the grid are among them where their families are
named. Ends with a status of 1 where a program failed, neither compiled nor refused by name.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from effax.backends.xla.gpu_models import target_config
from tests.accelerators import ratios
from tests.accelerators.compiling import CHIPS, COMPILED, FAILED, REFUSED, Outcome, outcomes
from tests.accelerators.programs import Sample, samples
from tests.accelerators.public import programs
from tests.accelerators.worker import Result, Worker, report

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


def write_into(page: Path, name: str, lines: list[str]) -> None:
    """Put tables between their marks on a page."""
    begin, end = (
        f"<!-- {name}: written by python -m tests.accelerators -->",
        f"<!-- end of {name} -->",
    )
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    inside = "\n".join(lines)
    page.write_text(f"{before}{begin}\n{inside}\n{end}{after}", encoding="utf-8")


def cells(given: argparse.Namespace, at: int) -> int:
    """Compile the cells of the matrix; how many failed."""
    chosen = [x for x in samples() if not given.families or x.family in given.families]
    found = ask(chosen[at % given.every :: given.every])
    print("\n".join(rows(found)))
    if given.into:
        write_into(given.into, "cells", [*rows(found), "", *reasons(found)])
    return sum(result.word == FAILED for every in found.values() for _, _, result in every)


def public(given: argparse.Namespace, at: int) -> int:
    """Compile programs of the public surface; how many failed."""
    config = target_config("h200")
    if given.rival:
        ratios.record(ratios.rival(given.rival, config, given.families))
    theirs = ratios.recorded()
    chosen = programs(given.families)
    worker = Worker("effax", config)
    ours: list[Result] = []
    for program in chosen[at % given.every :: given.every]:
        for chip in CHIPS:
            ours += worker.ask(program, chip)
    above = ratios.excesses(ours, theirs)
    failed = [x for x in ours if x.word == FAILED]
    print("\n".join(ratios.rows(ours, theirs)))
    for x in (*failed, *ratios.behind(ours, theirs)):
        print(f"{x.chip}: {x.which} of {x.name}: {x.word}: {x.why}")
    for excess in above:
        print(report(excess.result), excess.figure, f"{excess.ratio:.2f}", excess.reason, sep=": ")
    if given.into:
        write_into(given.into, "public", [*ratios.rows(ours, theirs), "", *ratios.reasons(above)])
    return len(failed)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.accelerators")
    parser.add_argument("families", nargs="*", help="by default all")
    parser.add_argument("--into", type=Path, help="the page whose tables are written")
    parser.add_argument("--every", type=int, default=1, help="one of so many, another each day")
    parser.add_argument("--only", choices=["cells", "public"], help="by default both")
    parser.add_argument("--rival", help="a Python with jax, by which its figures are recorded anew")
    given = parser.parse_args()
    today = date.today().toordinal()
    parts = {"cells": cells, "public": public}
    return int(any([f(given, today) for name, f in parts.items() if given.only in (None, name)]))


if __name__ == "__main__":
    sys.exit(main())
