"""A question put to effax and to JAX, and how the answers differ.

Types come first, which costs nothing to compile: shapes, dtypes, weak types, refusals. Values are
asked of effax, then of NumPy or SciPy; JAX computes only where those have no opinion, or another:
one program compiled for a case and all others of its types, and step by step only if that differs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.forgiven import forgiven
from tests.fuzz.numpy_beside import NumPyBeside
from tests.fuzz.principles import principle
from tests.grid.ask import CRASH, Answer, Leaf, Oracle
from tests.grid.case import Case, dtype_of, is_complex, is_inexact, is_unsigned
from tests.grid.compare import FAULTS, compare_leaves, widened
from tests.grid.play import Entry, Numbers, either_agrees, in_64_bits, magnitude, numpy_agrees

CONCRETE = {"ConcretizationTypeError", "TracerBoolConversionError", "TracerArrayConversionError"}
CONCRETE |= {"TracerIntegerConversionError", "NonConcreteBooleanIndexError"}
PLAIN = {"TypeError", "ValueError", "IndexError", "OverflowError", "EffaxError"}
PLAIN |= {"NotImplementedError"}  # what effax refuses, it may refuse by that
GRAVE = ("crash", "hang", "value", "difference", "law", "dtype", "shape", "structure", "weak")
DERIVATIVE = re.compile(r"\bjax\.(jvp|vjp)\(")
SILENCE = Answer(None, [], [])
KINDS = (*GRAVE, "refuses", "accepts", "error")
"""Kinds of difference, the worst first; "error": it tells of a fault, where JAX has one too."""


class Finding(NamedTuple):
    """A difference in effax's answer to a case: `kind` is one of `KINDS`, `why` is its text."""

    function: str
    kind: str
    case: Case
    why: str

    @property
    def cause(self) -> str:
        """A text that findings of one cause share: the function, the kind and the dtypes."""
        return f"{self.function} {self.kind} {classes_of(self.case)}"


def classes_of(case: Case) -> str:
    """The classes of dtypes among a case's operands: `bfi`."""
    return "".join(sorted({_class(o.dtype) for o in case.operands})) or "-"


def _class(name: str) -> str:
    dtype = dtype_of(name)
    if dtype.itemsize == 1 and name.endswith(("int4", "int2")):
        return "4"
    if is_complex(dtype):
        return "c"
    if is_inexact(dtype):
        return {1: "8", 2: "h"}.get(dtype.itemsize, "f")
    return "b" if name == "bool" else "u" if is_unsigned(dtype) else "i"


class Judge:
    """The two processes, and what is asked of them. `asked` counts questions by mode.

    `forgive` is called with each finding that is let pass, and the reason; `numpy` is the process
    of NumPy and SciPy, without which they are asked in this one.
    """

    def __init__(
        self,
        ours: Oracle,
        theirs: Oracle,
        forgive: Callable[[Finding, str], object] = lambda finding, reason: None,
        numpy: NumPyBeside | None = None,
    ) -> None:
        self.ours, self.theirs, self.forgive, self.numpy = ours, theirs, forgive, numpy
        self.numbers = numpy.numbers if numpy else in_64_bits
        self.asked = {"types": 0, "values": 0, "difference": 0, "law": 0}

    def types(self, function: str, entry: Entry, case: Case) -> tuple[Finding | None, bool]:
        """A difference of types or refusals; and whether both have a result, or must be asked eagerly."""
        self.asked["types"] += 1
        wanted = self.theirs.ask(case, "types")
        found = self.ours.ask(case, "types")
        if wanted.error and wanted.error[0] in CONCRETE:
            return None, True  # only the eager call tells
        kind, why = difference_of_types(found, wanted)
        if kind == "refuses":  # JAX may refuse only what it compiles
            kind, why = difference_of_errors(found, self.theirs.ask(case, "eager"))
        goes_on = not kind and wanted.leaves is not None and found.leaves is not None
        return self.finding(function, entry, kind, case, why, found), goes_on

    def values(self, function: str, entry: Entry, case: Case) -> Finding | None:
        """A difference of the results themselves."""
        self.asked["values"] += 1
        found = self.ours.ask(case, "eager")
        if (
            found.leaves is not None
            and entry.wide
            and numpy_agrees(case, found, entry.slack, entry.alone, self.numbers)
        ):
            return None
        kind, why = "", ""
        for mode in ("compiled", "eager"):
            wanted = self.theirs.ask(case, mode)
            kind, why = difference_of_values(entry, case, found, wanted, self.numbers)
            if not kind:
                break
        return self.finding(function, entry, kind, case, why, found)

    def difference(self, function: str, entry: Entry, case: Case) -> Finding | None:
        """Derivatives that are not what differences say."""
        self.asked["difference"] += 1
        found = self.ours.ask(case, "derivatives")
        if found.leaves is None:
            kind = "crash" if found.error == [CRASH] else ""
            return self.finding(function, entry, kind, case, found.error[0])
        why = str(found.leaves[0])
        kind = "difference" if why and not why.startswith("no derivative") else ""
        return self.finding(function, entry, kind, case, why)

    def law(self, name: str, seed: int) -> Finding | None:
        """A law that does not hold of random programs."""
        self.asked["law"] += 1
        case = Case(f"{name}|{seed}")
        found = self.ours.ask(case, "law")
        if found.leaves is None:
            kind, why = ("crash" if CRASH in found.error else "hang"), "no answer"
        else:
            kind, why = "law", str(found.leaves[0])
        return Finding(f"law {name}", kind, case, why) if why else None

    def finding(
        self,
        function: str,
        entry: Entry,
        kind: str,
        case: Case,
        why: str,
        found: Answer = SILENCE,
    ) -> Finding | None:
        if not kind:
            return None
        given_for = {"accepts": entry.more, "refuses": entry.less}.get(kind)
        reason = (
            given_for
            or forgiven(function, kind, case, why)
            or principle(kind, case, found, self.numpy)
        )
        finding = Finding(function, kind, case, why)
        if reason:
            self.forgive(finding, reason)
        return None if reason else finding


def difference_of_errors(found: Answer, wanted: Answer) -> tuple[str, str]:
    """Return the kind of difference, or "", and its text, where one of two answers is an error."""
    if CRASH in found.error:
        return "crash", "the process ended"
    if wanted.error and (FAULTS | {CRASH}).intersection(wanted.error):
        return "", ""  # JAX did not foresee it
    if "TimeoutError" in found.error:
        return "hang", "no answer"
    if found.leaves is not None and wanted.leaves is not None:
        return "", ""
    if wanted.leaves is None and found.leaves is None:
        foreseen = wanted.error[0] == found.error[0] or (
            PLAIN.intersection(found.error) and not (FAULTS - PLAIN).intersection(found.error)
        )
        return ("", "") if foreseen else ("error", f"{found.error[0]} instead of {wanted.error[0]}")
    if wanted.leaves is None:
        return "accepts", f"{_text(found)} instead of {wanted.error[0]}"
    return "refuses", f"{found.error[0]} instead of {_text(wanted)}"


def difference_of_types(found: Answer, wanted: Answer) -> tuple[str, str]:
    """Return the kind of difference of two answers of types, or "", and its text."""
    if found.leaves is None or wanted.leaves is None:
        return difference_of_errors(found, wanted)
    why = f"{_text(found)} instead of {_text(wanted)}"
    if len(found.leaves) != len(wanted.leaves):
        return "structure", why
    for ours, theirs in zip(found.leaves, wanted.leaves, strict=True):
        f, w = (re.fullmatch(r"([^*\[]+)(\*?)(.*)", str(x)) for x in (ours, theirs))
        for place, kind in ((1, "dtype"), (3, "shape"), (2, "weak")):
            if f and w and f[place] != w[place]:
                return kind, why
    return "", ""


def difference_of_values(
    entry: Entry,
    case: Case,
    found: Answer,
    wanted: Answer,
    numbers: Callable[[Case, bool], Numbers] = in_64_bits,
) -> tuple[str, str]:
    """Return the kind of difference of two results, or "", and its text."""
    if found.leaves is None or wanted.leaves is None:
        return difference_of_errors(found, wanted)
    scale = magnitude(case)
    if DERIVATIVE.search(case.code):
        wanted = _informed(case, found, wanted)
    assert wanted.leaves is not None
    # JAX may be the less accurate of the two by a little.
    slack = entry.slack * (4 if entry.alone else 1)
    how: Any = {"slack": slack, "scale": scale, "alone": entry.alone}
    if entry.defined and not DERIVATIVE.search(case.code):
        how["defined"] = entry.defined
    why = compare_leaves(found.leaves, wanted.leaves, **how)
    if not why:
        return "", ""
    for kind, mark in (("dtype", "dtype "), ("weak", "weak_type "), ("shape", "shape ")):
        if why.startswith(mark):
            return kind, why
    if re.match(r"\d+ results", why):
        return "structure", why
    if entry.wide and either_agrees(case, found, wanted, entry.slack, entry.alone, numbers):
        return "", ""  # each element is JAX's or SciPy's
    return "value", why


def _informed(case: Case, found: Answer, wanted: Answer) -> Answer:
    """JAX's derivatives, and effax's where no slope is known.

    Where JAX's is NaN (0 times infinity, in most rules), and where the function is not finite.
    """
    assert found.leaves is not None and wanted.leaves is not None
    results = [x for x in wanted.leaves[: _results(case, wanted)] if isinstance(x, Leaf)]
    lost = [~np.isfinite(widened(x.values)) for x in results]
    leaves: list[Leaf | str] = []
    for ours, theirs in itertools.zip_longest(found.leaves, wanted.leaves):
        both = isinstance(ours, Leaf) and isinstance(theirs, Leaf)
        if both and ours.values.shape == theirs.values.shape and ours.dtype == theirs.dtype:
            unknown = np.isnan(widened(theirs.values))
            for places in lost:
                unknown |= places if places.shape == unknown.shape else bool(places.any())
            values = np.where(unknown, ours.values, theirs.values)
            leaves.append(theirs._replace(values=values))
        elif theirs is not None:
            leaves.append(theirs)
    return wanted._replace(leaves=leaves)


def _results(case: Case, wanted: Answer) -> int:
    """The number of leaves of a transformed case that are results of the function itself."""
    assert wanted.leaves is not None
    pulled = re.search(r"jax\.vjp\(lambda ([\w, ]*):", case.code)
    if pulled:
        return max(len(wanted.leaves) - len(pulled[1].split(",")), 0)
    return len(wanted.leaves) // 2


def _text(answer: Answer) -> str:
    assert answer.leaves is not None
    leaves = [f"{x.dtype}{x.values.shape}" if isinstance(x, Leaf) else x for x in answer.leaves]
    return ", ".join(leaves) or "nothing"
