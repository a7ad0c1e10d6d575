"""Ordinary differential equations, and the adjoint equation in reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax import lax
from effax.api.custom.closure import closure_convert
from effax.api.custom.vjp import custom_vjp
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import is_float, is_inexact, typeof
from effax.effects.value import Array
from effax.flatten_util import ravel_pytree
from effax.operands.arguments import check_arrays

__all__ = ["odeint"]
__dir__ = __all__.copy


# Dormand & Prince 1980: the times of the slopes, their weights, and two solutions made of them.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_FIFTH = (*_STAGES[-1], 0.0)
_FOURTH = (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40)
_ERROR = tuple(x - y for x, y in zip(_FIFTH, _FOURTH, strict=True))
# The solution in the middle of a step (Shampine 1986).
_MIDDLE = (
    *(6025192743 / 30085553152 / 2, 0.0, 51252292925 / 65400821598 / 2),
    *(-2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2),
    *(-1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2),
)
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 10.0


class _Settings(NamedTuple):
    rtol: float
    atol: float
    mxstep: float
    hmax: float


def _combined(slopes: list[Array], weights: tuple[float, ...]) -> Array:
    terms = [w * k for w, k in zip(weights, slopes, strict=False) if w]
    return sum(terms[1:], terms[0])


def _size(x: Array) -> Array:
    """The mean square of real and imaginary parts."""
    return jnp.mean(jnp.abs(x) ** 2)


def _first_step(function: Any, t: Array, y: Array, slope: Array, s: _Settings) -> Array:
    """A step with which to begin (Hairer, Norsett & Wanner 2008, II.4)."""
    scale = s.atol + jnp.abs(y) * s.rtol
    d0, d1 = jnp.linalg.norm(y / scale), jnp.linalg.norm(slope / scale)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 == 0, 1, d1))
    d2 = jnp.linalg.norm((function(y + h0 * slope, t + h0) - slope) / scale) / h0
    largest = jnp.maximum(d1, d2)
    h1 = (0.01 / jnp.where(largest == 0, 1, largest)) ** 0.2
    h1 = jnp.where(largest <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), h1)
    return jnp.minimum(100 * h0, h1)


class _Step(NamedTuple):
    """The state of an integration: its last step, as a polynomial of degree 4, and the next step
    size.
    """

    count: Array  # type: ignore[assignment]  # hides the method of tuples
    y: Array
    slope: Array
    t: Array
    size: Array
    before: Array
    polynomial: Array


def _stepped(function: Any, s: _Settings, state: _Step) -> _Step:
    """The next step, taken only where its error is small enough."""
    h, y, t = state.size, state.y, state.t
    slopes = [state.slope]
    for time, weights in zip(_TIMES, _STAGES, strict=True):
        slopes.append(function(y + h * _combined(slopes, weights), t + h * time))
    new = y + h * _combined(slopes, _FIFTH)
    error = h * _combined(slopes, _ERROR)
    allowed = s.atol + s.rtol * jnp.maximum(jnp.abs(y), jnp.abs(new))
    ratio = jnp.sqrt(_size(error / allowed))
    middle = y + h * _combined(slopes, _MIDDLE)
    polynomial = _through(y, middle, new, h * slopes[0], h * slopes[-1])
    accepted = ratio <= 1
    least = jnp.where(accepted, 1.0, _LEAST)
    factor = _SAFETY / jnp.where(ratio == 0, 1, ratio) ** 0.2
    factor = jnp.where(ratio == 0, _MOST, jnp.clip(factor, least, _MOST))
    factor = jnp.where(jnp.isnan(ratio), _LEAST, factor)
    size = jnp.clip(h * factor, 0, s.hmax).astype(h.dtype)
    taken = (new, slopes[-1], t + h, t, polynomial)
    kept = (y, state.slope, t, state.before, state.polynomial)
    y, slope, t, before, polynomial = (
        jnp.where(accepted, a, b) for a, b in zip(taken, kept, strict=True)
    )
    return _Step(state.count + 1, y, slope, t, size, before, polynomial)


def _through(y0: Array, middle: Array, y1: Array, d0: Array, d1: Array) -> Array:
    """The polynomial, the highest power first, with these values at 0, 1/2, 1 and these slopes."""
    return jnp.stack(
        [
            -2 * d0 + 2 * d1 - 8 * y0 - 8 * y1 + 16 * middle,
            5 * d0 - 3 * d1 + 18 * y0 + 14 * y1 - 32 * middle,
            -4 * d0 + d1 - 11 * y0 - 5 * y1 + 16 * middle,
            d0,
            y0,
        ]
    )


def _integrated(function: Any, s: _Settings, y0: Array, t: Array) -> Array:
    """The solution at times that rise, for a vector: a row for each time."""
    slope = function(y0, t[0])
    first = jnp.clip(_first_step(function, t[0], y0, slope, s), 0, s.hmax).astype(t.dtype)

    def until(state: _Step, target: Array) -> tuple[_Step, Array]:
        def unfinished(state: _Step) -> Array:
            return (state.t < target) & (state.count < s.mxstep) & (state.size > 0)

        state = lax.while_loop(
            unfinished, partial(_stepped, function, s), state._replace(count=jnp.asarray(0))
        )
        width = state.t - state.before
        part = (target - state.before) / jnp.where(width == 0, 1, width)
        value = state.polynomial[0]
        for coefficient in (state.polynomial[i] for i in range(1, 5)):
            value = value * part + coefficient
        missed = (state.t < target) | (target < state.before)
        return state, jnp.where(missed, jnp.nan, value).astype(y0.dtype)

    polynomial = jnp.stack([jnp.zeros_like(y0)] * 4 + [y0])
    start = _Step(jnp.asarray(0), y0, slope, t[0], first, t[0], polynomial)
    _, rest = lax.scan(until, start, t[1:])
    return jnp.concatenate([y0[None], rest])


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Array,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = jnp.inf,
    hmax: float = jnp.inf,
) -> Any:
    """Solve `dy/dt = func(y, t, *args)` at some times, by Dormand & Prince's method.

    Steps adapt to the error, of fifth order; between them there is a polynomial of degree 4.
    Reverse mode solves the adjoint equation backwards, in constant memory; forward mode is refused.

    Args:
      func: gives the slope, a tree of arrays like y's; what it closes over has derivatives.
      y0: the solution at `t[0]`: a tree of arrays of floats or complex numbers.
      t: times that rise, a vector of floats.
      *args: trees of arrays.
      rtol, atol: the error allowed in a step, relative and absolute.
      mxstep: the most steps from one time to the next.
      hmax: the largest step.

    Returns:
      A tree like y0, its arrays with one more axis, the first, of times. NaN at times that aren't
      reached, or that are before the last.

    Raises:
      TypeError: where times, y0 or args are not such arrays, or slopes don't have y0's shapes.
      ValueError: where t is no vector, or empty.

    >>> import effax, effax.numpy as jnp
    >>> from effax.experimental.ode import odeint
    >>> y = odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0]), rtol=1e-6)
    >>> jnp.allclose(y, jnp.exp(jnp.array([0.0, -1.0])), rtol=1e-5)
    Array(True, dtype=bool)
    """
    from effax import vmap

    if not callable(func):
        raise TypeError(f"the first argument of odeint must be callable, got {func!r}")
    check_arrays("odeint", t)
    if not is_float(typeof(t).dtype):
        raise TypeError(f"t must be an array of floats, but got {t}.")
    if typeof(t).ndim != 1 or not typeof(t).size:
        raise ValueError(f"t must be a vector of times, but its shape is {typeof(t).shape}")
    for leaf in tree_flatten(args)[0]:
        try:
            typeof(leaf)
        except TypeError:
            raise TypeError(
                f"The contents of odeint *args must be arrays or scalars, but got {leaf}."
            ) from None
    leaves, tree = tree_flatten(y0)
    check_arrays("odeint", *leaves)
    if not all(is_inexact(typeof(x).dtype) for x in leaves):
        raise TypeError(
            "y0 must hold floats or complex numbers, but its dtypes are "
            f"{[str(typeof(x).dtype) for x in leaves]}"
        )
    y0 = tree_unflatten(tree, [jnp.asarray(x, typeof(x).dtype) for x in leaves])
    t = jnp.asarray(t, typeof(t).dtype)
    converted, closed = closure_convert(func, y0, t[0], *args)
    flat, back = ravel_pytree(y0)

    def vector_field(y: Array, t: Array, args: Any) -> Array:
        slope = converted(back(y), t, *args)
        _check_slope(slope, y0)
        return ravel_pytree(slope)[0]

    solved = _solution(vector_field, _Settings(rtol, atol, mxstep, hmax), flat, t, (*args, *closed))
    return vmap(back)(solved)


def _check_slope(slope: Any, y: Any) -> None:
    """Raise `TypeError` for a slope of more or fewer elements than y; its tree may be another."""
    types = [[typeof(x) for x in tree_flatten(tree)[0]] for tree in (slope, y)]
    if sum(x.size for x in types[0]) != sum(x.size for x in types[1]):
        given, wanted = ([x.shape for x in leaves] for leaves in types)
        raise TypeError(
            "odeint: the function must return as many elements as y0 has, but it returned shapes "
            f"{given}, and those of y0 are {wanted}"
        )


def _solution(function: Any, s: _Settings, y0: Array, t: Array, args: Any) -> Array:
    """The solution for vectors, with its adjoint."""

    @custom_vjp
    def solve(y0: Array, t: Array, args: Any) -> Array:
        dtype = jnp.promote_types(y0.dtype, t.dtype)

        def wide(y: Array, t: Array) -> Array:
            return function(y.astype(y0.dtype), t, args).astype(dtype)

        return _integrated(wide, s, y0.astype(dtype), t).astype(y0.dtype)

    def forward(y0: Array, t: Array, args: Any) -> Any:
        ys = solve(y0, t, args)
        return ys, (ys, t, args)

    def backward(kept: Any, cotangents: Array) -> Any:
        ys, t, args = kept
        return _adjoint(function, s, ys, t, args, cotangents)

    solve.defvjp(forward, backward)
    return solve(y0, t, args)


def _adjoint(function: Any, s: _Settings, ys: Array, t: Array, args: Any, given: Array) -> Any:
    """Backwards in time from each row to the one before, taking up its cotangent there."""
    from effax import vjp

    leaves, tree = tree_flatten(args)
    moving = [is_inexact(typeof(x).dtype) for x in leaves]

    def filled(moved: Any) -> Any:
        rest = iter(moved)
        return tree_unflatten(
            tree, [next(rest) if m else x for m, x in zip(moving, leaves, strict=True)]
        )

    moved = [jnp.asarray(x, typeof(x).dtype) for x, m in zip(leaves, moving, strict=True) if m]

    def backwards(state: Any, negative: Array, moved: Any) -> Any:
        y, y_bar, _, _ = state
        slope, pull = vjp(lambda y, t, m: function(y, t, filled(m)), y, -negative, moved)
        return (-slope, *pull(y_bar))

    def step(carry: Any, row: Any) -> Any:
        y_bar, first_bar, moved_bar = carry
        y, now, before, g, g_before = row
        now_bar = jnp.sum(function(y, now, args) * g).real.astype(t.dtype)
        state = (y, y_bar, first_bar - now_bar, moved_bar)
        settings = s._asdict()
        found = odeint(backwards, state, jnp.stack([-now, -before]), moved, **settings)
        _, y_bar, first_bar, moved_bar = tree_unflatten(
            tree_flatten(state)[1], [x[1] for x in tree_flatten(found)[0]]
        )
        return (y_bar + g_before, first_bar, moved_bar), now_bar

    rows = (ys[1:], t[1:], t[:-1], given[1:], given[:-1])
    start = (given[-1], jnp.zeros((), t.dtype), [jnp.zeros_like(x) for x in moved])
    (y_bar, first_bar, moved_bar), times_bar = lax.scan(step, start, rows, reverse=True)
    t_bar = jnp.concatenate([first_bar[None], times_bar])
    rest = iter(moved_bar)
    return y_bar, t_bar, tree_unflatten(tree, [next(rest) if m else None for m in moving])
