"""Derivatives by sparse arrays: they have the positions of what they are taken by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from effax.api.calling.arguments import as_tuple, normalise
from effax.api.derivatives.reverse import value_and_grad as dense_value_and_grad
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.elements import bcoo_sum_duplicates


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Return a function that computes value and gradient, where arguments may be sparse.

    The derivative by a sparse array is a sparse array with its positions: what changes zeros in
    between is not looked at.

    Args:
      fun: a function of arrays, dense or sparse, whose result is a scalar.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      **kwargs: further options of `effax.value_and_grad`.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> value, slope = sparse.value_and_grad(lambda m: (m @ jnp.ones(3)).sum())(m)
    >>> value, slope.data
    (Array(6., dtype=float32), Array([1., 1., 1.], dtype=float32))
    """

    @wraps(fun)
    def gradient(*args: Any, **keywords: Any) -> Any:
        places = normalise(as_tuple(argnums), len(args), "argnums")
        fixed = list(args)
        for i in places:
            if isinstance(fixed[i], BCOO) and not fixed[i].unique_indices:
                fixed[i] = bcoo_sum_duplicates(fixed[i], nse=fixed[i].nse)

        def of_data(chosen: Sequence[Any]) -> Any:
            filled = list(fixed)
            for i, x in zip(places, chosen, strict=True):
                filled[i] = _with_data(fixed[i], x)
            return fun(*filled, **keywords)

        data = [x.data if isinstance(x, JAXSparse) else x for x in (fixed[i] for i in places)]
        value, found = dense_value_and_grad(of_data, has_aux=has_aux, **kwargs)(data)
        grads = [_with_data(fixed[i], g) for i, g in zip(places, found, strict=True)]
        return value, grads[0] if isinstance(argnums, int) else tuple(grads)

    return gradient


def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Return the gradient function of `fun`, whose arguments may be sparse: see `value_and_grad`.

    Args:
      fun: a function of arrays, dense or sparse, whose result is a scalar.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      **kwargs: further options of `effax.value_and_grad`.

    >>> import effax.numpy as jnp
    >>> m = BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> grad(lambda m: jnp.sum(m.todense() ** 2))(m).todense()
    Array([[0., 4.],
           [6., 0.]], dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun)
    def gradient(*args: Any, **keywords: Any) -> Any:
        value, found = both(*args, **keywords)
        return (found, value[1]) if has_aux else found

    return gradient


def _with_data(like: Any, data: Any) -> Any:
    if isinstance(like, BCOO):
        return like.like(data)
    if isinstance(like, JAXSparse):
        (_, *places), structure = tree_flatten(like)
        return tree_unflatten(structure, (data, *places))
    return data
