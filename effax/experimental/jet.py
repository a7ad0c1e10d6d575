"""Taylor mode as JAX has it, on top of `effax.experimental.taylor`, and sums over directions.

>>> import effax.numpy as jnp
>>> from effax.experimental.jet import jet
>>> y0, (y1, y2) = jet(jnp.sin, (0.5,), ((1.0, 0.0),))
>>> print(y0, y1, y2)  # sin, cos and -sin of 0.5
0.47942555 0.87758255 -0.47942555
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import effax.numpy as jnp
from effax.effects.tree import all_leaves, tree_map
from effax.effects.types import is_inexact
from effax.experimental.taylor import Series
from effax.experimental.taylor import series as series_of

__all__ = ["directional_sum", "jet"]
__dir__ = __all__.copy


def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Return the value and the derivatives of `fun` along a curve, up to the order of the series.

    Args:
      fun: a function of arrays; its result may be any pytree.
      primals: its arguments: where the curve is at t = 0.
      series: for each argument the list of the curve's derivatives there, all of one length.
      factorial_scaled: if False, Taylor coefficients are meant: the k-th derivative over k!.
      **_: further keywords, accepted for JAX's sake.

    Returns:
      The result, and in place of each of its leaves the list of its derivatives.

    Raises:
      ValueError: if the lists differ in length, or an argument or a term is not an array.
      TypeError: if an argument is of integers, which can't move.

    >>> import effax.numpy as jnp
    >>> from effax.experimental.jet import jet
    >>> value, (first, second) = jet(jnp.exp, (0.0,), ((1.0, 0.0),))
    >>> float(value), float(first), float(second)
    (1.0, 1.0, 1.0)
    """
    if len({len(terms) for terms in series}) != 1 or len(primals) != len(series):
        raise ValueError("jet terms have inconsistent lengths for different arguments")
    if not all_leaves([*primals, *(t for terms in series for t in terms)]):
        raise ValueError("jet: each primal value and each term of a series has to be an array")
    xs = [*map(jnp.asarray, primals)]
    if not all(is_inexact(x.dtype) for x in xs):
        raise TypeError("jet: primal values have to be floating-point or complex numbers")
    order = len(series[0])
    scales = [math.factorial(k) if factorial_scaled else 1 for k in range(1, order + 1)]
    cls, curves = series_of(order), []
    for x, terms in zip(xs, series, strict=True):
        given = (jnp.asarray(t, x.dtype) for t in terms)
        curves.append(cls(x, *(t / n for t, n in zip(given, scales, strict=True))))
    return _read(cls.transform(fun)(*curves), scales)


def directional_sum(
    fun: Callable[..., Any], primals: Sequence[Any], directions: Sequence[Any], order: int
) -> tuple[Any, Any]:
    """The value of `fun`, and the sum of its derivatives of one order over some directions.

    Args:
      fun: a function of arrays; its result may be any pytree.
      primals: its arguments.
      directions: for each argument, its part of every direction v, along a new first axis.
      order: which derivative of `t -> fun(x + t v)` at 0 is summed over v, at least the first.

    Returns:
      The result, and in place of each of its leaves the sum, by one pass with
      `1 + (order - 1) D + 1` coefficients for `D` directions. Of order 2 and along the axes it is
      the Laplacian:

    >>> import effax.numpy as jnp
    >>> cubes = lambda x: jnp.sum(x**3)
    >>> print(directional_sum(cubes, (jnp.arange(3.0),), (jnp.eye(3),), 2)[1])
    18.0
    """
    if order < 1:
        raise ValueError(f"directional_sum: the order must be at least 1, got {order}")
    starts = [v if order > 1 else jnp.sum(v, 0) for v in directions]
    cls = series_of(order, collapsed=True)
    ys = cls.transform(fun)(*map(cls, map(jnp.asarray, primals), starts))
    first, terms = _read(ys, [1] * (order - 1) + [math.factorial(order)])
    return first, tree_map(lambda y, c: c[-1], first, terms)


def _read(ys: Any, scales: Sequence[int]) -> tuple[Any, Any]:
    """The first coefficients of results, and the others times some numbers."""

    def first(y: Any) -> Any:
        return y[0] if isinstance(y, Series) else y

    def terms(y: Any) -> list[Any]:
        found = [y[k] if isinstance(y, Series) else None for k in range(1, len(scales) + 1)]
        pairs = zip(found, scales, strict=True)
        return [jnp.zeros_like(first(y)) if t is None else t * n for t, n in pairs]

    return tuple(
        tree_map(part, ys, is_leaf=lambda y: isinstance(y, Series)) for part in (first, terms)
    )
