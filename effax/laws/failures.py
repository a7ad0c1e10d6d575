"""The law of automatic checks: on which operands an effect must fail, and on which it must not.

Each first-order effect of a program is performed by itself, on operands of its types that nobody
brought into its domain: infinities, zeros, negative numbers, NaN, indices outside. Whether it fails
there is found by looking at what the reference computes, and not by the rules of checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.effects.effect import Effect
from effax.effects.failures import DivisionByZeroError, JaxException, NaNError, OOBError
from effax.effects.rows import elementwise, indexing
from effax.effects.rows.check import FAMILY
from effax.effects.types import bool_, is_complex, is_inexact, typeof
from effax.laws.law import SAME, Case, Law
from effax.laws.sketch import SketchValue, Step, staged

SPECIAL: Final = (
    np.array([np.inf, -np.inf, -1.5, 0.0, 0.31, 0.73, 2.0]),
    np.array([np.nan]),
    np.array([0.0]),
    np.array([0.0, np.inf]),
)
"""Numbers on which something goes wrong somewhere: operands are drawn from each of these."""
_GENERIC: Final = (
    np.array([0.31, 0.73, 0.57, 0.11]),
    np.array([1.37, 2.61, 1.83]),
    np.array([1.0, 2.0, 3.0]),
)
"""Numbers of which functions are defined: between 0 and 1, beyond, whole."""
_MATRICES: Final = frozenset({"linalg", "condensed"})
"""The families whose algorithms take no infinities, and indices of a matrix's rows."""


@attrs.frozen
class Alone:
    """An effect with operands: arrays, and literals where the program has literals."""

    step: Step
    arrays: tuple[Any, ...]

    def perform(self, *arrays: Any) -> list[Any]:
        """Give the results on other arrays."""
        rest = iter(arrays)
        operands = [next(rest) if type(x) is SketchValue else x for x in self.step.operands]
        found = self.step.effect(*operands, **self.attributes)
        return list(found) if self.step.effect.multiple else [found]

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes as the effect takes them."""
        return {k: staged(v) for k, v in self.step.attributes.items()}


def _steps(c: Case) -> Iterator[Alone]:
    """Each first-order effect of the program, on drawn arrays of its operands' types."""
    generator = np.random.default_rng(c.seed)
    values = list(c.args)
    for step in c.f.steps:
        effect = step.effect
        given = [values[x.number] if type(x) is SketchValue else x for x in step.operands]
        found = effect(*given, **{k: staged(v) for k, v in step.attributes.items()})
        values += found if effect.multiple else [found]
        if effect.higher_order or effect.answerable or effect.family == FAMILY:
            continue
        types = [typeof(values[x.number]) for x in step.operands if type(x) is SketchValue]
        for numbers in SPECIAL:
            drawn = (_drawn(generator, effect, t, numbers) for t in types)
            yield Alone(step, tuple(c.lift(x) for x in drawn))


def _drawn(generator: Any, effect: Effect, type: Any, numbers: Any) -> Any:
    """Operands of a type, from some numbers; integers and Booleans are any small ones."""
    dtype, matrix = type.dtype, effect.family in _MATRICES
    if is_inexact(dtype):
        found = generator.choice(numbers[~np.isinf(numbers)] if matrix else numbers, type.shape)
        return np.asarray(found + 0.5j if is_complex(dtype) else found, dtype)
    if dtype == bool_:
        return generator.integers(0, 2, type.shape).astype(bool)
    low, high = (0, 2) if matrix else (-2, 6)
    found = generator.integers(max(low, np.iinfo(dtype).min), high, type.shape)
    return np.asarray(found, dtype)


def _array(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(getattr(x, "array", x))


def _any_nan(xs: Sequence[Any]) -> bool:
    return any(bool(np.isnan(_array(x)).any()) for x in xs if is_inexact(typeof(x).dtype))


def _makes_numbers(c: Case, one: Alone) -> bool:
    """Whether the effect makes numbers that it was not given: neither chosen, moved nor rounded."""
    generator = np.random.default_rng(c.seed)
    return any(_makes_of(c, one, numbers, generator) for numbers in _GENERIC)


def _makes_of(c: Case, one: Alone, numbers: Any, generator: Any) -> bool:
    def draw(x: Any) -> Any:
        t = typeof(x)
        return generator.choice(numbers, t.shape).astype(t.dtype) if is_inexact(t.dtype) else x

    arrays = [c.lift(draw(x)) for x in one.arrays]
    known = [_sizes(x) for x in arrays if is_inexact(typeof(x).dtype)]
    known += [np.abs(np.atleast_1d(x)) for x in one.step.operands if isinstance(x, int | float)]
    if not known:
        return False
    given = np.concatenate(known)
    for y in one.perform(*arrays):
        if is_inexact(typeof(y).dtype):
            made = _sizes(y)
            made = made[np.isfinite(made) & (np.abs(made - np.round(made)) > 1e-3)]
            if any(np.abs(given - m).min() > 1e-3 for m in made):
                return True
    return False


def _sizes(x: Any) -> np.ndarray[Any, Any]:
    """The absolute values of an array's elements, or of their two parts."""
    found = _array(x).ravel()
    return np.abs(np.concatenate([found.real, found.imag]) if np.iscomplexobj(found) else found)


def _outside(c: Case, one: Alone) -> bool:
    """Whether an index leaves its array: its elements are not read, or not written, there."""
    effect, how = one.step.effect, one.attributes
    xs = [_array(x) for x in one.arrays]
    if len(xs) != len(one.step.operands):
        xs = [_array(c.lift(x)) for x in _filled(one)]
    if effect is indexing.gather:
        x = c.lift(np.ones(xs[0].shape))
        strict = {**how, "mode": indexing.GatherScatterMode.FILL_OR_DROP, "fill_value": 0}
        return not _array(effect(x, c.lift(xs[1]), **strict)).all()
    if effect in indexing.SCATTERS:
        strict = {**how, "mode": indexing.GatherScatterMode.FILL_OR_DROP, "unique_indices": False}
        x, updates = c.lift(np.zeros(xs[0].shape)), c.lift(np.ones(xs[2].shape))
        written = indexing.scatter_add(x, c.lift(xs[1]), updates, **strict)
        return int(_array(written).sum()) != xs[2].size
    if effect in (indexing.dynamic_slice, indexing.dynamic_update_slice):
        slices = effect is indexing.dynamic_slice
        sizes = how["sizes"] if slices else xs[1].shape
        starts = xs[1 if slices else 2 :]
        ends = zip(starts, sizes, xs[0].shape, strict=True)
        return any(int(at) < 0 or int(at) + n > length for at, n, length in ends)
    return False


def _filled(one: Alone) -> list[Any]:
    """The operands, literals among them."""
    rest = iter(one.arrays)
    return [next(rest) if type(x) is SketchValue else np.asarray(x) for x in one.step.operands]


def _divides_by_zero(one: Alone) -> bool:
    divides = one.step.effect in (elementwise.div, elementwise.rem)
    return divides and bool((_array(_filled(one)[1]) == 0).any())


def _found(kind: type[JaxException], one: Alone) -> bool:
    """Whether checkify says that the effect failed."""
    from effax.experimental import checkify

    error, _ = checkify.checkify(one.perform, errors=frozenset({kind}))(*one.arrays)
    return error.get() is not None


def checks_find_failures(c: Case) -> Any:
    """For each effect of the program what checkify says, and what it should."""
    said: list[tuple[str, bool, bool, bool]] = []
    right: list[tuple[str, bool, bool, bool]] = []
    for one in _steps(c):
        name = one.step.effect.name
        try:
            nan = _any_nan(one.perform(*one.arrays))
        except (ValueError, np.linalg.LinAlgError):  # LAPACK refuses such a matrix
            continue
        found = _found(NaNError, one)
        # A NaN that is only moved or chosen may be left unreported, but a reported one must be
        # there.
        due = nan if found or _makes_numbers(c, one) else False
        zero, beyond = _divides_by_zero(one), _outside(c, one)
        said.append((name, found, _found(DivisionByZeroError, one), _found(OOBError, one)))
        right.append((name, due, zero, beyond))
    return said, right


FAILURES: Final = Law("checkify f fails where an effect must", checks_find_failures, SAME)
