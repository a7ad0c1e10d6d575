"""Asking laws about random programs, and the table of the answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import attrs
import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from effax.backends.reference.evaluate import Reference, evaluate_program
from effax.effects import config
from effax.effects.errors import EffaxError
from effax.effects.types import ShapedArray, float64
from effax.laws import batching, checks, customs, evaluation, forward, loops, reverse
from effax.laws.generate import (
    CONTROL_KINDS,
    Draw,
    arguments,
    mixed_programs,
    programs,
    shapes,
)
from effax.laws.law import LAWS, Case, Law, Violation, compare

STATED: Final = (evaluation, forward, reverse, batching, loops, customs, checks)
"""The modules whose import states the library's laws."""

CLASSES: Final = {
    "straight": frozenset(),
    "call": frozenset({"call", "remat"}),
    "cond": frozenset({"cond"}),
    "scan": frozenset({"scan"}),
    "while": frozenset({"while"}),
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
def cases(draw: Draw, needs: frozenset[str], control: frozenset[str]) -> Case:
    """Cases with all that a law needs."""
    if "no while" in needs:
        control = control - {"while"}
    seed = draw(st.integers(0, 99))
    f = draw((mixed_programs if "mixed" in needs else programs)(control=control))
    g = loop = None
    if "g" in needs:
        g = draw(programs(control=control, types=f.program().out_types, max_steps=4))
    if "loop" in needs:
        types = [
            ShapedArray(draw(shapes()), float64) for _ in range(draw(st.integers(1, 2)))
        ]
        loop = draw(programs(control=control, types=types, results=types, max_steps=4))
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
            if sketch is None:
                continue
            args = arguments(sketch, case.seed)
            values = []
            for shift in (-1e-6, 0.0, 1e-6):
                moved = [x + shift * (1 + np.abs(x)) if x.dtype.kind == "f" else x for x in args]
                values.append(evaluate_program(sketch.program(), *moved))
            for low, mid, high in zip(*values, strict=True):
                if mid.dtype.kind == "f" and mid.size:
                    bend = np.abs(high - 2 * mid + low).max()
                    if not bend < 1e-8 * (1 + np.abs(mid).max()):
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
) -> Verdict:
    """Ask one law about random cases, and shrink the one that breaks it."""
    chosen = cases(law.needs, control) if strategy is None else strategy
    found: dict[str, Any] = {"examples": 0, "refused": 0, "refusal": "", "detail": ""}

    @settings(
        max_examples=max_examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(chosen)
    def ask(case: Case) -> None:
        found["examples"] += 1
        try:
            hold(law, case, backend)
        except EffaxError as refusal:
            found["refused"] += 1
            found["refusal"] = str(refusal)
        except UnsatisfiedAssumption:
            raise
        except Exception as error:
            if isinstance(error, Violation):
                assume(is_continuous(case))
            kind = "" if isinstance(error, Violation) else f"{type(error).__name__}: "
            found["detail"] = f"{kind}{error}\nin\n{case!r}"
            raise

    try:
        with config.enable_x64(True):
            ask()
    except Exception:
        if not found["detail"]:
            raise
        return Verdict(law.name, "false", found["examples"], found["refused"], found["detail"])
    if found["refused"] == found["examples"]:
        return Verdict(law.name, "undefined", 0, found["refused"], found["refusal"])
    done = found["examples"] - found["refused"]
    return Verdict(law.name, "true", done, found["refused"], found["refusal"])


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
      laws: which laws, by themselves or by the names of the functions that state them.
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
    from effax.laws.transform import laws_of

    if transform is not None:
        stated: Sequence[Law] = laws_of(transform, embed, project)
    else:
        stated = [x if isinstance(x, Law) else LAWS[x] for x in laws or LAWS.values()]
    return Report(
        tuple(judge(one, programs, control, max_examples, backend) for one in stated)
    )


def matrix(max_examples: int = 5) -> str:
    """The table of all laws by classes of programs: true, false or undefined."""
    width = max(len(one.name) for one in LAWS.values())
    lines = [" " * width + "".join(f"  {name:9}" for name in CLASSES)]
    for one in LAWS.values():
        cells = [judge(one, None, control, max_examples).verdict for control in CLASSES.values()]
        lines.append(f"{one.name:{width}}" + "".join(f"  {cell:9}" for cell in cells))
    return "\n".join(lines)
