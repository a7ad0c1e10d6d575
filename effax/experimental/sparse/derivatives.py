"""Derivatives by sparse arrays: they have the positions of what they are taken by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

import effax.numpy as jnp
from effax.api.calling.arguments import as_tuple, normalise, positions
from effax.api.derivatives.jacobian import jacfwd as dense_jacfwd
from effax.api.derivatives.jacobian import jacrev as dense_jacrev
from effax.api.derivatives.reverse import value_and_grad as dense_value_and_grad
from effax.effects.tree import (
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from effax.experimental.sparse.bcoo import BCOO, is_sparse
from effax.experimental.sparse.duplicates import bcoo_sum_duplicates


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
    argnums = positions(argnums)

    @wraps(fun)
    def gradient(*args: Any, **keywords: Any) -> Any:
        of_data, data, chosen = _by_elements(fun, argnums, args, keywords)
        value, found = dense_value_and_grad(of_data, has_aux=has_aux, **kwargs)(data)
        grads = [_mapped(_with_data, like, g) for like, g in zip(chosen, found, strict=True)]
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


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Return the Jacobian function of `fun`, by forward mode, whose arguments may be sparse.

    The Jacobian by a `BCOO` is a `BCOO` with its positions, batched along the axes of the result.

    Args:
      fun: a function of arrays, dense or sparse, whose results are dense.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      **kwargs: further options of `effax.jacfwd`.

    >>> import effax.numpy as jnp
    >>> m = BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> jacfwd(lambda m: m @ jnp.array([1.0, 10.0]))(m)
    BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(dense_jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Return the Jacobian function of `fun`, by reverse mode, whose arguments may be sparse.

    The Jacobian by a `BCOO` is a `BCOO` with its positions, batched along the axes of the result.

    Args:
      fun: a function of arrays, dense or sparse, whose results are dense.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      **kwargs: further options of `effax.jacrev`.

    >>> import effax.numpy as jnp
    >>> m = BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> jacrev(lambda m: m @ jnp.array([1.0, 10.0]))(m).data
    Array([[10.,  0.],
           [ 0.,  1.]], dtype=float32)
    """
    return _jacobian(dense_jacrev, fun, argnums, has_aux, kwargs)


jacobian: Final = jacrev


def _jacobian(
    dense: Callable[..., Any],
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    options: dict[str, Any],
) -> Callable[..., Any]:
    argnums = positions(argnums)

    @wraps(fun)
    def jacobian_of(*args: Any, **keywords: Any) -> Any:
        of_data, data, chosen = _by_elements(fun, argnums, args, keywords)
        structures = []

        def noted(data: Any) -> Any:
            result = of_data(data)
            value = result[0] if has_aux else result
            if any(map(is_sparse, tree_leaves(value, is_leaf=is_sparse))):
                raise TypeError(
                    f"{dense.__name__}: the function returns a sparse array, whose positions have "
                    "no derivative: return its .data, or todense()"
                )
            structures.append(tree_structure(value))
            return result

        found = dense(noted, has_aux=has_aux, **options)(data)
        found, *aux = found if has_aux else (found,)
        by_result = []
        for of_one in structures[-1].flatten_up_to(found):
            parts = [_mapped(_by_rows, like, x) for like, x in zip(chosen, of_one, strict=True)]
            by_result.append(parts[0] if isinstance(argnums, int) else tuple(parts))
        made = tree_unflatten(structures[-1], by_result)
        return (made, *aux) if has_aux else made

    return jacobian_of


def _by_elements(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    keywords: dict[str, Any],
) -> tuple[Callable[..., Any], list[Any], list[Any]]:
    """The function of the elements of chosen arguments; the elements; and those arguments."""
    places = normalise(as_tuple(argnums), len(args), "argnums")
    chosen = [_mapped(_each_once, args[i]) for i in places]

    def of_elements(data: Sequence[Any]) -> Any:
        filled = list(args)
        for i, like, x in zip(places, chosen, data, strict=True):
            filled[i] = _mapped(_with_data, like, x)
        return fun(*filled, **keywords)

    data = [_mapped(lambda x: x.data if is_sparse(x) else x, like) for like in chosen]
    return of_elements, data, chosen


def _mapped(function: Callable[..., Any], *trees: Any) -> Any:
    return tree_map(function, *trees, is_leaf=is_sparse)


def _each_once(x: Any) -> Any:
    if isinstance(x, BCOO) and not x.unique_indices:
        return bcoo_sum_duplicates(x, nse=x.nse)
    return x


def _by_rows(like: Any, data: Any) -> Any:
    """The derivatives by the elements of an argument, in its format, for each of a result."""
    if not is_sparse(like):
        return data
    rows = data.shape[: data.ndim - like.data.ndim]
    if not rows:
        return _with_data(like, data)
    if not isinstance(like, BCOO):
        raise NotImplementedError(
            f"the Jacobian by a {type(like).__name__}: it has the axes of the result, and this "
            "format no batches; differentiate by a BCOO"
        )
    return BCOO(
        (data, jnp.broadcast_to(like.indices, (*rows, *like.indices.shape))),
        shape=(*rows, *like.shape),
        indices_sorted=like.indices_sorted,
        unique_indices=like.unique_indices,
    )


def _with_data(like: Any, data: Any) -> Any:
    if isinstance(like, BCOO):
        return like.like(data)
    if is_sparse(like):
        (_, *places), structure = tree_flatten(like)
        return tree_unflatten(structure, (data, *places))
    return data
