"""The minimum of a function of a vector, by quasi-Newton steps."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Final, NamedTuple

import effax.numpy as jnp
from effax.effects.types import is_float, is_inexact
from effax.effects.value import Array
from effax.scipy.optimize.quasi_newton import Inverse, Recent, State, descend

_PER_UNKNOWN = 200  # iterations, as in SciPy


class OptimizeResults(NamedTuple):
    """The result of a minimisation.

    Attributes:
      x: where; `success`: whether it is a minimum; `status`: 0, 1 where there were no more
        iterations, 3 or 5 where a line search failed, -1 for the rest; of L-BFGS 2 and 3 where
        there were no more calls, 4 where a step gained too little.
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
      x0: a vector of floats; for L-BFGS of complex numbers too.
      args: other operands.
      method: "BFGS", which keeps a matrix, or "l-bfgs-experimental-do-not-rely-on-this" (JAX's
        name), which keeps the last steps.
      tol: the norm of the gradient to reach, 1e-5 by default.
      options: `gtol`, the same; `norm`, which norm, infinity by default; `maxiter`, 200 times as
        many as there are unknowns by default. Of BFGS: `line_search_maxiter`, 10 by default. Of
        L-BFGS: `maxcor`, how many steps are kept, 10 by default; `maxls`, 20 by default; `ftol`,
        the least gain of a step; `maxfun` and `maxgrad`, the most calls.

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
    if method.lower() not in _METHODS:
        listed = " and ".join(repr(name) for name in ("BFGS", *[*_METHODS][1:]))
        raise ValueError(f"Method {method} not recognized; there are {listed}")
    called, find, allowed = _METHODS[method.lower()]
    known = [*signature(find).parameters][2:]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(
            f"minimize() has no options {unknown} for the method {called}, which has {known}"
        )
    if tol is not None:
        given.setdefault("gtol", tol)
    x = jnp.asarray(x0)
    if not allowed(x.dtype):
        raise TypeError(f"minimize requires an x0 of floats, but its dtype is {x.dtype}")
    if x.ndim != 1:
        raise ValueError(f"minimize requires a vector for x0, but its shape is {x.shape}")
    return find(lambda x: fun(x, *args), x, **given)


def _bfgs(
    fun: Callable[[Array], Array],
    x: Array,
    gtol: float = 1e-5,
    norm: Any = jnp.inf,
    maxiter: int | None = None,
    line_search_maxiter: int = 10,
) -> OptimizeResults:
    """With the whole inverse of the second derivative."""
    most = x.size * _PER_UNKNOWN if maxiter is None else maxiter
    learned = Inverse(jnp.eye(x.size, dtype=x.dtype), jnp.asarray(True))
    end = descend(fun, x, learned, _smaller(gtol, norm), lambda s: s.k >= most, line_search_maxiter)
    failed = jnp.where(end.status > 0, 2 + end.status, jnp.where(end.k == most, 1, -1))
    return _results(end, failed, end.learned.matrix)


def _lbfgs(
    fun: Callable[[Array], Array],
    x: Array,
    maxiter: int | None = None,
    norm: Any = jnp.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-5,
    maxfun: int | None = None,
    maxgrad: int | None = None,
    maxls: int = 20,
) -> OptimizeResults:
    """With the last `maxcor` steps in place of the inverse."""
    if maxiter is maxfun is maxgrad is None:
        maxiter = x.size * _PER_UNKNOWN
    # The bounds of iterations, calls and gradients (one with each call) that there are.
    bounds = [(1, "k", maxiter), (2, "calls", maxfun), (3, "calls", maxgrad)]
    bounds = [(code, what, n) for code, what, n in bounds if n is not None]

    def stopped(s: State) -> Array:
        """Why to stop: 5 for the search, the code of a bound, 4 for too little gain; else 0."""
        code = jnp.where((s.k > 0) & (s.last - s.point.value < ftol), 4, 0)
        for number, what, n in reversed(bounds):
            code = jnp.where(getattr(s, what) >= n, number, code)
        return jnp.where(s.status > 0, 5, code)

    learned = Recent.of(x, operator.index(maxcor))
    end = descend(fun, x, learned, _smaller(gtol, norm), lambda s: stopped(s) > 0, maxls)
    return _results(end, stopped(end), None)


def _smaller(gtol: float, norm: Any) -> Callable[[Array], Array]:
    return lambda gradient: jnp.linalg.norm(gradient, ord=norm) < gtol


def _results(end: State, failed: Array, inverse: Array | None) -> OptimizeResults:
    return OptimizeResults(
        x=end.x,
        success=end.converged & (end.status == 0),
        status=jnp.where(end.converged, 0, failed),
        fun=end.point.value,
        jac=jnp.conj(end.point.gradient),
        hess_inv=inverse,
        nfev=end.calls,
        njev=end.calls,
        nit=end.k,
    )


_METHODS: Final[dict[str, tuple[str, Callable[..., OptimizeResults], Callable[[Any], bool]]]] = {
    "bfgs": ("BFGS", _bfgs, is_float),
    "l-bfgs-experimental-do-not-rely-on-this": ("L-BFGS", _lbfgs, is_inexact),
}
"""Methods by JAX's names in small letters: how messages call them, their functions, and the dtypes
that they take."""
