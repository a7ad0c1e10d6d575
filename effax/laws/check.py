"""Asking laws about random programs, and the table of the answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import attrs
import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, assume, given, settings
from hypothesis import seed as random_seed
from hypothesis import strategies as st

from effax.backends.reference.evaluate import Reference, evaluate_program
from effax.effects import config
from effax.effects.errors import EffaxError
from effax.effects.types import ShapedArray, float64, is_float
from effax.laws import (
    asking,
    batching,
    checks,
    collectives,
    customs,
    evaluation,
    forward,
    loops,
    reverse,
    state,
)
from effax.laws.generate import (
    CONTROL_KINDS,
    Draw,
    arguments,
    mixed_programs,
    programs,
    shapes,
)
from effax.laws.law import LAWS, NOTHING, Case, Law, Violation, compare
from effax.laws.transform import laws_of

STATED: Final = (
    evaluation,
    forward,
    reverse,
    batching,
    loops,
    customs,
    collectives,
    checks,
    state,
    asking,
)
"""The modules whose import states the library's laws."""

CLASSES: Final = {
    "straight": frozenset(),
    "call": frozenset({"call", "remat"}),
    "cond": frozenset({"cond"}),
    "scan": frozenset({"scan"}),
    "while": frozenset({"while"}),
    "checkpointed": frozenset({"checkpointed"}),
    "rules": frozenset({"rules"}),
    "policy": frozenset({"policy"}),
    "checked": frozenset({"checked"}),
    "host": frozenset({"host"}),
    "solving": frozenset({"solving"}),
    "state": frozenset({"state", "scan", "cond"}),
    "mixed": CONTROL_KINDS,
}
"""Classes of programs: what control flow may occur in them."""


@attrs.frozen
class Verdict:
    """What was found of one law: "true", "false" or "undefined", on how many examples.

    `detail` is the difference and the smallest program that shows it, or the refusal's message.
    """

    law: str
    verdict: str
    examples: int
    refused: int = 0
    detail: str = ""


@attrs.frozen
class Report:
    """Verdicts, in a table."""

    verdicts: tuple[Verdict, ...]

    @property
    def holds(self) -> bool:
        """Whether no law was found false."""
        return all(v.verdict != "false" for v in self.verdicts)

    def __getitem__(self, name: str) -> Verdict:
        return next(v for v in self.verdicts if v.law == name)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __str__(self) -> str:
        width = max((len(v.law) for v in self.verdicts), default=0)
        lines = []
        for v in self.verdicts:
            refused = f", {v.refused} refused" if v.refused else ""
            lines.append(f"{v.law:{width}}  {v.verdict:9}  {v.examples} examples{refused}")
            if v.verdict == "false":
                lines += ["    " + line for line in v.detail.splitlines()]
            elif v.verdict == "undefined":
                lines.append("    " + v.detail.splitlines()[0])
        return "\n".join(lines)


@st.composite
def cases(
    draw: Draw,
    needs: frozenset[str] = frozenset(),
    control: frozenset[str] = CONTROL_KINDS,
    ending: str | None = None,
    dtype: Any = float64,
) -> Case:
    """Cases with all that a law needs; `ending` is a kind of control flow that is surely there."""
    if "no while" in needs:
        control = control - {"while"}
    if "text" in needs:
        control = control - {"rules", "policy", "host", "solving"}  # a root has a rule, too
    seed = draw(st.integers(0, 99))
    kinds = mixed_programs if "mixed" in needs else programs
    f = draw(kinds(control=control, ending=ending, dtype=dtype))
    g = loop = NOTHING
    if "g" in needs:
        types = f.program().out_types
        g = draw(programs(control=control, types=types, max_steps=4))
    if "loop" in needs:
        types = tuple(ShapedArray(draw(shapes()), dtype) for _ in range(draw(st.integers(1, 2))))
        loop = draw(
            programs(control=control, types=types, results=types, max_steps=4, ending=ending)
        )
    return Case(f, g, loop, seed)


def hold(law: Law, case: Case, backend: str = "reference") -> None:
    """Compute both sides and compare them.

    Raises `Violation` where they differ, and what the sides raise.
    """
    with config.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if backend == "reference":
            handler = Reference()
            with handler.installed():
                lhs, rhs = law.sides(attrs.evolve(case, lift=handler.value))
                compare(lhs, rhs, law.relation, lambda x: np.asarray(handler.value(x)))
        else:
            lhs, rhs = law.sides(case)
            compare(lhs, rhs, law.relation, np.asarray)


def is_continuous(case: Case) -> bool:
    """Whether the programs of a case do not jump, nor have a kink, close to its arguments.

    The law is asked at a point; where rounding decides between two sides, both are right.
    """
    with config.enable_x64(True):
        for sketch in (case.f, case.loop):
            args = arguments(sketch, case.seed)
            narrow = any(is_float(x.dtype) and x.dtype.itemsize < 8 for x in args)
            step, bound = (1e-3, 1e-2) if narrow else (1e-6, 1e-8)
            values = []
            for shift in (-step, 0.0, step):
                moved = [x + shift * (1 + np.abs(x)) if x.dtype.kind == "f" else x for x in args]
                values.append(evaluate_program(sketch.program(), *moved))
            for low, mid, high in zip(*values, strict=True):
                if mid.dtype.kind == "f" and mid.size:
                    bend = np.abs(high - 2 * mid + low).max()
                    if not bend < bound * (1 + np.abs(mid).max()):
                        return False
                elif not np.array_equal(low, high):
                    return False
    return True


def judge(
    law: Law,
    strategy: st.SearchStrategy[Case] | None = None,
    control: frozenset[str] = CONTROL_KINDS,
    max_examples: int = 20,
    backend: str = "reference",
    seed: int | None = None,
) -> Verdict:
    """Ask one law about random cases, and shrink the one that breaks it.

    The cases are the same each time; another `seed` gives others.
    """
    chosen = cases(law.needs, control) if strategy is None else strategy
    count = _Count()

    @settings(
        max_examples=max_examples,
        deadline=None,
        database=None,
        derandomize=seed is None,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(chosen)
    def ask(case: Case) -> None:
        count.examples += 1
        with _Recorded(count, case):
            hold(law, case, backend)

    seeded = ask if seed is None else random_seed(seed)(ask)
    with config.enable_x64(True), _Ended(count):
        seeded()
    if count.broken:
        return Verdict(law.name, "false", count.examples, count.refused, count.broken)
    if count.refused == count.examples:
        return Verdict(law.name, "undefined", 0, count.refused, count.refusal)
    done = count.examples - count.refused
    return Verdict(law.name, "true", done, count.refused, count.refusal)


@attrs.define
class _Count:
    """What happened so far: how often, what was refused last, and what is broken last."""

    examples: int = 0
    refused: int = 0
    refusal: str = ""
    broken: str = ""


class _Recorded:
    """Around one example: a refusal is counted, and whatever else is raised breaks the law.

    Shrinking ends with the smallest example that breaks it, so the last one is kept.
    """

    def __init__(self, count: _Count, case: Case) -> None:
        self.count = count
        self.case = case

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        if isinstance(error, EffaxError):
            self.count.refused += 1
            self.count.refusal = str(error)
            return True
        if isinstance(error, Exception):
            if isinstance(error, Violation):
                assume(is_continuous(self.case))
            label = "" if isinstance(error, Violation) else f"{kind.__name__}: "
            self.count.broken = f"{label}{error}\nin\n{self.case!r}"
        return False


class _Ended:
    """Around the search: what it raises about a broken law has been recorded."""

    def __init__(self, count: _Count) -> None:
        self.count = count

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        return bool(self.count.broken) and isinstance(error, Exception)


def check(
    transform: Callable[..., Any] | None = None,
    *,
    laws: Iterable[Law | str] | None = None,
    programs: st.SearchStrategy[Case] | None = None,
    control: frozenset[str] = CONTROL_KINDS,
    max_examples: int = 20,
    backend: str = "reference",
    embed: Callable[..., tuple[Any, ...]] | None = None,
    project: Callable[[Any], Any] | None = None,
) -> Report:
    """Which laws hold, with the smallest program that breaks each one that does not.

    Args:
      transform: a transformation of functions, `f -> g`, to be asked about the laws of
        transformations; without it the library's own laws are asked.
      laws: which laws, by themselves or by the names of the functions that state them; those of
        transformations by the names that the report shows.
      programs: a strategy for `Case`s, in place of the usual one.
      control: which kinds of control flow occur in the programs.
      max_examples: how many programs each law is asked about.
      backend: "reference" evaluates by NumPy; "xla" compiles everything.
      embed: makes the arguments of `transform(f)` from those of `f`; the same ones by default.
      project: makes arrays of its result; the result itself by default.

    Returns:
      A report that prints as a table.

    >>> print(check(laws=["jit_is_identity"], max_examples=3))
    jit f = f  true       3 examples
    """
    if transform is not None:
        wanted = None if laws is None else {x if isinstance(x, str) else x.name for x in laws}
        stated: Sequence[Law] = [
            x for x in laws_of(transform, embed, project) if wanted is None or x.name in wanted
        ]
    else:
        stated = [x if isinstance(x, Law) else LAWS[x] for x in laws or LAWS.values()]
    return Report(tuple(judge(one, programs, control, max_examples, backend) for one in stated))


def matrix(max_examples: int = 5) -> str:
    """The table of all laws by classes of programs: true, false or undefined.

    Each class but the last is of programs that surely contain its kind of control flow; undefined
    is what the library refuses, such as reverse mode through a `while` loop.
    """
    width = max(len(one.name) for one in LAWS.values())
    lines = [" " * width + "".join(f"  {name:12}" for name in CLASSES)]
    for one in LAWS.values():
        cells = []
        for name, control in CLASSES.items():
            ending = name if name in CONTROL_KINDS else None
            drawn = cases(one.needs - {"no while"}, control, ending)
            cells.append(judge(one, drawn, max_examples=max_examples).verdict)
        lines.append(f"{one.name:{width}}" + "".join(f"  {cell:12}" for cell in cells))
    return "\n".join(lines)
