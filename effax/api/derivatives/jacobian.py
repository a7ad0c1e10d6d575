"""Jacobians and Hessians: derivatives along every basis direction, batched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

from effax.api.calling.arguments import positions, wearing
from effax.api.calling.differentiable import (
    check_inputs,
    check_output,
    float0_zeros,
    plain_aux,
    split_aux,
    with_chosen,
)
from effax.api.calling.differentiable import chosen as chosen_places
from effax.api.calling.float0 import is_nothing
from effax.api.derivatives.forward import jvp
from effax.api.derivatives.reverse import vjp
from effax.api.mapping.vmap import mapped_over
from effax.effects.frames import filtered
from effax.effects.rows import shape
from effax.effects.rows.elementwise import add
from effax.effects.rows.sharding import cut_to
from effax.effects.tree import tree_flatten, tree_structure, tree_unflatten
from effax.effects.types import typeof
from effax.interpreters.jvp.dual import tangent_type

P = ParamSpec("P")
R = TypeVar("R")


def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian by forward mode, column by column: best if tall.

    Args:
      fun: a function of pytrees of arrays.
      argnums: which positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      holomorphic: whether `fun` is promised to be holomorphic.

    Returns:
      A function that gives, for each result of shape `s` and argument of shape `t`, an array of
      shape `s + t`, in the tree of results with trees of arguments at its leaves.

    >>> import effax, effax.numpy as jnp
    >>> effax.jacfwd(lambda x: x * x)(jnp.arange(2.0))
    Array([[0., 0.],
           [0., 2.]], dtype=float32)
    """
    return _by_columns("jacfwd", fun, argnums, has_aux, holomorphic)


def _by_columns(
    what: str,
    fun: Callable[P, Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
) -> Callable[P, Any]:
    """The Jacobian by forward mode, for the function of that name, of which messages speak."""
    argnums = positions(argnums)

    @wearing(fun, annotated=False)
    @filtered
    def jacobian_of(*args: Any, **keywords: Any) -> Any:
        places = chosen_places(argnums, args, what)
        chosen = tuple(args[i] for i in places)
        leaves, tree = tree_flatten((chosen, {}))
        check_inputs(fun, places, leaves, tree, holomorphic, None, what)
        value_only, aux = split_aux(fun, has_aux)
        of_chosen = with_chosen(value_only, places, args, keywords)
        push = partial(jvp, of_chosen, chosen)
        value, columns = _in_each_direction(push, (None, -1))(basis(chosen))
        if holomorphic:
            for x in tree_flatten(value)[0]:
                check_output(x, holomorphic, what)
        result = _blocks(columns, chosen, argnums)
        return (result, plain_aux(aux[0])) if has_aux else result

    return jacobian_of


def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian by reverse mode, row by row: best if wide.

    Args:
      fun: a function of pytrees of arrays.
      argnums: which positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      holomorphic: whether `fun` is promised to be holomorphic.
      allow_int: whether integer arguments are allowed; their derivatives are `float0` zeros.

    >>> import effax, effax.numpy as jnp
    >>> effax.jacrev(lambda x: x * x)(jnp.arange(2.0))
    Array([[0., 0.],
           [0., 2.]], dtype=float32)
    """
    argnums = positions(argnums)

    @wearing(fun, annotated=False)
    @filtered
    def jacobian_of(*args: Any, **keywords: Any) -> Any:
        places = chosen_places(argnums, args, "jacrev")
        chosen = tuple(args[i] for i in places)
        leaves, tree = tree_flatten((chosen, {}))
        check_inputs(fun, places, leaves, tree, holomorphic, allow_int, "jacrev")
        value_only, aux = split_aux(fun, has_aux)
        value, pull = vjp(with_chosen(value_only, places, args, keywords), *chosen)
        for x in tree_flatten(value)[0]:
            check_output(x, holomorphic, "jacrev")
        rows = _in_each_direction(pull, 0)(basis(value))
        pieces = tree_structure(value)
        per_argument = [_split_first(r, value) for r in tree_flatten(rows)[0]]
        inner = tree_structure(chosen)
        leaves = [
            tree_unflatten(inner, [rows_of[i] for rows_of in per_argument])
            for i in range(pieces.num_leaves)
        ]
        if not isinstance(argnums, Sequence):
            leaves = [x[0] for x in leaves]
        result = tree_unflatten(pieces, leaves)
        return (result, plain_aux(aux[0])) if has_aux else result

    return jacobian_of


def _in_each_direction(function: Callable[..., Any], out_axes: Any) -> Callable[..., Any]:
    """The derivative for a batch of directions: effects of the program are performed once."""
    return mapped_over(function, 0, out_axes, None, (None, None, True))


jacobian = jacrev


def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Hessian, by forward mode over reverse mode.

    Args:
      fun: a function of pytrees of arrays.
      argnums: which positional arguments to differentiate by.
      has_aux: whether `fun` returns a pair `(value, auxiliary data)`.
      holomorphic: whether `fun` is promised to be holomorphic.

    >>> import effax, effax.numpy as jnp
    >>> effax.hessian(lambda x: (x ** 3).sum())(jnp.arange(2.0))
    Array([[0., 0.],
           [0., 6.]], dtype=float32)
    """
    argnums = positions(argnums)
    gradient = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return _by_columns("hessian", gradient, argnums, has_aux, holomorphic)


def basis(tree: Any) -> Any:
    """The standard basis of a tree of arrays: each leaf gets a leading axis, all sizes long."""
    leaves, structure = tree_flatten(tree)
    types = [tangent_type(typeof(x)) for x in leaves]
    total = sum(t.size for t in types)
    parts, start = [], 0
    for t in types:
        parts.append(_identity_rows(total, start, t))
        start += t.size
    return tree_unflatten(structure, parts)


def _identity_rows(total: int, start: int, type: Any) -> Any:
    """Row i is the (i - start)-th unit vector of the type's space, or zero."""
    from effax.effects.rows.comparison import eq
    from effax.effects.rows.conversion import convert_element_type

    row = shape.iota(dtype="int32", shape=(total, type.size), dimension=0)
    column = shape.iota(dtype="int32", shape=(total, type.size), dimension=1)
    ones = convert_element_type(eq(row, add(column, start)), dtype=type.dtype, weak_type=False)
    rows = shape.reshape(ones, shape=(total, *type.shape))
    return cut_to(rows, type.stacked(total))


def _split_last(columns: Any, tree: Any) -> Any:
    leaves, structure = tree_flatten(tree)
    parts, start = [], 0
    kept = columns.shape[:-1]
    for x in leaves:
        t = typeof(x)
        piece = _slice(columns, len(kept), start, start + t.size)
        parts.append(shape.reshape(piece, shape=(*kept, *t.shape)))
        start += t.size
    return tree_unflatten(structure, parts)


def _split_first(rows: Any, tree: Any) -> list[Any]:
    parts, start = [], 0
    kept = rows.shape[1:]
    for x in tree_flatten(tree)[0]:
        t = typeof(x)
        if is_nothing(rows):
            parts.append(float0_zeros((*t.shape, *kept)))
            continue
        piece = _slice(rows, 0, start, start + t.size)
        parts.append(shape.reshape(piece, shape=(*t.shape, *kept)))
        start += t.size
    return parts


def _slice(x: Any, axis: int, start: int, limit: int) -> Any:
    starts, limits = [0] * x.ndim, list(x.shape)
    starts[axis], limits[axis] = start, limit
    return shape.slice(x, start=tuple(starts), limit=tuple(limits), strides=(1,) * x.ndim)


def _blocks(columns: Any, chosen: Any, argnums: Any) -> Any:
    leaves, structure = tree_flatten(columns)
    found = [_split_last(c, chosen) for c in leaves]
    if not isinstance(argnums, Sequence):
        found = [b[0] for b in found]
    return tree_unflatten(structure, found)
