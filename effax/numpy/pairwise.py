"""Two arrays multiplied and summed over axes that have names: what all products are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from effax.effects.rows import comparison, elementwise, reduction, selection, shape
from effax.effects.types import int32, typeof
from effax.lax.contraction import common_factor, products, sums_in
from effax.operands.arguments import cast

Names = Sequence[Hashable]


def contract(
    lhs: Any,
    lhs_names: Names,
    rhs: Any,
    rhs_names: Names,
    result: Names,
    *,
    precision: Any = None,
    dtype: Any = None,
    stretch: Sequence[Hashable] | None = None,
    pair: Callable[..., Any] | None = None,
) -> Any:
    """The sum of products `lhs * rhs` over the names that are not in the result, in its order.

    Each operand names each of its axes once. `dtype` is that in which to sum, and of the result;
    without it operands have one dtype. Names in `stretch` (all, by default) may have length 1 in
    one operand and another in the other. `pair` is called in place of `lax.dot_general`.

    Raises `TypeError` where lengths of one name differ.
    """
    lhs, lhs_names, rhs, rhs_names = _without_ones(lhs, lhs_names, rhs, rhs_names, stretch)
    wanted = {*result}
    lhs, lhs_names = summed(lhs, lhs_names, wanted | {*rhs_names}, dtype)
    rhs, rhs_names = summed(rhs, rhs_names, wanted | {*lhs_names}, dtype)
    shared = [n for n in lhs_names if n in rhs_names]
    gone = [n for n in shared if n not in wanted]
    kept = [n for n in shared if n in wanted]
    left = [n for n in lhs_names if n not in shared]
    right = [n for n in rhs_names if n not in shared]
    if not gone and pair is None:
        return _product(lhs, lhs_names, rhs, rhs_names, result, dtype)
    own = {typeof(lhs).dtype, typeof(rhs).dtype}
    if pair is None and left and right and [*kept, *right, *left] == [*result]:
        # The other way round nothing has to be moved afterwards.
        lhs, lhs_names, rhs, rhs_names = rhs, rhs_names, lhs, lhs_names
        left, right = right, left
        precision = precision[::-1] if type(precision) is tuple else precision
    numbers = (
        (_places(gone, lhs_names), _places(gone, rhs_names)),
        (_places(kept, lhs_names), _places(kept, rhs_names)),
    )
    if pair is not None:
        out = pair(lhs, rhs, numbers, precision, preferred_element_type=dtype)
    else:
        out = products(lhs, rhs, numbers, precision, None if own == {dtype} else dtype)
    return ordered(out, [*kept, *left, *right], result)


def _places(names: Names, among: Names) -> tuple[int, ...]:
    return tuple(among.index(n) for n in names)


def ordered(x: Any, names: Names, result: Names) -> Any:
    """The array with its axes in the order of the result; those it lacks have length 1."""
    present = [n for n in result if n in names]
    order = _places(present, names)
    if order != tuple(range(len(order))):
        x = shape.transpose(x, permutation=order)
    new = [i for i, n in enumerate(result) if n not in names]
    return shape.expand_dims(x, new) if new else x


def _product(
    lhs: Any, lhs_names: Names, rhs: Any, rhs_names: Names, result: Names, dtype: Any
) -> Any:
    """The product where nothing is summed."""
    lengths = dict(zip(lhs_names, typeof(lhs).shape, strict=True))
    lengths |= dict(zip(rhs_names, typeof(rhs).shape, strict=True))
    full = tuple(lengths.get(n, 1) for n in result)

    lhs, rhs, _ = common_factor(lhs, rhs, dtype)
    direct = dtype is not None and sums_in(typeof(lhs).dtype, dtype)

    def stretched(x: Any, names: Names) -> Any:
        x = cast(x, dtype, typeof(x).weak_type) if direct else x
        x = ordered(x, names, [n for n in result if n in names])
        dims = tuple(i for i, n in enumerate(result) if n in names)
        return x if typeof(x).shape == full else shape.broadcast_in_dim(x, shape=full, dims=dims)

    out = multiplied(stretched(lhs, lhs_names), stretched(rhs, rhs_names))
    return out if dtype is None else cast(out, dtype, typeof(out).weak_type)


def multiplied(x: Any, y: Any) -> Any:
    """The product of elements; for Booleans, whether both are True."""
    if typeof(x).dtype.kind == "b":
        from effax.effects.rows.logical import and_

        return and_(x, y)
    return elementwise.mul(x, y)


def _without_ones(
    lhs: Any,
    lhs_names: Names,
    rhs: Any,
    rhs_names: Names,
    stretch: Sequence[Hashable] | None,
) -> tuple[Any, list[Hashable], Any, list[Hashable]]:
    """The operands without axes of length 1 that are longer in the other."""
    of_lhs = dict(zip(lhs_names, typeof(lhs).shape, strict=True))
    of_rhs = dict(zip(rhs_names, typeof(rhs).shape, strict=True))
    both = {n for n in of_lhs if n in of_rhs and of_lhs[n] != of_rhs[n]}
    if stretch is not None:
        both &= {*stretch}

    def squeezed(x: Any, lengths: dict[Hashable, int]) -> tuple[Any, list[Hashable]]:
        ones = [i for i, (n, k) in enumerate(lengths.items()) if n in both and k == 1]
        names = [n for n, k in lengths.items() if not (n in both and k == 1)]
        return (shape.squeeze(x, ones) if ones else x), names

    lhs, left = squeezed(lhs, of_lhs)
    rhs, right = squeezed(rhs, of_rhs)
    return lhs, left, rhs, right


def summed(
    x: Any, names: Names, wanted: set[Hashable], dtype: Any = None
) -> tuple[Any, list[Hashable]]:
    """The array summed over the axes that nobody wants."""
    axes = tuple(i for i, n in enumerate(names) if n not in wanted)
    if not axes:
        return x, list(names)
    left = [n for n in names if n in wanted]
    if typeof(x).dtype.kind == "b" and (dtype is None or dtype.kind == "b"):
        return reduction.reduce_or(x, axes=axes), left
    if dtype is not None:
        x = cast(x, dtype, typeof(x).weak_type)
    return reduction.reduce_sum(x, axes=axes), left


def diagonals(x: Any, names: Names) -> tuple[Any, list[Hashable]]:
    """The array with each name once: axes of one name are replaced by their diagonal."""
    names = list(names)
    for name in dict.fromkeys(names):
        while names.count(name) > 1:
            first = names.index(name)
            second = names.index(name, first + 1)
            x = _diagonal(x, first, second)
            del names[second]
    return x, names


def _diagonal(x: Any, first: int, second: int) -> Any:
    """The elements at which two axes of one length have one index; the second axis goes."""
    type = typeof(x)
    if type.shape[first] != type.shape[second]:
        raise ValueError(
            f"einsum: axes {first} and {second} of {type.str_short()} have the same name, but "
            "different lengths"
        )
    mask = comparison.eq(
        shape.iota(dtype=int32, shape=type.shape, dimension=first),
        shape.iota(dtype=int32, shape=type.shape, dimension=second),
    )
    nothing = shape.full(type.shape, 0, type.dtype)
    chosen = selection.select_n(mask, nothing, x)
    if type.dtype.kind == "b":
        return reduction.reduce_or(chosen, axes=(second,))
    return reduction.reduce_sum(chosen, axes=(second,))
