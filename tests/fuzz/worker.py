"""effax in a process of its own: cases as on the grid, derivatives by differences, and laws.

`python -m tests.fuzz.worker`; `tests.grid.ask.Oracle` speaks to it.
"""

from __future__ import annotations

from effax.laws import CLASSES, LAWS
from effax.laws.check import cases, judge
from effax.laws.generate import CONTROL_KINDS
from tests.grid import check
from tests.grid.ask import MODES, Answer, Library, classes, serve
from tests.grid.case import Case


def derivatives(library: Library, case: Case) -> Answer:
    """Check the derivatives of a case by differences; one text, empty if all is well."""
    try:
        return Answer([check.derivatives(case)], [], [])
    except Exception as raised:
        return Answer(None, classes(raised), [])


def law(library: Library, case: Case) -> Answer:
    """Return what breaks a law, if anything. The case's code is the law, programs and a seed."""
    name, group, seed = case.code.split("|")
    stated = LAWS[name]
    ending = group if group in CONTROL_KINDS else None
    drawn = cases(stated.needs - {"no while"}, CLASSES[group], ending)
    verdict = judge(stated, drawn, max_examples=3, seed=int(seed))
    return Answer([verdict.detail if verdict.verdict == "false" else ""], [], [])


def names_of_laws() -> list[str]:
    """Every law in every class of programs, as `law|class`."""
    return [f"{name}|{group}" for name in LAWS for group in CLASSES]


if __name__ == "__main__":
    serve(check.EFFAX, {**MODES, "derivatives": derivatives, "law": law})
