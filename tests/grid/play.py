"""A table's cases played: recorded ones, with what JAX and NumPy said, and fresh ones, with JAX asked.

A table has an `Entry` for each public function: how its cases are drawn and what to expect of it.
`record(table, path)` is run where jax is, by a script of tests/goldens; `recorded(path)` is read
in CI; `search(entry, name, oracle, count)` is the long run.
"""

from __future__ import annotations

import json
import os
import re
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.grid import check
from tests.grid.ask import Answer, Leaf, Oracle, answer
from tests.grid.case import Case, dtype_of, is_complex, is_inexact
from tests.grid.compare import compare, differ, near
from tests.grid.defined import Defined
from tests.grid.draw import Grid, cases

Drawer = Callable[[Grid, str], str]


class Entry(NamedTuple):
    """An entry of the grid: the drawer of a function's cases, and the differences that pass.

    draw: the drawer. wide: whether NumPy, computing in 64 bits, says what the values are (of cases
    without extremes, where its signature is the same). slack: how many times the tolerance.
    smooth: whether differences are asked; underived: it may say that it has no derivative.
    signs: whether zeros have JAX's signs. vmap: whether lanes are asked. either: whether each
    element may be SciPy's where JAX's is another, edges and all. more: why it gives a result where JAX
    raises. less: why it raises where JAX gives a result. kinks: it has points without a derivative,
    where that is NaN. defined: what of a result is the same on all processors. alone: whether the
    fuzz compares each element by itself, however large the others are.
    """

    draw: Drawer
    wide: bool = True
    slack: float = 1.0
    smooth: bool = True
    underived: bool = False
    signs: bool = False
    vmap: bool = True
    either: bool = False
    more: str = ""
    less: str = ""
    kinks: bool = False
    defined: Defined | None = None
    alone: bool = False


class Record(NamedTuple):
    """A case, what JAX said, and whether NumPy agreed."""

    case: Case
    wanted: Answer
    numpy: bool


def complaint(entry: Entry, case: Case, wanted: Answer, *, transformed: bool = True) -> str:
    """Return the fault of effax's answer to a case in words, or ""."""
    found = answer(check.EFFAX, case)
    how: Any = {"slack": entry.slack, "scale": magnitude(case), "defined": entry.defined}
    if found.leaves is not None and wanted.leaves is None and (entry.more or _of_four_bits(case)):
        why = ""  # JAX leaves most functions of int4 out, as some platforms can't; XLA's CPU can
    elif found.error and wanted.leaves is not None and entry.less:
        why = ""
    else:
        if entry.more and not found.traced:
            wanted = wanted._replace(traced=[])
        why = compare(found, wanted, signs=entry.signs, **how)
    if why and entry.either and same_types(found, wanted):
        why = "" if either_agrees(case, found, wanted, entry.slack) else why
    if why or not transformed or found.leaves is None:
        return why
    why = check.under_jit(case, found, **how)
    if not why and entry.vmap:
        why = check.under_vmap(case, found, **how)
    if not why and entry.smooth and not found.traced:
        why = check.derivatives(case, slack=entry.slack, kinks=entry.kinks)
        if why.startswith(check.REFUSED) and entry.underived:
            return ""
    return why


def _of_four_bits(case: Case) -> bool:
    return any(o.dtype in ("int4", "uint4") for o in case.operands)


def magnitude(case: Case) -> float:
    """The size of what is added up: sums of numbers this large may cancel."""
    if any(o.kind in ("extreme", "edges", "bits") for o in case.operands):
        return 0.0
    given = [np.abs(o.numpy().astype(np.complex128)) for o in case.operands]
    sizes = [np.max(x, where=np.isfinite(x), initial=0.0) for x in given]
    return float(max(sizes, default=0.0))


def same_types(found: Answer, wanted: Answer) -> bool:
    """Whether two results have the same shapes, dtypes and weak types."""
    if found.leaves is None or wanted.leaves is None:
        return False
    kinds = [
        [x if isinstance(x, str) else (x.dtype, x.weak, x.values.shape) for x in leaves]
        for leaves in (found.leaves, wanted.leaves)
    ]
    return kinds[0] == kinds[1]


def _mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the lanes of its arguments, one after the other."""

    def call(*stacks: Any) -> Any:
        lanes = [_flat(function(*lane)) for lane in zip(*stacks, strict=True)]
        return tuple(np.stack(parts) for parts in zip(*lanes, strict=True))

    return call


TRANSFORMS = SimpleNamespace(jit=lambda function: function, vmap=_mapped)
"""NumPy's stand-in for `jax`."""

LAX = """abs acos=arccos acosh=arccosh add asin=arcsin asinh=arcsinh atan=arctan atan2=arctan2
    atanh=arctanh bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil conj cos cosh eq=equal
    exp exp2 expm1 floor ge=greater_equal gt=greater imag is_finite=isfinite le=less_equal log log1p
    lt=less max=maximum min=minimum mul=multiply ne=not_equal neg=negative nextafter real rem=fmod
    shift_left=left_shift sign sin sinh sqrt square sub=subtract tan tanh transpose reshape
    expand_dims squeeze"""
SPECIAL = """digamma=psi erf erfc erf_inv=erfinv lgamma=gammaln logistic=expit bessel_i0e=i0e
    bessel_i1e=i1e igamma=gammainc igammac=gammaincc betainc zeta polygamma"""


def _called(module: Any, names: str) -> dict[str, Any]:
    """Functions of a module by JAX's names: `jax's=module's`, or one name for both."""
    pairs = [name.partition("=") for name in names.split()]
    return {theirs: getattr(module, ours or theirs) for theirs, _, ours in pairs}


NAMES = {
    "jnp": np,
    "jsp": scipy,
    "jax": TRANSFORMS,
    "lax": SimpleNamespace(**_called(np, LAX), **_called(scipy.special, SPECIAL)),
}
"""The modules that a case mentions, as NumPy has them."""


Numbers = list[np.ndarray[Any, Any]] | None


def _by_numpy(case: Case, inexact: bool) -> Any:
    """The result that NumPy or SciPy computes in 64 bits; raises what they raise."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        given = [_widened(o.numpy(), inexact) for o in case.operands]  # NaN of any bits, too
        return case.function(NAMES)(*given)


def in_64_bits(case: Case, inexact: bool) -> Numbers:
    """Return the leaves that NumPy or SciPy computes in 64 bits, or None if neither can.

    inexact: whether integers too are to be floats.
    """
    try:
        found = _by_numpy(case, inexact)
    except Exception:  # other arguments than NumPy's, or other limits: no opinion
        return None
    return [np.asarray(x) for x in _flat(found)]


def refused_by_numpy(case: Case) -> list[str]:
    """Return the class of NumPy's or SciPy's error, if they have what is asked, and refuse it."""
    try:
        _by_numpy(case, inexact=False)
    except Exception as error:  # of any class where they have no such function
        refusal = isinstance(error, (ValueError, IndexError, TypeError, np.linalg.LinAlgError))
        unknown = re.search(r"keyword|positional argument|no loop|not supported", str(error))
        return [type(error).__name__] if refusal and not unknown else []
    return []


def opinion(
    case: Case, wanted: Answer, numbers: Callable[[Case, bool], Numbers] = in_64_bits
) -> Numbers:
    """Return what NumPy or SciPy has for a case to which somebody has an answer, or None."""
    if wanted.leaves is None:
        return None
    inexact = any(isinstance(x, Leaf) and is_inexact(dtype_of(x.dtype)) for x in wanted.leaves)
    return numbers(case, inexact)


def _flat(x: Any) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, tuple | list) else [x]


def _widened(x: np.ndarray[Any, Any], inexact: bool) -> np.ndarray[Any, Any]:
    if is_complex(x.dtype):
        return x.astype(np.complex128)
    if is_inexact(x.dtype):
        return x.astype(np.float64)
    if x.dtype.kind not in "biu" or inexact:
        return x.astype(np.uint64 if x.dtype == np.uint64 else np.int64)
    return x


def numpy_agrees(
    case: Case,
    wanted: Answer,
    slack: float,
    alone: bool = False,
    numbers: Callable[[Case, bool], Numbers] = in_64_bits,
) -> bool:
    """Whether NumPy has the opinion that JAX has."""
    said = opinion(case, wanted, numbers)
    if said is None or wanted.leaves is None or len(said) != len(wanted.leaves):
        return False
    scale = max(1.0, magnitude(case))
    for ours, theirs in zip(wanted.leaves, said, strict=True):
        if isinstance(ours, str) or theirs.dtype == object or theirs.shape != ours.values.shape:
            return False
        dtype = dtype_of(ours.dtype)
        with np.errstate(all="ignore"):
            cast = theirs.astype(dtype)
        if differ(ours.values, cast, slack=4 * slack, scale=scale, alone=alone):
            return False
    return True


def either_agrees(
    case: Case,
    found: Answer,
    wanted: Answer,
    slack: float,
    alone: bool = False,
    numbers: Callable[[Case, bool], Numbers] = in_64_bits,
) -> bool:
    """Whether each element is what JAX says, or what SciPy says; the types are known to be JAX's."""
    said = opinion(case, found, numbers)
    if said is None or found.leaves is None or wanted.leaves is None:
        return False
    mended: list[Leaf | str] = []
    for ours, theirs, number in zip(found.leaves, wanted.leaves, said, strict=False):
        if isinstance(ours, str) or isinstance(theirs, str) or number.dtype == object:
            return False
        if number.shape != ours.values.shape:
            return False
        with np.errstate(all="ignore"):
            cast = number.astype(dtype_of(ours.dtype))
        scale = max(1.0, magnitude(case))
        same = near(ours.values, cast, slack=4 * slack, scale=scale, alone=alone)
        mended.append(theirs._replace(values=np.where(same, ours.values, theirs.values)))
    agreed = found._replace(leaves=mended)
    return not compare(found, agreed, slack=slack, scale=magnitude(case), alone=alone)


# ---- recorded


def drawn(entry: Entry, name: str, count: int, salt: str = "") -> list[Case]:
    """Cases by a seed that follows from the name: the same as long as hypothesis is.

    With another salt, others.
    """
    found: dict[str, Case] = {}

    @seed(zlib.crc32((name + salt).encode()))
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(entry.draw, name))
    def collect(case: Case) -> None:
        found.setdefault(case.line(), case)

    collect()
    return list(found.values())


def record(
    table: dict[str, Entry],
    path: Path,
    oracle: Oracle,
    count: int = 4,
    only: Sequence[str] = (),
    also: Mapping[str, Sequence[Case]] = MappingProxyType({}),
) -> None:
    """Draw cases, ask JAX and NumPy, and write down what they say: of the functions of `only`, and
    of those of which nothing is written yet; after the drawn cases, those of `also`."""
    known: dict[str, list[str]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines()[1:-1]:
            known.setdefault(json.loads(line.rstrip(","))[0], []).append(line.rstrip(","))
    for name, entry in table.items():
        if name not in known or name in only:
            asked = [*drawn(entry, name, count), *also.get(name, ())]
            known[name] = [_recorded(entry, name, case, oracle) for case in asked]
            lines = [line for known_name in table for line in known.get(known_name, ())]
            path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _recorded(entry: Entry, name: str, case: Case, oracle: Oracle) -> str:
    """A line of the file: a case, and what JAX and NumPy said."""
    wanted = oracle.ask(case)
    agrees = entry.wide and numpy_agrees(case, wanted, entry.slack)
    leaves = wanted.leaves if wanted.leaves is None else [_text(x) for x in wanted.leaves]
    parts = [name, [*case], leaves, wanted.error[:1], wanted.traced[:1], agrees]
    return json.dumps(parts, separators=(",", ":"))


def recorded(path: Path) -> dict[str, list[Record]]:
    """Read the cases that `record` wrote, by function."""
    found: dict[str, list[Record]] = {}
    if not path.exists():  # about to be made
        return found
    for name, case, leaves, error, traced, agrees in json.loads(path.read_text(encoding="utf-8")):
        made = leaves if leaves is None else [_leaf(x) for x in leaves]
        found.setdefault(name, []).append(
            Record(Case.make(case), Answer(made, error, traced), agrees)
        )
    return found


def _text(x: Leaf | str) -> Any:
    if isinstance(x, str):
        return x
    digits = 17 if x.values.dtype.itemsize >= 8 else 9
    flat = x.values.reshape(-1)
    if is_complex(flat.dtype):
        pairs = flat.astype(np.complex128).view(np.float64)
        return [x.dtype, x.weak, list(x.values.shape), [float(f"{v:.{digits}g}") for v in pairs]]
    if is_inexact(flat.dtype):
        values: list[Any] = [float(f"{v:.{digits}g}") for v in flat.astype(np.float64)]
    else:
        values = [int(v) for v in flat]
    return [x.dtype, x.weak, list(x.values.shape), values]


def _leaf(x: Any) -> Leaf | str:
    if isinstance(x, str):
        return x
    name, weak, shape, values = x
    dtype = dtype_of(name)
    if is_complex(dtype):
        wide = np.array(values, np.float64).view(np.complex128)
    else:
        wide = np.array(values, np.float64 if is_inexact(dtype) else None)
    with np.errstate(all="ignore"):
        return Leaf(name, weak, wide.astype(dtype).reshape(shape))


def replay(entry: Entry, records: list[Record], transformed: int) -> list[str]:
    """Complaints about recorded cases; the first so many go under transformations too."""
    found = []
    for i, (case, wanted, agrees) in enumerate(records):
        why = complaint(entry, case, wanted, transformed=i < transformed)
        if not why and agrees and wanted.leaves is not None:
            ours = answer(check.EFFAX, case)
            why = "" if numpy_agrees(case, ours, entry.slack) else "not what NumPy says"
        if why:
            found.append(f"{case.line()}\n    {why}")
    return found


# ---- searched


def search(entry: Entry, name: str, oracle: Oracle, count: int) -> None:
    """Fresh cases, JAX asked for each; fails with the smallest that differs.

    They follow from the function's name, so that a run can be run again; another EFFAX_GRID_SEED
    draws others.
    """

    @seed(zlib.crc32(name.encode()) + int(os.environ.get("EFFAX_GRID_SEED", "0")))
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(entry.draw, name))
    def agrees(case: Case) -> None:
        why = complaint(entry, case, oracle.ask(case))
        assert not why, f"{case.line()}\n    {why}"

    agrees()


def examples() -> int:
    """The number of cases of each function that the long run draws: EFFAX_GRID_EXAMPLES.

    By default so many that the run takes a quarter of an hour on two cores.
    """
    return int(os.environ.get("EFFAX_GRID_EXAMPLES", "4"))
