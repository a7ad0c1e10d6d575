"""A case under transformations: jit says what eager says, vmap a stack of singles, and derivatives
are what differences are. Each returns how it is not so, or ""; no oracle is needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.tree import tree_leaves
from tests.grid.ask import Answer, Leaf, Library, arrays, effax_library, leaf, operands
from tests.grid.case import SMOOTH, Case, Operand, dtype_of, is_complex, is_inexact
from tests.grid.compare import compare_leaves, differ

EFFAX: Library = effax_library()
STEP = 1e-6
REFUSED = "no derivative: "


def under_jit(case: Case, eager: Answer, **how: Any) -> str:
    """`eager` is what effax answered outside; nothing is asked where it can't be traced."""
    if eager.leaves is None or eager.traced:
        return ""
    with effax.enable_x64(case.x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = case.function(EFFAX.names)
        jitted = effax.jit(lambda *xs: arrays(EFFAX, function(*xs)))
        found = [leaf(x) for x in jitted(*operands(EFFAX, case))]
    wanted = [x for x in eager.leaves if isinstance(x, Leaf)]
    return _said("under jit: ", compare_leaves(found, wanted, **how))


def under_vmap(case: Case, eager: Answer, **how: Any) -> str:
    """Two lanes, the first of which is the case; Python scalars and lists are not mapped."""
    if eager.leaves is None or eager.traced:
        return ""
    mapped = [o.form in ("array", "weak", "host") for o in case.operands]
    if not any(mapped):
        return ""
    with effax.enable_x64(case.x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = case.function(EFFAX.names)
        first, second = operands(EFFAX, case), operands(EFFAX, case, lane=1)
        pairs = list(zip(case.operands, mapped, first, second, strict=True))
        second = [y if m else x for o, m, x, y in pairs]
        stacked = [
            EFFAX.operand(o, np.stack([np.asarray(x), np.asarray(y)])) if m else x
            for o, m, x, y in pairs
        ]
        lanes = [[leaf(y) for y in arrays(EFFAX, function(*xs))] for xs in (first, second)]
        batched = effax.vmap(
            lambda *xs: arrays(EFFAX, function(*xs)), [0 if m else None for m in mapped]
        )
        together = [leaf(y) for y in effax.jit(batched)(*stacked)]
    for k, wanted in enumerate(lanes):
        found = [Leaf(y.dtype, y.weak, y.values[k]) for y in together if isinstance(y, Leaf)]
        why = compare_leaves(found, wanted, **how)
        if why:
            return _said(f"under vmap, lane {k}: ", why)
    return ""


def _moved(operand: Operand) -> bool:
    return (
        operand.form != "list"
        and operand.kind.partition(":")[0] in SMOOTH
        and is_inexact(dtype_of(operand.dtype))
    )


def _wide(operand: Operand) -> Operand:
    """The same in 64 bits, where differences can be taken."""
    if not is_inexact(dtype_of(operand.dtype)):
        return operand
    wide = "complex128" if is_complex(dtype_of(operand.dtype)) else "float64"
    form = "array" if operand.form == "host" else operand.form
    return operand._replace(dtype=wide, form=form)


def direction(x: Any, rng: np.random.RandomState) -> Any:
    values = rng.normal(size=np.shape(x))
    if is_complex(np.asarray(x).dtype):
        values = values + 1j * rng.normal(size=np.shape(x))
    return jnp.asarray(values)


def widened_case(case: Case) -> Case | None:
    """The case in 64 bits, if all its inexact operands can be moved a little."""
    inexact = [o for o in case.operands if is_inexact(dtype_of(o.dtype))]
    if not inexact or not all(_moved(o) for o in inexact) or "dtype" in case.code:
        return None
    return case._replace(operands=tuple(_wide(o) for o in case.operands), x64=True)


def smooth_part(case: Case) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The inexact results of a case as a function of its inexact operands, and these."""
    code, given = case.function(EFFAX.names), operands(EFFAX, case)
    places = [i for i, o in enumerate(case.operands) if is_inexact(dtype_of(o.dtype))]

    def function(*xs: Any) -> list[Any]:
        filled = list(given)
        for i, x in zip(places, xs, strict=True):
            filled[i] = x
        return [y for y in tree_leaves(code(*filled)) if is_inexact(getattr(y, "dtype", "i4"))]

    return function, [jnp.asarray(given[i]) for i in places]


def derivatives(case: Case, *, slack: float = 1.0, kinks: bool = False) -> str:
    """Forwards against a central difference, backwards against forwards; in 64 bits, in one
    direction. Cases with operands that stand at an edge are left out, and so is what has no
    derivative and says so by name."""
    wide = widened_case(case)
    if wide is None:
        return ""
    with effax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _derivatives(*smooth_part(wide), slack, kinks)
        except UnsupportedDerivativeError as error:
            return f"{REFUSED}{error}"


def _derivatives(function: Any, xs: list[Any], slack: float, kinks: bool) -> str:
    rng = np.random.RandomState(0)
    ts = [direction(x, rng) for x in xs]
    shapes = effax.eval_shape(function, *xs)
    if not shapes:
        return ""
    cs = [direction(np.empty(y.shape, y.dtype), rng) for y in shapes]

    def everything(xs: Any, ts: Any, cs: Any) -> Any:
        forwards = effax.jvp(function, tuple(xs), tuple(ts))[1]
        ahead = function(*[x + STEP * t for x, t in zip(xs, ts, strict=True)])
        behind = function(*[x - STEP * t for x, t in zip(xs, ts, strict=True)])
        return forwards, ahead, behind, effax.vjp(function, *xs)[1](cs)

    forwards, ahead, behind, backwards = (
        [np.asarray(x) for x in part] for part in effax.jit(everything)(xs, ts, cs)
    )
    for p, m, t in zip(ahead, behind, forwards, strict=True):
        with np.errstate(all="ignore"):
            difference = (p - m) / (2 * STEP)
        defined = np.isfinite(difference) & (np.isfinite(t) if kinks else True)
        # A difference of values this large has lost so many digits.
        scale = float(np.max(np.abs(p), where=np.isfinite(p), initial=1.0))
        # Differences are good to six digits: so many times what two orders of operations are.
        why = differ(t[defined], difference[defined], slack=slack * 1e8, scale=scale)
        if why:
            return _said("forwards, of a difference: ", why)
    if not all(np.isfinite(x).all() for x in (*forwards, *ahead)):
        return ""
    pairs = list(zip(cs, forwards, strict=True))
    left = sum(np.sum(np.asarray(c) * t).real for c, t in pairs)
    right = sum(np.sum(x * np.asarray(t)).real for x, t in zip(backwards, ts, strict=True))
    size = 1 + sum(np.sum(np.abs(np.asarray(c) * t)) for c, t in pairs)
    if not abs(left - right) <= 1e-9 * slack * size:
        return f"backwards: {right} instead of {left}"
    return ""


def _said(where: str, why: str) -> str:
    return where + why if why else ""
