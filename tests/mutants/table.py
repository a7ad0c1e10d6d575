"""The table of findings: a row for each transform and column, written into the documentation."""

from __future__ import annotations

import ast
import time
from pathlib import Path

from effax.interpreters.interpreter import Interpreter
from tests.examples.samples import FOLDER, load
from tests.mutants import columns
from tests.mutants.survivors import SURVIVORS, UNASKED
from tests.mutants.transforms import finds, mutants

ASKED = load("asked").ASKED
"""The questions for each of the examples' transforms."""
NOT_ASKED = load("asked").NOT_ASKED
"""Why others are not asked about the laws of transformations."""
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


def written_in(name):
    """Count the rules and clauses of a module of the examples, in words."""
    module = load(name)
    own = [x for x in vars(module).values() if isinstance(x, type) and x.__module__ == name]
    handlers = [x._handler for x in own if issubclass(x, Interpreter)]
    rules = sum(len(h.rules) + (h.catch_all is not None) for h in handlers)
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    calls = [x.func for x in ast.walk(tree) if isinstance(x, ast.Call)]
    clauses = sum(getattr(f, "attr", "") == "handle" for f in calls)
    found = [f"rules for {rules} effects"] * bool(rules) + ["clauses of `extend.handle`"] * bool(
        clauses
    )
    return " and ".join(found) or "no rules of an interpreter"


def not_mutated():
    """The modules of the examples without mutants, what they are written in, and why not."""
    mutated = {cls.__module__ for cls in map(class_of, ASKED.values()) if cls is not None}
    names = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in ("asked", "lines"))
    return [
        f"| `{n}` | {written_in(n)} | {NOT_ASKED.get(n, 'no class to be changed')} |"
        for n in names
        if n not in mutated
    ]


def not_asked():
    """The effects with a rule that no program of one effect performs: by columns, and why."""
    missing: dict[str, list[str]] = {}
    for column in columns.COLUMNS:
        for name in columns.unasked(column):
            missing.setdefault(name, []).append(column)
    return [f"| `{n}` | {', '.join(of)} | {UNASKED[n]} |" for n, of in sorted(missing.items())]


def write_into(page: Path, rows):
    """Put the tables between their marks on a page; rows that were not counted now are kept."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    counts = old.partition("\n\n")[0]
    kept = {line.split("`")[1]: line for line in counts.splitlines() if line.startswith("| `")}
    kept |= {one["name"]: row(one) for one in rows}
    head = "| rules of | found | equivalent | unreached | CPU seconds |\n|---|---|---|---|---|"
    others = "| no mutants of | it has | why |\n|---|---|---|"
    effects = "| not asked alone | rules in | because it |\n|---|---|---|"
    tables = (
        [head, *kept.values()],
        [others, *not_mutated()],
        [effects, *not_asked()],
    )
    table = "\n\n".join("\n".join(lines) for lines in tables)
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
