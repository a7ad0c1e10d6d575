"""The minimum of a function of a vector, by quasi-Newton steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax import lax
from effax.effects.types import is_float
from effax.effects.value import Array
from effax.numpy.decompositions import floats
from effax.scipy.optimize.line_search import LinePoint, search
from effax.scipy.products import product, vdot

_PER_UNKNOWN = 200  # iterations, as in SciPy


class OptimizeResults(NamedTuple):
    """The result of a minimisation.

    Attributes:
      x: where; `success`: whether it is a minimum; `status`: 0, 1 where there were no more
        iterations, 3 or 5 where a line search failed, -1 for the rest.
      fun, jac, hess_inv: the function there, its gradient, and the inverse of its second derivative
        as far as it was learned.
      nfev, njev, nit: how often the function and its gradient were computed, and iterations.
    """

    x: Array
    success: bool | Array
    status: int | Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: int | Array
    njev: int | Array
    nit: int | Array


def minimize(
    fun: Callable[..., Array],
    x0: Array,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A minimum of a function, near a vector. May be staged and batched.

    Reverse mode does not go through the search; derive `fun` at the minimum instead, as
    `lax.custom_root` does.

    Args:
      fun: `fun(x, *args)` gives a scalar.
      x0: a vector of floats.
      args: other operands.
      method: "BFGS".
      tol: the norm of the gradient to reach, 1e-5 by default.
      options: `gtol`, the same; `norm`, which norm, infinity by default; `maxiter`, 200 times as
        many as there are unknowns by default; `line_search_maxiter`, 10 by default.

    Raises:
      ValueError: for other methods, and an `x0` that is no vector.
      TypeError: where `args` is no tuple, `x0` has no floats, options are unknown, and `fun`
        doesn't give a scalar.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.optimize import minimize
    >>> found = minimize(lambda x: jnp.sum((x - 3.0) ** 2), jnp.zeros(2), method="BFGS")
    >>> jnp.round(found.x, 4), bool(found.success)
    (Array([3., 3.], dtype=float32), True)
    """
    given = {} if options is None else dict(options)
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to scipy.optimize.minimize must be a tuple, got {args}")
    if method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized; there is 'BFGS'")
    unknown = sorted(set(given) - {"gtol", "norm", "maxiter", "line_search_maxiter"})
    if unknown:
        raise TypeError(f"minimize() has no options {unknown} for the method BFGS")
    if tol is not None:
        given.setdefault("gtol", tol)
    x = jnp.asarray(x0)
    if not is_float(x.dtype):
        raise TypeError(f"minimize requires an x0 of floats, but its dtype is {x.dtype}")
    if x.ndim != 1:
        raise ValueError(f"minimize requires a vector for x0, but its shape is {x.shape}")
    return _bfgs(lambda x: fun(x, *args), x, **given)


class _State(NamedTuple):
    point: LinePoint
    x: Array
    inverse: Array
    last: Array
    converged: Array
    failed: Array
    status: Array
    calls: Array
    k: Array


def _bfgs(
    fun: Callable[[Array], Array],
    x: Array,
    gtol: float = 1e-5,
    norm: Any = jnp.inf,
    maxiter: int | None = None,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """Broyden, Fletcher, Goldfarb & Shanno (Nocedal & Wright 2006, algorithm 6.1).

    The first step tells the size of the inverse (equation 6.20). Beside an identity of another size
    its corrections are rounded off: where the second derivative is 1e8, the inverse of float32 had
    none of the step's direction left, and the search stood still.
    """
    from effax import value_and_grad

    both = value_and_grad(fun)
    most = x.size * _PER_UNKNOWN if maxiter is None else maxiter

    def small(gradient: Array) -> Array:
        return jnp.linalg.norm(gradient, ord=norm) < gtol

    def unfinished(s: _State) -> Array:
        return ~s.converged & ~s.failed & (s.k < most)

    def step(s: _State) -> _State:
        direction = -product(s.inverse, s.point.gradient)
        slope = vdot(direction, s.point.gradient)

        def along(length: Array) -> LinePoint:
            value, gradient = both(s.x + length * direction)
            return LinePoint(length, value, vdot(gradient, direction), gradient)

        origin = LinePoint(jnp.zeros_like(slope), s.point.value, slope, s.point.gradient)
        guess = 2.02 * (s.point.value - s.last) / jnp.where(slope == 0, 1, slope)
        guess = jnp.where((guess > 0) & (guess < 1), guess, 1)
        found = search(along, origin, line_search_maxiter, guess)
        moved = found.point.step * direction
        bent = found.point.gradient - s.point.gradient
        return _State(
            found.point,
            s.x + moved,
            _updated(s.inverse, moved, bent, s.k == 0),
            s.point.value,
            small(found.point.gradient),
            found.status > 0,
            found.status,
            s.calls + found.calls,
            s.k + 1,
        )

    value, gradient = both(x)
    (value,) = floats("minimize", value)
    zero = jnp.zeros_like(value)
    first = LinePoint(zero, value, zero, gradient)
    count = jnp.asarray(0)
    start = _State(
        *(first, x, jnp.eye(x.size, dtype=x.dtype), value + jnp.linalg.norm(gradient) / 2),
        *(small(gradient), jnp.asarray(False), count, count + 1, count),
    )
    end = lax.while_loop(unfinished, step, start)
    status = jnp.where(
        end.converged,
        0,
        jnp.where(end.failed, 2 + end.status, jnp.where(end.k == most, 1, -1)),
    )
    return OptimizeResults(
        x=end.x,
        success=end.converged & ~end.failed,
        status=status,
        fun=end.point.value,
        jac=end.point.gradient,
        hess_inv=end.inverse,
        nfev=end.calls,
        njev=end.calls,
        nit=end.k,
    )


def _updated(inverse: Array, moved: Array, bent: Array, first: Array) -> Array:
    """The inverse that takes the change of the gradient to the step, near the old one."""
    curvature = vdot(bent, moved)
    usable = jnp.isfinite(1 / curvature)
    rho = jnp.where(usable, 1 / jnp.where(usable, curvature, 1), 0)
    size = curvature / vdot(bent, bent)
    inverse = jnp.where(first & jnp.isfinite(size) & (size > 0), size * inverse, inverse)
    identity = jnp.eye(moved.size, dtype=inverse.dtype)
    turn = identity - rho * jnp.outer(moved, bent)
    new = product(product(turn, inverse), turn.T) + rho * jnp.outer(moved, moved)
    return jnp.where(usable, new, inverse)
