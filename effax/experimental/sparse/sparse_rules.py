"""The rules of `sparsify`: what an effect means for sparse operands.

A rule takes sparse arrays, dense ones, Python numbers and `Broadcast`s, and the effect's
attributes. Its result is sparse or dense. Functions of single elements are in `pointwise`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import effax.numpy as jnp
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import MissingRuleError
from effax.effects.handler import Carrier
from effax.effects.rows import (
    contraction,
    convolution,
    elementwise,
    indexing,
    reduction,
    selection,
    shape,
)
from effax.effects.types import is_inexact, typeof
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.broadcasts import Broadcast
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.convolutions import convolve
from effax.experimental.sparse.densify import densify
from effax.experimental.sparse.elements import (
    bcoo_concatenate,
    bcoo_multiply_dense,
    inside,
    sparse_shape,
)
from effax.experimental.sparse.products import bcoo_dot_general
from effax.experimental.sparse.rearranging import (
    bcoo_reduce_sum,
    bcoo_rev,
    bcoo_slice,
    bcoo_transpose,
)
from effax.experimental.sparse.reshaping import bcoo_broadcast_in_dim
from effax.experimental.sparse.slicing import bcoo_gather, box
from effax.experimental.sparse.structures import same_positions, with_data
from effax.experimental.sparse.vectors import by_position

RULES: Final[dict[Effect, Callable[..., Any]]] = {}
"""The rule of each effect."""
BROADCASTING: Final = frozenset(
    {elementwise.add, elementwise.sub, elementwise.mul, elementwise.div, selection.select_n}
)
"""Effects whose rules take a `Broadcast` as it is: others get the dense array of it."""


def rule(effect: Effect) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the rule of an effect."""

    def fill(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES[effect] = function
        return function

    return fill


# ------------------------------------------------------------------------------ arithmetic


@rule(elementwise.add)
def add(x: Any, y: Any) -> Any:
    """The elements of both; the sum with a dense array of the same shape is dense."""
    if not isinstance(x, JAXSparse):
        x, y = y, x
    if isinstance(y, JAXSparse):
        if same_positions(x, y):
            return with_data(x, elementwise.add(x.data, y.data))
        return by_position(x) + by_position(y)
    if _is_smaller(x, y):
        raise MissingRuleError(
            "Addition between a sparse array X and a dense array Y is not implemented when Y is "
            "broadcast to the shape of X, because it would make a large sparse array dense. If "
            "that is intended, make X dense by sparse.todense"
        )
    return elementwise.add(x.todense(), y)


@rule(elementwise.sub)
def subtract(x: Any, y: Any) -> Any:
    """The sum with the negative."""
    if isinstance(y, JAXSparse):
        return add(x, with_data(y, elementwise.neg(y.data)))
    if _is_smaller(x, y):
        add(x, y)
    return elementwise.sub(x.todense(), y)


def _is_smaller(x: JAXSparse, y: Any) -> bool:
    return type(y) is Broadcast or (type(y) in LITERALS and x.ndim > 0)


@rule(elementwise.mul)
def multiply(x: Any, y: Any) -> Any:
    """The products of elements that are in both; the product with a dense array is sparse."""
    if not isinstance(x, JAXSparse):
        x, y = y, x
    if type(y) in LITERALS:
        return with_data(x, elementwise.mul(x.data, y))
    if isinstance(y, JAXSparse):
        if same_positions(x, y) and getattr(x, "unique_indices", False):
            return with_data(x, elementwise.mul(x.data, y.data))
        return by_position(x) * by_position(y)
    found = by_position(x)
    return found.like(bcoo_multiply_dense(found, _compact(y)))


def _compact(y: Any) -> Any:
    return y.compact() if type(y) is Broadcast else y


@rule(elementwise.div)
def divide(x: Any, y: Any) -> Any:
    """The quotients of the elements by those of a dense array at their positions."""
    if isinstance(y, JAXSparse):
        raise MissingRuleError(
            "Division by a sparse array is not implemented because it would result in dense "
            "output. If that is intended, make the divisor dense by sparse.todense"
        )
    if not is_inexact(x.dtype):  # the quotient of a sum of integers is not the sum of quotients
        x = by_position(x)._each_once()
    if type(y) in LITERALS:
        return with_data(x, elementwise.div(x.data, y))
    return _quotients(by_position(x), _compact(y))


@compiled()
def _quotients(x: BCOO, y: Any) -> BCOO:
    """The quotients by a dense array; elements outside of the array are divided by 1."""
    divisors = bcoo_multiply_dense(x.like(jnp.ones_like(x.data)), y)
    counts = inside(x.indices, sparse_shape(x))
    counts = counts.reshape(counts.shape + (1,) * x.n_dense)
    divisors = jnp.where(counts, divisors, jnp.ones((), divisors.dtype))
    return x.like(elementwise.div(x.data, divisors))


@rule(selection.select_n)
def select(which: Any, *cases: Any) -> Any:
    """The elements that are chosen, where 0 is chosen wherever there are none."""
    cases = tuple([0 if _is_zero(x) else x for x in cases])
    by_sparse = isinstance(which, JAXSparse)
    arrays = [x for x in (which, *cases) if isinstance(x, JAXSparse)]
    first = arrays[0]
    numbers = all(isinstance(x, JAXSparse) or type(x) in LITERALS for x in cases)
    # A sparse choice is 0 between the elements: then the first case is taken.
    between = cases[:1] if by_sparse else cases
    if not numbers or any(not isinstance(x, JAXSparse) and x != 0 for x in between):
        raise MissingRuleError(
            "Selection between a sparse array and a dense array other than 0 is not implemented "
            "because it would result in dense output. If that is intended, make the sparse array "
            "dense by sparse.todense"
        )
    once = not by_sparse or getattr(first, "unique_indices", False)
    if not once or not all(same_positions(x, first) for x in arrays[1:]):
        raise MissingRuleError(
            "Selection between sparse arrays at different positions is not implemented; make them "
            "dense by sparse.todense"
        )
    chosen = which.data if by_sparse else _at_positions(by_position(first), _compact(which))
    data = [x.data if isinstance(x, JAXSparse) else x for x in cases]
    return with_data(first, selection.select_n(chosen, *data))


def _is_zero(x: Any) -> bool:
    """Whether a case is known to be 0 everywhere: a number, or a broadcast of one."""
    if type(x) is Broadcast:
        x = x.operand
        if isinstance(x, Carrier) or typeof(x).shape:
            return False
        return bool(np.asarray(x) == 0)
    return type(x) in LITERALS and x == 0


@compiled()
def _at_positions(x: BCOO, choice: Any) -> Any:
    """The elements of a dense Boolean or integer array at the positions of a sparse one."""
    ones = jnp.ones_like(x.data, dtype=jnp.int32)
    found = bcoo_multiply_dense(x.like(ones), choice.astype(jnp.int32))
    return found.astype(choice.dtype)


@rule(densify)
def make_dense(x: JAXSparse) -> Any:
    """The dense array, as the function asks for it."""
    return x.todense()


# -------------------------------------------------------------------------------- products


@rule(contraction.dot_general)
def dot_general(x: Any, y: Any, *, dimension_numbers: Any, **options: Any) -> Any:
    """The product: dense with a dense operand, else sparse."""
    return bcoo_dot_general(
        by_position(x),
        by_position(y),
        dimension_numbers=dimension_numbers,
        preferred_element_type=options.get("preferred_element_type"),
    )


@rule(convolution.conv_general_dilated)
def conv_general_dilated(x: Any, y: Any, **attributes: Any) -> Any:
    """The convolution along one axis, which is sparse."""
    if attributes["feature_group_count"] != 1 or attributes["batch_group_count"] != 1:
        raise MissingRuleError(
            "sparsify: conv_general_dilated takes no groups of features or batches; make the "
            "operands dense by sparse.todense"
        )
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation")
    axes = tuple(spec[-1] for spec in attributes["dimension_numbers"])
    given = {name: attributes[name] for name in names}
    return convolve(by_position(x), by_position(y), axes=axes, **given)


@rule(reduction.reduce_sum)
def reduce_sum(x: JAXSparse, *, axes: Sequence[int]) -> Any:
    """The sum along some axes."""
    return bcoo_reduce_sum(by_position(x), axes=axes)


# ----------------------------------------------------------------------------- rearranging


@rule(shape.transpose)
def transpose(x: JAXSparse, *, permutation: Sequence[int]) -> BCOO:
    """The axes in another order."""
    return bcoo_transpose(by_position(x), permutation=permutation)


@rule(shape.reshape)
def reshape(x: JAXSparse, *, shape: Sequence[int]) -> BCOO:
    """The elements in another shape."""
    found: BCOO = by_position(x).reshape(tuple(shape))
    return found


@rule(shape.rev)
def rev(x: JAXSparse, *, dims: Sequence[int]) -> BCOO:
    """The elements in opposite order along some axes."""
    return bcoo_rev(by_position(x), dimensions=dims)


@rule(shape.slice)
def slice_(
    x: JAXSparse,
    *,
    start: Sequence[int],
    limit: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """A box of the array."""
    found = by_position(x)
    return bcoo_slice(found, start_indices=start, limit_indices=limit, strides=strides)


@rule(indexing.dynamic_slice)
def slice_at(x: Any, *starts: Any, sizes: tuple[int, ...]) -> BCOO:
    """A box of the array, whose start need not be known."""
    found: BCOO = box(by_position(x), starts, slice_sizes=sizes)
    return found


@rule(indexing.gather)
def gather(x: Any, places: Any, **attributes: Any) -> BCOO:
    """The boxes of the array whose starts an array says."""
    if not isinstance(x, JAXSparse) or isinstance(places, JAXSparse):
        raise MissingRuleError(
            "sparsify: gather takes a sparse array and dense indices; make the indices dense by "
            "sparse.todense"
        )
    attributes.pop("fill_value", None)
    found: BCOO = bcoo_gather(by_position(x), places, **attributes)
    return found


@rule(shape.broadcast_in_dim)
def broadcast_in_dim(x: JAXSparse, *, shape: tuple[int, ...], dims: tuple[int, ...]) -> BCOO:
    """The array repeated along new batch and dense axes."""
    return bcoo_broadcast_in_dim(by_position(x), shape=shape, broadcast_dimensions=dims)


@rule(shape.concatenate)
def concatenate(*operands: Any, axis: int) -> Any:
    """The arrays one after the other."""
    if not all(isinstance(x, JAXSparse) for x in operands):
        shown = ", ".join(
            repr(x) if isinstance(x, JAXSparse) else typeof(x).str_short() for x in operands
        )
        raise ValueError(
            "bcoo_concatenate: expected operands to be a sequence of BCOO arrays, got "
            f"{shown}; make the dense ones sparse by BCOO.fromdense, or the sparse ones dense by "
            "sparse.todense"
        )
    return bcoo_concatenate([by_position(x) for x in operands], dimension=axis)
