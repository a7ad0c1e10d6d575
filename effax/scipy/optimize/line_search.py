"""A step along a line that satisfies the strong Wolfe conditions (Nocedal & Wright 2006, 3.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import effax.numpy as jnp
from effax import lax
from effax.effects.value import Array

_DECREASE, _CURVATURE = 1e-4, 0.9
_ZOOMS = 30


class LinePoint(NamedTuple):
    """A step, with the function there, its slope along the line, and its gradient."""

    step: Array
    value: Array
    slope: Array
    gradient: Array


class LineFound(NamedTuple):
    """The step that was found; 0, or why there is none; how often the function was asked."""

    point: LinePoint
    status: Array
    calls: Array


class _Search(NamedTuple):
    before: LinePoint
    low: LinePoint
    high: LinePoint
    best: LinePoint
    zooming: Array
    done: Array
    status: Array
    steps: Array
    zooms: Array
    calls: Array


def _either(test: Array, yes: LinePoint, no: LinePoint) -> LinePoint:
    return LinePoint(*(jnp.where(test, x, y) for x, y in zip(yes, no, strict=True)))


def _between(low: LinePoint, high: LinePoint) -> Array:
    """The minimum of the cubic with these values and slopes; the middle, where it is no use."""
    width = high.step - low.step
    width_or_one = jnp.where(width == 0, 1, width)
    mean = low.slope + high.slope - 3 * (high.value - low.value) / width_or_one
    root = jnp.sqrt(jnp.maximum(mean * mean - low.slope * high.slope, 0)) * jnp.sign(width)
    down = high.slope - low.slope + 2 * root
    part = 1 - (high.slope + root - mean) / jnp.where(down == 0, 1, down)
    usable = (part > 0.1) & (part < 0.9) & (down != 0)
    return low.step + width * jnp.where(usable, part, 0.5)


def search(
    along: Callable[[Array], LinePoint], start: LinePoint, maxiter: int, first: Array
) -> LineFound:
    """A step from `start` along a line on which the function falls there.

    Statuses are 0, 1 where no step was found between two that hold one, and 3 where none was found
    in `maxiter` steps outwards.
    """

    def low_enough(p: LinePoint) -> Array:
        return p.value <= start.value + _DECREASE * p.step * start.slope

    def flat_enough(p: LinePoint) -> Array:
        return jnp.abs(p.slope) <= -_CURVATURE * start.slope

    def unfinished(s: _Search) -> Array:
        return ~s.done

    def step(s: _Search) -> _Search:
        outwards = jnp.where(s.steps == 0, first, 2 * s.before.step)
        here = along(jnp.where(s.zooming, _between(s.low, s.high), outwards))
        good = low_enough(here) & flat_enough(here)
        up = ~low_enough(here)  # NaN counts as too high
        # Outwards: an interval is found when the function rises, or its slope changes sign.
        rising = up | ((s.steps > 0) & (here.value >= s.before.value))
        turned = ~rising & (here.slope >= 0)
        opened = ~s.zooming & (rising | turned)
        low = _either(opened & turned, here, _either(opened, s.before, s.low))
        high = _either(opened & turned, s.before, _either(opened, here, s.high))
        # Inwards: the lower end is the best point so far; the slope there falls towards the other
        # end.
        worse = up | (here.value >= s.low.value)
        flipped = here.slope * (s.high.step - s.low.step) >= 0
        inner_high = _either(worse, here, _either(flipped, s.low, s.high))
        inner_low = _either(worse, s.low, here)
        low = _either(s.zooming, inner_low, low)
        high = _either(s.zooming, inner_high, high)
        steps = s.steps + jnp.where(s.zooming, 0, 1)
        zooms = s.zooms + jnp.where(s.zooming, 1, 0)
        closed = s.zooming & ((zooms >= _ZOOMS) | (high.step == low.step))
        lost = ~s.zooming & ~opened & (steps >= maxiter)
        status = jnp.where(good, 0, jnp.where(closed, 1, jnp.where(lost, 3, 0)))
        best = _either(good | ~(opened | s.zooming), here, low)
        done = good | closed | lost
        return _Search(
            here, low, high, best, s.zooming | opened, done, status, steps, zooms, s.calls + 1
        )

    no, zero = jnp.asarray(False), jnp.asarray(0)
    found = lax.while_loop(
        unfinished, step, _Search(start, start, start, start, no, no, zero, zero, zero, zero)
    )
    return LineFound(found.best, found.status, found.calls)
