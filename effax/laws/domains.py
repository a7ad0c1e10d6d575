"""Safe domains of elementwise effects, found by asking the reference.

An effect of this kind, defined today or by a user tomorrow, takes part in the laws without being
mentioned anywhere: typing says which dtypes it takes, and a grid of points where it is finite and
not too steep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, Final

import attrs
import numpy as np

from effax.backends.reference.evaluate import evaluate_effect
from effax.backends.reference.table import rules
from effax.effects.columns import load
from effax.effects.effect import Effect, all_effects
from effax.effects.types import ShapedArray, bool_, float64, int32, is_float
from effax.matrix import library_families

DOMAINS: Final = {
    "any": (-4.0, 4.0),
    "unit": (-0.8, 0.8),
    "positive": (0.3, 4.0),
    "negative": (-4.0, -0.3),
    "inner": (0.2, 0.8),
    "above one": (1.2, 4.0),
}
"""Intervals that operands can be brought into by smooth functions."""

_STEEP: Final = 100.0
# Effects that are not differentiable in each operand, or of no use in a random program.
_LEFT_OUT: Final = frozenset(
    {
        "beta_density",
        "clamp",  # its bounds may not meet
        "igamma_grad_a",
        "nextafter",
        "polygamma",
        "random_gamma_grad",
        "reduce_precision",
        "regularized_incomplete_beta",
        "regularized_incomplete_betac",
        "rem",
        "select_n",
        "stop_gradient",
        "threefry2x32",
        "zeta",
    }
)
# Finite everywhere, but with a slope that is not.
_NARROWER: Final = {"cbrt": ("positive",), "abs": ("any",), "bessel_i0e_grad": ("positive",)}


@attrs.frozen
class Pointwise:
    """An effect on elements: dtype and domain of each operand, dtype and bound of the result.

    `smooth` is False where the result jumps, or is constant between jumps.
    """

    effect: Effect
    dtypes: tuple[Any, ...]
    domains: tuple[str, ...]
    result: Any
    bound: float
    smooth: bool


def _attributeless(effect: Effect, types: Sequence[ShapedArray]) -> ShapedArray | None:
    """The type of the result, where the effect keeps shapes and needs no attributes."""
    try:
        result = effect.infer(tuple(types), {})
    except (TypeError, ValueError, KeyError):
        return None
    if effect.multiple or result.shape != types[0].shape:
        return None
    return result


def _grid(domains: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    n = {1: 1001, 2: 61, 3: 13}[len(domains)]
    axes = [np.linspace(*DOMAINS[d], n) + 1e-4 * np.pi * i for i, d in enumerate(domains)]
    return [np.ascontiguousarray(x) for x in np.meshgrid(*axes, indexing="ij")]


def _ask(effect: Effect, domains: Sequence[str]) -> Pointwise | None:
    """The effect on this box, if it is finite there and not steep."""
    grid = _grid(domains)
    type = ShapedArray(grid[0].shape, float64)
    result = effect.infer((type,) * len(grid), {})
    try:
        values = evaluate_effect(effect, grid, [result], {})[0]
    except TypeError:
        return None  # the effect needs attributes
    dtypes = (float64,) * len(grid)
    if not is_float(result.dtype):
        return Pointwise(effect, dtypes, tuple(domains), result.dtype, 1.0, False)
    if not np.isfinite(values).all():
        return None
    jumps = True
    for axis, domain in enumerate(domains):
        step = np.ptp(DOMAINS[domain]) / (grid[0].shape[axis] - 1)
        slopes = np.abs(np.diff(values, axis=axis)) / step
        constant = np.mean(slopes == 0) > 0.9
        jumps = jumps and constant
        if not constant and slopes.max() > _STEEP:
            return None
    bound = float(np.abs(values).max())
    return Pointwise(effect, dtypes, tuple(domains), result.dtype, bound, not jumps)


@cache
def float_effects() -> tuple[Pointwise, ...]:
    """The effects on floats alone, each on the widest box where it is safe."""
    load("effax.backends.reference")
    return tuple(_float_effects())


def _of_the_library() -> Iterator[Effect]:
    """First-order effects of the library's own families: those of users may lack rules."""
    families = library_families()
    for effect in all_effects():
        if effect.family not in families or effect.name in _LEFT_OUT:
            continue
        if effect in rules and not effect.answerable:
            yield effect


def _float_effects() -> Iterator[Pointwise]:
    for effect in _of_the_library():
        for n in (1, 2, 3):
            if _attributeless(effect, (ShapedArray((2, 3), float64),) * n) is None:
                continue
            boxes = product(*[_NARROWER.get(effect.name, tuple(DOMAINS))] * n)
            for box in sorted(boxes, key=_width):
                found = _ask(effect, box)
                if found is not None:
                    yield found
                    yield from _mirrored(effect, box)
                    break
            break


def _mirrored(effect: Effect, box: Sequence[str]) -> Iterator[Pointwise]:
    """The effect where operands that were positive are negative, if it is safe there too."""
    signs = [(d, "negative") if d == "positive" else (d,) for d in box]
    for other in [*product(*signs)][1:]:
        found = _ask(effect, other)
        if found is not None:
            yield found


def _width(box: Sequence[str]) -> float:
    return -sum(float(np.ptp(DOMAINS[d])) for d in box)


@cache
def other_effects() -> tuple[Pointwise, ...]:
    """The effects on integers, and on Booleans, that are defined for all of them."""
    load("effax.backends.reference")
    return tuple(_other_effects())


def _other_effects() -> Iterator[Pointwise]:
    for effect in _of_the_library():
        if effect.name in ("div", "pow", "integer_pow") or effect.name.startswith("shift"):
            continue
        for dtype, n in product((int32, bool_), (1, 2)):
            result = _attributeless(effect, (ShapedArray((2, 3), dtype),) * n)
            if result is None or result.dtype not in (int32, bool_):
                continue
            yield Pointwise(effect, (dtype,) * n, ("any",) * n, result.dtype, 2.0**31, False)
