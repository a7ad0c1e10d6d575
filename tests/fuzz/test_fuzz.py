"""The fuzz itself: its questions can be asked again, and planted differences are found.

`test_seed_of_the_day` asks for a while where a Python with jax is.
"""

from __future__ import annotations

import os
from datetime import date
from fnmatch import fnmatchcase
from random import Random

import numpy as np
import pytest

import effax
from tests.fuzz import forgiven
from tests.fuzz.distort import bare, distorted, transformed
from tests.fuzz.forgiven import Forgiven
from tests.fuzz.journal import Journal
from tests.fuzz.judge import GRAVE, Finding, Judge, difference_of_types, difference_of_values
from tests.fuzz.numpy_beside import NumPyBeside
from tests.fuzz.principles import principle
from tests.fuzz.run import Run, effax_beside, tables
from tests.grid import defined
from tests.grid.ask import CRASH, Answer, Leaf, Oracle, answer, jax_python
from tests.grid.case import Case, Operand
from tests.grid.check import EFFAX
from tests.grid.play import Entry

SUM = Case("jnp.sum(a, axis=-1)", (Operand("float32", (2, 3), "normal", 1),))
PLAIN = Entry(lambda g, name: name)
DAILY = 30  # visits


def test_distortions_follow_from_the_seed():
    one, other = ([distorted(SUM, "jnp.sum", Random(7)) for _ in range(20)] for _ in "ab")
    assert one == other


def test_distortions_are_of_many_kinds_and_can_be_asked():
    rng = Random(0)
    cases = [distorted(SUM, "jnp.sum", rng) for _ in range(300)]
    cases += [bare("jnp.add", rng) for _ in range(50)]
    for case in cases:
        assert Case.parse(case.line()) == case
        case.function(EFFAX.names)
    assert len({c.code for c in cases}) > 50
    assert len({o.dtype for c in cases for o in c.operands}) > 10
    assert {o.form for c in cases for o in c.operands} == {"array", "weak", "host", "list"}


def test_targets_of_a_loop_are_not_distorted():
    """A literal in the place of a target ended the fuzz with a SyntaxError."""
    rng = Random(0)
    loop = SUM._replace(code="[jnp.sum(a) + b for a, b in [(a, 1), (a, 2)]]")
    for _ in range(200):
        distorted(loop, "jnp.sum", rng).function(EFFAX.names)


@pytest.mark.parametrize("how", ["jit", "vmap", "jvp", "vjp"])
def test_transformed_cases_are_computed(how):
    case = transformed(SUM, how)
    assert case is not None
    assert answer(EFFAX, case).leaves


@pytest.mark.parametrize(
    ("found", "wanted", "kind"),
    [
        (Answer(["float32[3]"], [], []), Answer(["float32[3]"], [], []), ""),
        (Answer(["float32[3]"], [], []), Answer(["float16[3]"], [], []), "dtype"),
        (Answer(["float32[3]"], [], []), Answer(["float32[3, 1]"], [], []), "shape"),
        (Answer(["float32[3]"], [], []), Answer(["float32*[3]"], [], []), "weak"),
        (Answer(["float32[3]"], [], []), Answer([], [], []), "structure"),
        (Answer(["float32[3]"], [], []), Answer(None, ["TypeError"], []), "accepts"),
        (Answer(None, ["TypeError"], []), Answer(["float32[3]"], [], []), "refuses"),
        (Answer(None, ["TypeError"], []), Answer(None, ["ValueError"], []), ""),
        (Answer(None, ["KeyError"], []), Answer(None, ["ValueError"], []), "error"),
        (Answer(None, ["NotImplementedError"], []), Answer(None, ["ValueError"], []), ""),
        (Answer(None, [CRASH], []), Answer(None, ["ValueError"], []), "crash"),
        (Answer(None, ["TimeoutError"], []), Answer(["float32[3]"], [], []), "hang"),
        (Answer(["float32[3]"], [], []), Answer(None, [CRASH], []), ""),
    ],
)
def test_differences_of_types(found, wanted, kind):
    assert difference_of_types(found, wanted)[0] == kind


def test_differences_of_values():
    ours = Answer([Leaf("float32", False, np.float32([1, 2]))], [], [])
    theirs = Answer([Leaf("float32", False, np.float32([1, 3]))], [], [])
    assert difference_of_values(PLAIN, SUM, ours, ours) == ("", "")
    assert difference_of_values(PLAIN, SUM, ours, theirs)[0] == "value"


def test_a_nan_of_jax_says_nothing_of_a_derivative():
    case = transformed(SUM, "jvp")
    ours = Answer([Leaf("float32", False, np.float32([1, 2]))], [], [])
    theirs = Answer([Leaf("float32", False, np.float32([1, np.nan]))], [], [])
    assert difference_of_values(PLAIN, case, ours, theirs) == ("", "")
    assert difference_of_values(PLAIN, case, theirs, ours)[0] == "value"
    assert difference_of_values(PLAIN, SUM, ours, theirs)[0] == "value"


def test_what_is_let_pass_is_written_down_once(tmp_path):
    journal = Journal(tmp_path)
    for _ in "ab":
        journal.forgive(Finding("jnp.sum", "value", SUM, "1 instead of 2"), "a reason")
    assert len((tmp_path / "forgiven.jsonl").read_text().splitlines()) == 1


def test_elements_may_be_compared_alone():
    ours = Answer([Leaf("float32", False, np.float32([1e30, 1]))], [], [])
    theirs = Answer([Leaf("float32", False, np.float32([1e30, 2]))], [], [])
    alone = PLAIN._replace(alone=True)
    assert difference_of_values(PLAIN, SUM, ours, theirs) == ("", "")
    assert difference_of_values(alone, SUM, ours, ours) == ("", "")
    assert difference_of_values(alone, SUM, ours, theirs)[0] == "value"


def test_tangents_of_integers_are_compared_by_shape():
    def tangent(*shape: int) -> Answer:
        return Answer([Leaf("float0", False, np.zeros(shape, effax.dtypes.float0))], [], [])

    assert difference_of_values(PLAIN, SUM, tangent(3), tangent(3)) == ("", "")
    assert difference_of_values(PLAIN, SUM, tangent(2), tangent(3))[0] == "shape"


class Ended(Oracle):
    """A process that ends when it is asked."""

    def __init__(self) -> None:
        super().__init__("/bin/false")


def test_a_crash_is_a_finding_and_not_the_end():
    judge = Judge(Ended(), Ended())
    finding = judge.values("jnp.sum", PLAIN, SUM)
    assert finding is not None
    assert finding.kind == "crash"
    assert judge.ours.ask(SUM).error == [CRASH]
    judge.ours.close()
    judge.theirs.close()


def test_a_call_of_numpys_without_an_end_is_no_opinion():
    """SciPy's `hyp1f1` and `truncnorm.logcdf` have such arguments."""
    beside = NumPyBeside(patience=10)
    try:
        assert beside.numbers(Case("[0 for _ in iter(int, 1)]"), False) is None
        assert beside.numbers(SUM, False) is not None
    finally:
        beside.process.close()


def test_a_journal_has_each_cause_once_and_goes_on(tmp_path):
    journal = Journal(tmp_path)
    assert journal.add(Finding("jnp.sum", "value", SUM, "1 instead of 2"))
    assert not journal.add(Finding("jnp.sum", "value", SUM, "3 instead of 4"))
    journal.visit(function="jnp.sum", seed=1, turn=0, asked={"types": 2}, found=1, cpu=0.5)
    again = Journal(tmp_path)
    assert again.recall() == [Finding("jnp.sum", "value", SUM, "1 instead of 2")]
    assert again.visited(1, 0) == {"jnp.sum"}
    assert "2 questions" in again.summary()
    again.keep([])
    assert Journal(tmp_path).recall() == []


def test_what_is_forgiven_names_functions_that_are_there():
    under = ("", " jit", " vmap", " jvp", " vjp")
    names = [f"{name}{how}" for name in tables() for how in under]
    for row in forgiven.TABLE:
        for pattern in row.function.split("|"):
            assert any(fnmatchcase(name, pattern) for name in names), row.reason


def test_seed_of_the_day(tmp_path):
    """The first `DAILY` visits of the day's seed find nothing grave.

    They are the same all day, and those that a slow machine has no time for are the last ones.
    `python -m tests.fuzz` goes on. EFFAX_FUZZ_SECONDS is the time, 40 by default.
    """
    python = jax_python()
    if python is None:
        pytest.skip("no Python with jax is here: EFFAX_BENCH_JAX can name one")
    journal = Journal(tmp_path)
    with Run(effax_beside(python), journal) as run:
        seconds = float(os.environ.get("EFFAX_FUZZ_SECONDS", "40"))
        run.spend(seconds, seed=date.today().toordinal(), visits=DAILY)
    assert journal.visits
    # A call without an answer may be the machine's fault.
    grave = [f for f in journal.recall() if f.kind in GRAVE and f.kind != "hang"]
    assert not grave, "\n".join(f"{f.function}: {f.case.line()}\n    {f.why}" for f in grave)


def test_the_first_visits_follow_from_the_seed(tmp_path):
    """Two runs of a seed visit the same functions, as many as asked."""
    visited = []
    for name in "ab":
        run = Run.__new__(Run)
        run.table, run.journal = tables(), Journal(tmp_path / name)
        seen: list[str] = []
        run.visit = lambda name, seed, turn, seen=seen: seen.append(name) or []
        run.spend(60, seed=5, visits=30)
        visited.append(seen)
    assert visited[0] == visited[1]
    assert len(visited[0]) == 30


def test_roots_in_another_order_are_the_same():
    """Two answers are compared by what is defined of them; a derivative's are as they are."""
    ours = Answer([Leaf("float32", False, np.float32([1, 2]))], [], [])
    theirs = Answer([Leaf("float32", False, np.float32([2, 1]))], [], [])
    entry = PLAIN._replace(defined=defined.roots)
    assert difference_of_values(PLAIN, SUM, ours, theirs)[0] == "value"
    assert difference_of_values(entry, SUM, ours, theirs) == ("", "")
    assert difference_of_values(entry, transformed(SUM, "vjp"), ours, theirs)[0] == "value"


def test_a_reason_may_hold_for_some_values_only():
    reason = Forgiven("overflow", "jnp.sum", "value", values="extreme edges")
    extreme = SUM._replace(operands=(SUM.operands[0]._replace(kind="extreme"),))
    assert reason.covers("jnp.sum", "value", extreme, "")
    assert not reason.covers("jnp.sum", "value", SUM, "")


def test_numpy_decides_what_is_refused_and_what_is_given():
    """NumPy's refusals and results decide, and nothing else does."""
    beside = NumPyBeside(patience=10)
    refused = Answer(None, ["ValueError"], [])
    given = Answer(["float32[2]"], [], [])
    try:
        wrong = SUM._replace(code="jnp.sum(a, axis=5)")
        assert principle("refuses", wrong, refused, beside)
        assert principle("refuses", SUM._replace(code="jnp.sum(a, axis=1.5)"), refused, beside)
        assert not principle("refuses", SUM, refused, beside)
        assert not principle("refuses", SUM._replace(code="jnp.sum(a, no=1)"), refused, beside)
        assert principle("accepts", SUM, given, beside)
        assert not principle("accepts", SUM, Answer(["float32[3]"], [], []), beside)
        assert not principle("accepts", wrong, given, beside)
        arccos = SUM._replace(code="lax.acos(a)")
        assert beside.numbers(arccos, True) is not None
    finally:
        beside.process.close()


@pytest.mark.parametrize("how", ["jvp", "vjp"])
def test_where_a_function_is_infinite_no_slope_is_compared(how):
    case = transformed(SUM, how)
    assert case is not None

    def said(result: float, slope: float) -> Answer:
        leaves = [Leaf("float32", False, np.float32([1, x])) for x in (result, slope)]
        return Answer(leaves, [], [])

    assert difference_of_values(PLAIN, case, said(np.inf, 3), said(np.inf, 2)) == ("", "")
    assert difference_of_values(PLAIN, case, said(1, 3), said(1, 2))[0] == "value"
    assert difference_of_values(PLAIN, case, said(1, np.nan), said(1, 2))[0] == "value"
