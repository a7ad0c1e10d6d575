"""Batch axes of sparse arrays, some of which data or indices share: there they have length 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import effax.numpy as jnp
from effax.api.mapping.vmap import vmap
from effax.effects.tree import tree_map
from effax.effects.value import Array


def over_batches(function: Callable[..., Any], lengths: Sequence[int]) -> Callable[..., Any]:
    """Map a function over the leading axes, of these lengths, of all operands.

    An operand whose axis has length 1 is shared by all batches of that axis, and is not copied.
    """
    if not lengths:
        return function
    length, *rest = lengths
    inner = over_batches(function, rest)

    def mapped(*operands: Any) -> Any:
        shared = [x.shape[0] == 1 != length for x in operands]
        given = [x[0] if one else x for x, one in zip(operands, shared, strict=True)]
        if not all(shared):
            return vmap(inner, in_axes=tuple(None if one else 0 for one in shared))(*given)
        found = inner(*given)
        return tree_map(lambda x: jnp.broadcast_to(x, (length, *x.shape)), found)

    return mapped


def stored_batches(*operands: Any) -> tuple[int, ...]:
    """The batch lengths that data and indices of sparse arrays give together.

    An axis that data and indices both share has length 1 here, whatever the shape says.
    """
    shapes = [x.shape[: m.n_batch] for m in operands for x in (m.data, m.indices)]
    return tuple(jnp.broadcast_shapes(*shapes))


def whole_batches(mat: Any) -> Any:
    """The same sparse array without shared batch axes: data and indices have all of them."""
    lengths = mat.shape[: mat.n_batch]

    def whole(x: Array) -> Array:
        return jnp.broadcast_to(x, (*lengths, *x.shape[mat.n_batch :]))

    return mat.like(whole(mat.data), indices=whole(mat.indices))


def shape_in_batches(
    shape: tuple[int, ...], stored: Sequence[Sequence[int]], others: int
) -> tuple[int, ...]:
    """Return the shape of an array to which `vmap` gave a batch axis, or from which it took one.

    `stored` are the batch lengths of its parts now, and `others` is the number of other axes.
    """
    known = max(0, len(shape) - others)
    if not stored or known == len(stored[0]):
        return shape
    return (*_batch_shape(stored, shape[:known]), *shape[known:])


def _batch_shape(stored: Sequence[Sequence[int]], known: Sequence[int]) -> tuple[int, ...]:
    # A shared axis says nothing about its length, which is why the known lengths are matched with
    # the stored ones. An axis comes in front, or goes there, if more than one place would do.
    now = tuple(
        max((n for n in lengths if n != 1), default=1) for lengths in zip(*stored, strict=True)
    )

    def fits(lengths: Sequence[int]) -> bool:
        return all(n in (1, m) for n, m in zip(now, lengths, strict=True))

    if len(now) <= len(known):
        for kept in reversed(list(combinations(range(len(known)), len(now)))):
            found = tuple(known[i] for i in kept)
            if fits(found):
                return found
        return now
    for places in reversed(list(combinations(range(len(now)), len(known)))):
        found_at = dict(zip(places, known, strict=True))
        found = tuple(found_at.get(i, n) for i, n in enumerate(now))
        if fits(found):
            return found
    return now
