"""Asking laws about random programs, and the table of the answers."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import numpy as np
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as random_seed
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable, UnsatisfiedAssumption

from effax.backends.reference.evaluate import Reference, evaluate_program
from effax.effects import config
from effax.effects.effect import Effect
from effax.effects.errors import (
    ConcretizationTypeError,
    EffaxError,
    NonConcreteBooleanIndexError,
    RuleResultError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
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
from effax.laws.builder import Draw
from effax.laws.described import Described
from effax.laws.generate import CONTROL_KINDS, mixed_programs, programs, shapes
from effax.laws.law import LAWS, NOTHING, Case, Law, Violation, compare
from effax.laws.nesting import laws_of_nesting
from effax.laws.one_effect import laws_of_one_effect
from effax.laws.one_step import Kind, kinds_of, one_step
from effax.laws.rules_kept import laws_of_kept_rules
from effax.laws.rulewise import laws_of_rules, laws_of_soundness
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
    "kernel": frozenset({"kernel"}),
    "state": frozenset({"state", "scan", "cond"}),
    "mixed": CONTROL_KINDS,
}
"""Classes of programs: what control flow may occur in them."""


@attrs.frozen
class Verdict:
    """The result of checking one law: "true", "false" or "undefined", on how many examples.

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
    """Draw a case with everything that a law needs.

    Args:
      needs: names of the parts that the law asks for, such as "g", "loop" or "mixed".
      control: the kinds of control flow that may occur.
      ending: a kind of control flow that is surely there.
      dtype: the dtype of floats.
    """
    if "no while" in needs:
        control = control - {"while"}
    if "text" in needs:
        # A root has rules, which text can't hold.
        control = control - {"rules", "policy", "host", "kernel"} - {"solving"}
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
        if "branches" in needs:
            g = draw(programs(control=control, types=types, results=types, max_steps=3))
    return Case(f, g, loop, seed)


def hold(law: Law, case: Case, backend: str = "reference") -> None:
    """Compute both sides of a law and compare them.

    Raises `Violation` where they differ, and any error of the two sides.

    Args:
      law: the law.
      case: the programs and numbers that it is asked about.
      backend: "reference" evaluates by NumPy; "xla" compiles everything.
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
            args = case.arrays(sketch)
            narrow = any(is_float(x.dtype) and x.dtype.itemsize < 8 for x in args)
            step, bound = (1e-3, 1e-2) if narrow else (1e-6, 1e-8)
            values = []
            for shift in (-step, 0.0, step):
                moved = [x + shift * (1 + np.abs(x)) if x.dtype.kind == "f" else x for x in args]
                values.append(evaluate_program(sketch.program(), *moved))
            for low, mid, high in zip(*values, strict=True):
                if mid.dtype.kind in "fc" and mid.size:
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

    Args:
      law: the law.
      strategy: a strategy for cases; by default cases with all that the law needs.
      control: the kinds of control flow in the programs, where no strategy is given.
      max_examples: the largest number of cases.
      backend: "reference" evaluates by NumPy; "xla" compiles everything.
      seed: a number to draw other cases from; without it they are the same each time.
    """
    chosen = cases(law.needs, control) if strategy is None else strategy
    count = Count()

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
        with Recorded(count, case, law):
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
class Count:
    """A running count: examples asked, the last refusal, and the last violation."""

    examples: int = 0
    refused: int = 0
    refusal: str = ""
    broken: str = ""


BUGS: Final = (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
    NonConcreteBooleanIndexError,
    UnexpectedTracerError,
    RuleResultError,
)
"""Refusals that say that a rule looked at elements that are not known, kept a dead value, or gave
what is not of its effect's type."""


class Recorded:
    """Around one example: a refusal is counted, and whatever else is raised breaks the law.

    Shrinking ends with the smallest example that breaks it, so the last one is kept.
    """

    def __init__(self, count: Count, case: Case, law: Law) -> None:
        self.count = count
        self.case = case
        self.exact = law.exact and case.edges

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        if isinstance(error, EffaxError) and not isinstance(error, BUGS):
            self.count.refused += 1
            self.count.refusal = str(error)
            return True
        if isinstance(error, Exception):
            if isinstance(error, Violation) and not self.exact and not is_continuous(self.case):
                raise UnsatisfiedAssumption from None  # as `assume` does, but outside of tests too
            label = "" if isinstance(error, Violation) else f"{kind.__name__}: "
            self.count.broken = f"{label}{error}\nin\n{self.case!r}"
        return False


class _Ended:
    """Around the search: what it raises about a broken law has been recorded."""

    def __init__(self, count: Count) -> None:
        self.count = count

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        if isinstance(error, Unsatisfiable) and not self.count.examples:
            self.count.refusal = "no program of this kind could be drawn"
            return True
        return bool(self.count.broken) and isinstance(error, Exception)


def rule_cases(
    effect: Effect, kinds: Sequence[Kind], floats: bool = False
) -> st.SearchStrategy[Case]:
    """Cases of programs of one effect; see `one_step`."""
    return st.builds(
        Case,
        f=one_step(effect, kinds, floats),
        seed=st.integers(0, 99),
        edges=st.just(False) if floats else st.booleans(),
    )


def judge_rules(
    law: Law,
    effects: Mapping[Effect, Sequence[Kind]],
    ruled: Collection[Effect],
    max_examples: int = 20,
    backend: str = "reference",
    floats: bool = False,
) -> Verdict:
    """Ask one law about the rule of each effect, on programs of that effect alone.

    A rule that refuses everything it is asked is no rule: the law is false of it.
    """
    examples = refused = 0
    detail = ""
    for effect, kinds in effects.items():
        drawn = rule_cases(effect, kinds, floats)
        found = judge(law, drawn, max_examples=max_examples, backend=backend)
        examples, refused = examples + found.examples, refused + found.refused
        if found.verdict == "undefined" and effect in ruled:
            broken = f"the rule refuses all operands: {found.detail}"
        else:
            broken = found.detail if found.verdict == "false" else ""
        if broken:
            return Verdict(law.name, "false", examples, refused, f"'{effect.name}': {broken}")
        detail = detail or found.detail
    verdict = "true" if examples else "undefined"
    return Verdict(law.name, verdict, examples, refused, detail or "no rule was asked")


def check(
    transform: Callable[..., Any] | None = None,
    *,
    laws: Iterable[Law | str] | None = None,
    programs: st.SearchStrategy[Case] | None = None,
    control: frozenset[str] = CONTROL_KINDS,
    max_examples: int = 20,
    backend: str = "reference",
    effects: Iterable[Effect] | None = None,
    **described: Any,
) -> Report:
    """Check laws; report the smallest program that breaks each broken one.

    A transform is asked about each of its rules first, on programs of one effect, with operands of
    the effect's signature; then about whole programs with control flow.

    Args:
      transform: a transformation of functions, `f -> g`, to be asked about the laws of
        transformations; without it the library's own laws are asked.
      laws: which laws: by themselves (a `Law` of your own, stated by `Law(name, sides)`), by the
        names of the functions that state them, or by the names that the report shows.
      programs: a strategy for `Case`s, in place of the usual one.
      control: which kinds of control flow occur in the programs.
      max_examples: how many programs each law is asked about; each rule is asked 2/5 of it.
      backend: "reference" evaluates by NumPy; "xla" compiles everything.
      effects: whose rules are asked one by one; by default all that the interpreter has. Without a
        transform, the library's laws are asked about programs of each of these effects alone.
      described: what is known of the transform's data, by the names of the fields of
        `effax.laws.described.Described`, whose docstring describes each: `embed`,
        `project`, `interpreter`, `sound`, `around`, `oracle`, `steps`, `more`.

    Returns:
      A report that prints as a table.

    Raises:
      ValueError: where there is no law of a name that is given.

    >>> print(check(laws=["jit_is_identity"], max_examples=3))
    jit f = f  true       3 examples
    """
    if transform is None:
        known = dict(LAWS) | {x.name: x for x in LAWS.values()}
        asked = {} if effects is None else kinds_of(effects)
        of_rules = {x.name: x for x in laws_of_one_effect()} if asked else {}
        ruled: Collection[Effect] = ()
        known |= of_rules
        if asked and laws is None:
            laws = of_rules
    else:
        t = Described(transform, **described)
        of_rules = {x.name: x for x in laws_of_rules(t)}
        wanted = t.effects() if effects is None else [*effects]
        asked = kinds_of(wanted, t.steps) if wanted else {}
        cls = t.asked()
        ruled = () if cls is None else cls._handler.rules
        known = (of_rules if asked else {}) | {x.name: x for x in stated_of(t)}
    found = []
    for one in _chosen(known, laws):
        if one.name in of_rules:
            rulewise = max(3, 2 * max_examples // 5)
            of_library = transform is None
            found.append(judge_rules(one, asked, ruled, rulewise, backend, floats=of_library))
        else:
            found.append(judge(one, programs, control, max_examples, backend))
    return Report(tuple(found))


def stated_of(t: Described) -> list[Law]:
    """The laws that a transform is asked on whole programs."""
    named = laws_of(t.transform, t.embed, t.project, t.oracle)
    if t.oracle is not None:
        named[0] = attrs.evolve(named[0], name="T f = oracle f")
    own = [x for x in t.more if x.needs]
    return [*named, *laws_of_nesting(t), *laws_of_kept_rules(t), *laws_of_soundness(t), *own]


def _chosen(known: Mapping[str, Law], laws: Iterable[Law | str] | None) -> Iterable[Law]:
    """The laws by themselves or by name.

    Raises `ValueError` for a name that no law has.
    """
    if laws is None:
        return dict.fromkeys(known.values())
    wanted = [*laws]
    for x in wanted:
        if isinstance(x, str) and x not in known:
            close = difflib.get_close_matches(x, known, n=3)
            hint = (
                f"did you mean {' or '.join(map(repr, close))}?"
                if close
                else "the report of check() shows the names"
            )
            raise ValueError(f"laws.check: there is no law named {x!r}; {hint}")
    return [known[x] if isinstance(x, str) else x for x in wanted]


def matrix(max_examples: int = 5) -> str:
    """Return the table of all laws by classes of programs: true, false or undefined.

    Each class but the last is of programs that surely contain its kind of control flow; undefined
    means that the library refuses them, such as reverse mode through a `while` loop.

    Args:
      max_examples: the number of programs that each law is asked about in each class.
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
