"""Kinds of steps, one for each class of effects: what operands and attributes it takes."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from effax.effects.rows import (
    comparison,
    contraction,
    conversion,
    cumulative,
    elementwise,
    indexing,
    reduction,
    selection,
    shape,
    sorting,
)
from effax.effects.types import bool_, int32, is_float
from effax.laws.builder import LARGEST, POINTWISE, Builder, Known
from effax.laws.kinds_composite import COMPOSITE

_integers = st.integers


def _same_type(b: Builder, x: Known) -> Known:
    return b.draw(st.sampled_from(b.of(lambda k: k.type is x.type)))


def with_literal(b: Builder) -> None:
    """A number as the other operand, on either side."""
    x = b.a_float()
    if x is None:
        return
    number = b.draw(st.sampled_from((0.5, -1.5, 2, 0)))
    effect = b.draw(st.sampled_from((elementwise.add, elementwise.mul, elementwise.sub)))
    if b.draw(st.booleans()):
        b.perform(effect, x, number, bound=2 * x.bound + 2)
    else:
        b.perform(effect, number, x, bound=2 * x.bound + 2)


def power(b: Builder) -> None:
    """A whole power."""
    x = b.a_float()
    if x is not None:
        n = b.draw(_integers(0, 3))
        b.perform(elementwise.integer_pow, x, y=n, bound=max(1.0, x.bound**n))


def select(b: Builder) -> None:
    """A comparison, and one of two values by it."""
    x = b.a_float()
    if x is None:
        return
    compare = b.draw(st.sampled_from((comparison.lt, comparison.ge)))
    y = b.small(_same_type(b, x))
    other: Any = b.draw(st.sampled_from((0.1, y)))
    which = b.perform(compare, x, other)
    b.perform(selection.select_n, which, x, y, bound=max(x.bound, y.bound))


def clamp(b: Builder) -> None:
    """A value between two numbers."""
    x = b.a_float()
    if x is not None:
        b.perform(selection.clamp, -0.7, x, 1.3, bound=1.3)


def to_float(b: Builder) -> None:
    """A float made of an integer or a Boolean."""
    x = b.pick(lambda k: k.type.dtype in (int32, bool_))
    target = b.pick(lambda k: is_float(k.type.dtype))
    if x is not None and target is not None:
        b.fitted(x, x.type.update(dtype=target.type.dtype))


def reshape(b: Builder) -> None:
    """The same elements in a vector, or with an axis more."""
    x = b.a_float()
    if x is None:
        return
    new = b.draw(st.sampled_from(((x.type.size,), (1, *x.shape), (*x.shape, 1))))
    b.perform(shape.reshape, x, shape=new, bound=x.bound)


def transpose(b: Builder) -> None:
    """The axes in another order."""
    x = b.a_float(2)
    if x is not None:
        order = tuple(b.draw(st.permutations(range(len(x.shape)))))
        b.perform(shape.transpose, x, permutation=order, bound=x.bound)


def broadcast(b: Builder) -> None:
    """A new axis in front, behind, or in between."""
    x = b.a_float()
    if x is None:
        return
    n = b.draw(_integers(1, 3))
    at = b.draw(_integers(0, len(x.shape)))
    new = (*x.shape[:at], n, *x.shape[at:])
    if prod(new) <= LARGEST:
        dims = tuple(i for i in range(len(new)) if i != at)
        b.perform(shape.broadcast_in_dim, x, shape=new, dims=dims, bound=x.bound)


def reverse(b: Builder) -> None:
    """An axis backwards."""
    x = b.a_float(1)
    if x is not None:
        b.perform(shape.rev, x, dims=(_axis(b, x),), bound=x.bound)


def _axis(b: Builder, x: Known) -> int:
    axis: int = b.draw(_integers(0, len(x.shape) - 1))
    return axis


def cut(b: Builder) -> None:
    """A box of the elements."""
    x = b.a_float(1)
    if x is None:
        return
    start = tuple(b.draw(_integers(0, max(0, n - 1))) for n in x.shape)
    strides = tuple(b.draw(_integers(1, 2)) for _ in x.shape)
    b.perform(shape.slice, x, start=start, limit=x.shape, strides=strides, bound=x.bound)


def pad(b: Builder) -> None:
    """Numbers around and between the elements; or fewer elements."""
    x = b.a_float(1)
    if x is None:
        return
    config = tuple(
        (b.draw(_integers(-1, 1)) if n > 1 else 0, b.draw(_integers(0, 1)), b.draw(_integers(0, 1)))
        for n in x.shape
    )
    lengths = [shape.padded_length(n, c) for n, c in zip(x.shape, config, strict=True)]
    if prod(lengths) <= LARGEST:
        value = b.draw(st.sampled_from((0.0, 0.5)))
        b.perform(shape.pad, x, shape.scalar(value, x.type.dtype), config=config, bound=x.bound + 1)


def join(b: Builder) -> None:
    """Two values one after the other."""
    x = b.a_float(1)
    if x is not None and 2 * x.type.size <= LARGEST:
        y = b.small(_same_type(b, x))
        b.perform(shape.concatenate, x, y, axis=_axis(b, x), bound=max(x.bound, y.bound))


def reduce(b: Builder) -> None:
    """A sum, product or extremum along some axes."""
    x = b.a_float(1)
    if x is None:
        return
    axes = tuple(sorted(b.draw(st.sets(_integers(0, len(x.shape) - 1), min_size=1))))
    n = prod(x.shape[a] for a in axes)
    kind = b.draw(st.sampled_from(("sum", "sum", "prod", "max", "min")))
    if kind in ("max", "min") and n == 0:
        return
    if kind == "prod":
        x = b.small(x, 1.0)
    effect = getattr(reduction, f"reduce_{kind}")
    bounds = {"sum": n * x.bound, "prod": max(1.0, x.bound**n)}
    b.perform(effect, x, axes=axes, bound=bounds.get(kind, x.bound))


def accumulate(b: Builder) -> None:
    """A sum, product or extremum of all elements before each."""
    x = b.a_float(1)
    if x is None:
        return
    kind = b.draw(st.sampled_from(("cumsum", "cumsum", "cumprod", "cummax", "cumlogsumexp")))
    x = b.small(x, 1.0) if kind == "cumprod" else x
    effect = getattr(cumulative, kind)
    bound = max(1.0, 4 * x.bound + 2)
    b.perform(effect, x, axis=_axis(b, x), reverse=b.draw(st.booleans()), bound=bound)


def contract(b: Builder) -> None:
    """A contraction over one axis of each of two values, with or without a batch axis."""
    x = b.a_float(1)
    if x is None:
        return
    i = _axis(b, x)
    y = b.pick(lambda k: k.type.dtype == x.type.dtype and x.shape[i] in k.shape)
    if y is None:
        return
    y = b.small(y)
    j = y.shape.index(x.shape[i])
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    if b.draw(st.booleans()):
        pairs = [
            (p, q)
            for p, n in enumerate(x.shape)
            for q, m in enumerate(y.shape)
            if p != i and q != j and n == m
        ]
        if pairs:
            p, q = b.draw(st.sampled_from(pairs))
            batch = ((p,), (q,))
    n, m = x.shape[i], len(batch[0])
    size = x.type.size * y.type.size // max(1, n * n * (x.shape[batch[0][0]] if m else 1))
    if size <= LARGEST:
        b.perform(
            contraction.dot_general,
            x,
            y,
            dimension_numbers=(((i,), (j,)), batch),
            precision=None,
            preferred_element_type=None,
            bound=max(1, n) * x.bound * y.bound,
        )


def _start(b: Builder, length: int, size: int) -> Any:
    """Draw the start of a slice: a number, or an integer of the program, perhaps out of range."""
    found = b.of(lambda k: k.type.dtype == int32 and k.shape == ())
    numbers = [np.int32(i) for i in range(-1, length - size + 2)]
    return b.draw(st.sampled_from([*numbers, *found[:2]]))


def dynamic_slice(b: Builder) -> None:
    """A box that begins where the program says."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    sizes = tuple(b.draw(_integers(1, n)) for n in x.shape)
    starts = [_start(b, n, m) for n, m in zip(x.shape, sizes, strict=True)]
    b.perform(indexing.dynamic_slice, x, *starts, sizes=sizes, bound=x.bound)


def dynamic_update(b: Builder) -> None:
    """A box replaced, where the program says."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    y = b.fitted(b.draw(st.sampled_from(b.of(lambda k: is_float(k.type.dtype)))), x.type)
    starts = [np.int32(0)] * len(x.shape)
    y = b.perform(indexing.dynamic_slice, y, *starts, sizes=(1,) * len(x.shape), bound=y.bound)
    starts = [_start(b, n, 1) for n in x.shape]
    b.perform(indexing.dynamic_update_slice, x, y, *starts, bound=max(x.bound, y.bound))


def _rows(b: Builder, n: int) -> Known:
    """Positions along an axis, as a column of indices; the same may occur twice."""
    found = b.pick(lambda k: k.type.dtype == int32 and len(k.shape) == 1 and k.type.size > 0)
    if found is None:
        m = b.draw(_integers(1, 3))
        found = b.perform(shape.iota, dtype=np.dtype(np.int32), shape=(m,), dimension=0, bound=m)
        if b.draw(st.booleans()):
            found = b.perform(elementwise.mul, found, n - 1, bound=m * n)
    found = b.perform(selection.clamp, 0, found, max(0, n - 1), bound=n)
    return b.perform(shape.reshape, found, shape=(*found.shape, 1), bound=n)


def gather(b: Builder) -> None:
    """Some rows, by number."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    rows = _rows(b, x.shape[0])
    if rows.shape[0] * (x.type.size // x.shape[0]) > LARGEST:
        return
    b.perform(
        indexing.gather,
        x,
        rows,
        dimension_numbers=indexing.GatherDimensionNumbers(
            tuple(range(1, len(x.shape))), (0,), (0,)
        ),
        slice_sizes=(1, *x.shape[1:]),
        mode=b.draw(
            st.sampled_from(
                (indexing.GatherScatterMode.CLIP, indexing.GatherScatterMode.FILL_OR_DROP)
            )
        ),
        fill_value=None,
        indices_are_sorted=False,
        unique_indices=False,
        bound=x.bound,
    )


def scatter_add(b: Builder) -> None:
    """Rows added to rows, by number."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    rows = _rows(b, x.shape[0])
    update = x.type.update(shape=(rows.shape[0], *x.shape[1:]))
    if update.size > LARGEST:
        return
    y = b.fitted(b.draw(st.sampled_from(b.of(lambda k: is_float(k.type.dtype)))), update)
    b.perform(
        indexing.scatter_add,
        x,
        rows,
        y,
        dimension_numbers=indexing.ScatterDimensionNumbers(
            tuple(range(1, len(x.shape))), (0,), (0,)
        ),
        mode=indexing.GatherScatterMode.FILL_OR_DROP,
        indices_are_sorted=False,
        unique_indices=False,
        bound=x.bound + 3 * y.bound,
    )


def sort(b: Builder) -> None:
    """Elements in order, and others in the order of these."""
    x = b.a_float(1)
    if x is None:
        return
    y = b.small(_same_type(b, x))
    operands = (x, y) if b.draw(st.booleans()) else (x,)
    b.perform(
        sorting.sort,
        *operands,
        dimension=_axis(b, x),
        is_stable=True,
        num_keys=1,
        bound=max(x.bound, y.bound),
    )


def argmax(b: Builder) -> None:
    """Add the position of the largest element."""
    x = b.a_float(1)
    if x is not None and x.type.size:
        b.perform(reduction.argmax, x, axis=_axis(b, x), index_dtype=np.dtype(np.int32), bound=3)


def truncate(b: Builder) -> None:
    """An integer made of a float."""
    x = b.a_float()
    if x is not None:
        b.perform(conversion.convert_element_type, x, dtype=np.dtype(np.int32), bound=x.bound)


KINDS: Final = (
    *POINTWISE,
    with_literal,
    power,
    select,
    clamp,
    to_float,
    reshape,
    transpose,
    broadcast,
    reverse,
    cut,
    pad,
    join,
    reduce,
    reduce,
    accumulate,
    contract,
    contract,
    dynamic_slice,
    dynamic_update,
    gather,
    scatter_add,
    sort,
    argmax,
    truncate,
    *COMPOSITE,
)
"""The kinds of first-order steps, as often as they are to be drawn."""
