"""What was found: a row for each transform and column, written into the documentation."""

from __future__ import annotations

import time
from pathlib import Path

from tests.examples.samples import load
from tests.mutants import columns
from tests.mutants.survivors import SURVIVORS
from tests.mutants.transforms import finds, mutants

ASKED = load("asked").ASKED
"""How each of the examples' transforms is asked."""
BEGIN, END = (
    "<!-- mutants: written by python -m tests.mutants --into -->",
    "<!-- end of mutants -->",
)


def class_of(asked):
    """The class whose rules are mutated; None for a transform that has none."""
    found = asked.interpreter or getattr(asked.transform, "__self__", None)
    return found if isinstance(found, type) else None


def count(name, every, find):
    """The row of one transform or column: each mutant asked, and what was missed."""
    start, found, equivalent, unreached, missed = time.process_time(), 0, 0, 0, []
    for mutant in every:
        law = find(mutant)
        unreached += law == columns.UNREACHED
        found += bool(law) and law != columns.UNREACHED
        equivalent += law is None
        if law == "":
            missed.append(mutant.name)
        shown = "equivalent" if law is None else law or "SURVIVES"
        print(f"  {mutant.name:60} {shown}", flush=True)
    seconds = time.process_time() - start
    explained = set(SURVIVORS.get(name, ()))
    for one in missed:
        print(f"  survives: {one}" + ("" if one in explained else " (without a reason)"))
    return {
        "name": name,
        "found": found,
        "of": found + len(missed),
        "equivalent": equivalent,
        "unreached": unreached,
        "seconds": round(seconds),
        "unexplained": sorted(set(missed) - explained),
    }


def of_transform(name):
    """The row of a transform of the examples; None where it has no rules."""
    cls = class_of(ASKED[name])
    if cls is None:
        return None
    return count(name, mutants(cls), lambda mutant: finds(ASKED[name], cls, mutant))


def of_column(name):
    """The row of a column of the library."""
    return count(name, columns.mutants(name), lambda mutant: columns.finds(name, mutant))


def row(counted):
    """A row as Markdown."""
    share = 100 * counted["found"] / max(1, counted["of"])
    cells = (
        f"`{counted['name']}`",
        f"{counted['found']} of {counted['of']} ({share:.0f} %)",
        counted["equivalent"],
        counted["unreached"],
        counted["seconds"],
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def write_into(page: Path, rows):
    """Put the table between its marks on a page; rows that were not counted now are kept."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    kept = {line.split("`")[1]: line for line in old.splitlines() if line.startswith("| `")}
    kept |= {one["name"]: row(one) for one in rows}
    head = "| rules of | found | equivalent | unreached | CPU seconds |\n|---|---|---|---|---|"
    table = "\n".join([head, *kept.values()])
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
