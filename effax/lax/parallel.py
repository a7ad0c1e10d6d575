"""Operations between the places of a named axis, under JAX's names.

`vmap(..., axis_name=...)`, `pmap` and `shard_map` bind names; an operation over a name that
nothing around it binds is refused when it is called.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import Any

from effax.api.calling.call_arguments import axes_in_scope, tracked_axes
from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import UnboundAxisError
from effax.effects.rows import collective, comparison, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.elementwise import div
from effax.effects.rows.selection import select_n
from effax.effects.tree import tree_map
from effax.effects.types import int32, is_bool, is_inexact, typeof, uint8
from effax.effects.value import Array
from effax.lax.place_groups import checked_groups, lengths_by_place, of_place, option
from effax.operands.promoting import asarray


def axis_names(axis_name: Any) -> tuple[Hashable, ...]:
    """A name, or a tuple of them, as a tuple."""
    return axis_name if isinstance(axis_name, tuple) else (axis_name,)


def _length(name: Hashable, function: str) -> int:
    axes: Any = axes_in_scope()
    for found, size in axes:
        if found == name:
            return int(size)
    known = [found for found, _ in axes]
    advice = (
        f"with vmap, the axis is bound by vmap(..., axis_name={name!r}); with shard_map, it is one "
        "of the mesh"
    )
    import difflib

    similar = difflib.get_close_matches(str(name), map(str, known), n=1)
    if similar:
        advice = f"did you mean {similar[0]!r}?"
    raise UnboundAxisError(
        f"Found an unbound axis name: {name}. To fix this, please call {function} under "
        f"`effax.shard_map`. The following axis names are available: {known}; {advice}"
    )


def varied(x: Any, names: tuple[Hashable, ...]) -> Any:
    """The value, of which types say that it may differ along these axes, where they say so."""
    missing = tuple(n for n in names if n in tracked_axes() and n not in typeof(x).varying)
    return collective.pvary(x, axes=missing) if missing else x


def axis_size(axis_name: Any) -> int:
    """Return the number of places along a named axis, or of a tuple of them together.

    Raises `UnboundAxisError`, a `NameError`, where nothing binds the name.

    Args:
      axis_name: a name or a tuple of names.

    >>> import effax
    >>> effax.vmap(lambda x: x * effax.lax.axis_size("i"), axis_name="i")(effax.numpy.ones(3))
    Array([3., 3., 3.], dtype=float32)
    """
    return _size(axis_name, "axis_size")


def _size(axis_name: Any, function: str) -> int:
    return prod([_length(name, function) for name in axis_names(axis_name)])


def _number(axis_name: Any, groups: Any, function: str) -> Any:
    """The number of places that act together; an array where groups differ in length."""
    if groups is None:
        return _size(axis_name, function)
    lengths = lengths_by_place(groups)
    return of_place(lengths, axis_index(axis_name)) if len({*lengths}) > 1 else lengths[0]


def axis_index(axis_name: Any) -> Array:
    """Return this place's index along a named axis; for a tuple of names, in row-major order.

    Args:
      axis_name: a name or a tuple of names.

    >>> import effax
    >>> effax.vmap(lambda x: effax.lax.axis_index("i"), axis_name="i")(effax.numpy.ones(3))
    Array([0, 1, 2], dtype=int32)
    """
    total: Any = None
    for name in axis_names(axis_name):
        size = _length(name, "axis_index")
        place = varied(collective.axis_index(axes=(name,)), (name,))
        total = place if total is None else total * size + place
    return total


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sum over all places of a named axis, at each of them, every leaf of a pytree.

    Args:
      x: arrays, or Python numbers: of those the sum is known at once, `size * x`.
      axis_name: a name or a tuple of names.
      axis_index_groups: lists of places' indices, each of which is in one list: the sums are those
        of these groups.

    >>> import effax
    >>> effax.vmap(lambda x: x / effax.lax.psum(x, "i"), axis_name="i")(effax.numpy.arange(4.0))
    Array([0.        , 0.16666667, 0.33333334, 0.5       ], dtype=float32)
    """
    groups = checked_groups("psum", axis_index_groups, _size(axis_name, "psum"))
    names, size = axis_names(axis_name), _number(axis_name, groups, "psum")

    def leaf(y: Any) -> Any:
        if type(y) in LITERALS:
            return y * size
        y = asarray(y)
        if is_bool(typeof(y).dtype):
            y = convert_element_type(y, dtype=int32, weak_type=False)
        return collective.psum(varied(y, names), axes=names, **option(groups))

    return tree_map(leaf, x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the mean over all places of a named axis.

    Args:
      x: a pytree of arrays or Python numbers.
      axis_name: a name or a tuple of names.
      axis_index_groups: as for `psum`.

    >>> import effax
    >>> effax.vmap(lambda x: x - effax.lax.pmean(x, "i"), axis_name="i")(effax.numpy.arange(3.0))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    groups = checked_groups("pmean", axis_index_groups, _size(axis_name, "pmean"))
    size = _number(axis_name, groups, "psum")

    def leaf(total: Any) -> Any:
        if type(total) in LITERALS:
            return total / size
        if not is_inexact(typeof(total).dtype):
            total = convert_element_type(total, dtype="float32", weak_type=False)
        return total / size if groups else div(total, float(size))

    return tree_map(leaf, psum(x, axis_name, axis_index_groups=groups))


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the largest value over all places of a named axis, element by element.

    Args:
      x: a pytree of arrays.
      axis_name: a name or a tuple of names.
      axis_index_groups: as for `psum`.

    >>> import effax, effax.numpy as jnp
    >>> effax.vmap(lambda x: effax.lax.pmax(x, "i"), axis_name="i")(jnp.arange(3)).tolist()
    [2, 2, 2]
    """
    return _extremum(collective.pmax, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Return the smallest value over all places of a named axis, element by element.

    Args:
      x: a pytree of arrays.
      axis_name: a name or a tuple of names.
      axis_index_groups: as for `psum`.

    >>> import effax, effax.numpy as jnp
    >>> effax.vmap(lambda x: effax.lax.pmin(x, "i"), axis_name="i")(jnp.arange(3)).tolist()
    [0, 0, 0]
    """
    return _extremum(collective.pmin, x, axis_name, axis_index_groups)


def _extremum(effect: Effect, x: Any, axis_name: Any, axis_index_groups: Any) -> Any:
    names = axis_names(axis_name)
    groups = checked_groups(effect.name, axis_index_groups, _size(axis_name, effect.name))
    if groups is None:
        return tree_map(lambda y: effect(asarray(y), axes=names), x)
    return tree_map(lambda y: effect(varied(asarray(y), names), axes=names, **option(groups)), x)


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """Gather the values of all places, stacked along a new `axis`, or with `tiled` joined along it.

    Args:
      x: a pytree of arrays.
      axis_name: a name or a tuple of names.
      axis_index_groups: lists of places' indices, of one length: each place gathers the values of
        its group, in the order of the list.
      axis: the axis of the result that holds the places; negative ones count from the end.
      tiled: whether to join the values along `axis`, rather than stack them.
      to: under `shard_map`, whether the result counts as another value at each place, "varying",
        or as one that is the same at all of them, "invarying".

    Raises:
      NotImplementedError: for the other kind that JAX has, "reduced", and for "invarying" within
        groups.

    >>> import effax
    >>> effax.vmap(lambda x: effax.lax.all_gather(x, "i"), axis_name="i")(effax.numpy.arange(2.0))
    Array([[0., 1.],
           [0., 1.]], dtype=float32)
    """
    if to == "reduced" or (to == "invarying" and axis_index_groups is not None):
        within = " with axis_index_groups" * (to == "invarying")
        raise NotImplementedError(
            f'all_gather(to={to!r}){within} is not supported: give to="varying", or "invarying" '
            "without groups"
        )
    if to not in ("varying", "invarying"):
        raise ValueError(f'all_gather: `to` must be "varying" or "invarying", not {to!r}')
    shared = {"shared": True} if to == "invarying" else {}
    names = axis_names(axis_name)
    groups = checked_groups(
        "all_gather", axis_index_groups, _size(axis_name, "all_gather"), equal=True
    )

    def leaf(y: Any) -> Any:
        y = asarray(y)
        at = _axis(axis, typeof(y).ndim + (not tiled))
        if not tiled:
            y = shape.expand_dims(y, (at,))
        y = varied(y, names)
        if groups is not None:
            options = {"size": len(groups[0]), **option(groups)}
            return collective.all_gather(y, axes=names, axis=at, **options)
        for name in reversed(names):
            y = collective.all_gather(
                y, axes=(name,), axis=at, size=_length(name, "all_gather"), **shared
            )
        return y

    return tree_map(leaf, x)


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Sum over all places, of which each keeps its piece along `scatter_dimension`.

    Without `tiled` that axis has the length of the named one, and is gone from the result.

    Args:
      x: a pytree of arrays.
      axis_name: a name or a tuple of names.
      scatter_dimension: the axis that is cut into pieces; negative ones count from the end.
      axis_index_groups: lists of places' indices, of one length: sums are those of groups, of
        which place i of the list keeps piece i.
      tiled: whether the axis stays, with the length of a piece.

    >>> import effax, effax.numpy as jnp
    >>> each = effax.vmap(lambda x: effax.lax.psum_scatter(x, "i"), axis_name="i")
    >>> each(jnp.ones((2, 2))).tolist()
    [2.0, 2.0]
    """
    names, size = axis_names(axis_name), _size(axis_name, "psum_scatter")
    groups = checked_groups("psum_scatter", axis_index_groups, size, equal=True)
    size = size if groups is None else len(groups[0])

    def leaf(y: Any) -> Any:
        y = asarray(y)
        at = _axis(scatter_dimension, typeof(y).ndim)
        if not tiled and typeof(y).shape[at] != size:
            raise ValueError(
                f"reduce_scatter operand scatter dimension size {typeof(y).shape[at]} must match "
                f"shard count {size}"
            )
        y = varied(y, names)
        if groups is not None:
            options = {"size": size, **option(groups)}
            y = collective.reduce_scatter(y, axes=names, axis=at, **options)
        else:
            for name in names:
                y = collective.reduce_scatter(
                    y, axes=(name,), axis=at, size=_length(name, "psum_scatter")
                )
        return y if tiled else shape.squeeze(y, (at,))

    return tree_map(leaf, x)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Send piece k along `split_axis` to place k, and join the pieces that arrive.

    Without `tiled`, `split_axis` has the length of the named axis and is gone from the result,
    which has the places along a new `concat_axis`.

    Args:
      x: a pytree of arrays.
      axis_name: a name or a tuple of names, along which places are counted in row-major order.
      split_axis: the axis that is cut into pieces; negative ones count from the end.
      concat_axis: the axis along which the pieces are joined; negative ones count from the end.
      axis_index_groups: lists of places' indices, of one length: the exchange is within groups.
      tiled: whether to cut and join along axes that stay.

    >>> import effax, effax.numpy as jnp
    >>> x = jnp.arange(4).reshape(2, 2)
    >>> effax.vmap(lambda x: effax.lax.all_to_all(x, "i", 0, 0), axis_name="i")(x).tolist()
    [[0, 2], [1, 3]]
    """
    names, size = axis_names(axis_name), _size(axis_name, "all_to_all")
    groups = checked_groups("all_to_all", axis_index_groups, size, equal=True)
    size = size if groups is None else len(groups[0])
    options = {"size": size, **option(groups)}

    def leaf(y: Any) -> Any:
        y = varied(asarray(y), names)
        ndim = typeof(y).ndim
        split, concat = _axis(split_axis, ndim), _axis(concat_axis, ndim)
        if tiled:
            return collective.all_to_all(y, axes=names, split=split, concat=concat, **options)
        if typeof(y).shape[split] != size:
            raise ValueError(
                f"all_to_all requires the size of the mapped axis axis_name to equal "
                f"x.shape[split_axis], but they are {size} and {typeof(y).shape[split]} "
                "respectively."
            )
        place = concat if concat <= split else concat + 1
        y = shape.expand_dims(y, (place,))
        split = split + (place <= split)
        y = collective.all_to_all(y, axes=names, split=split, concat=place, **options)
        return shape.squeeze(y, (split,))

    return tree_map(leaf, x)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Send values from place to place: `perm` lists pairs (from, to).

    Places that nothing is sent to get zeros. Raises `ValueError` for a place that is not there, or
    that sends or gets twice.

    Args:
      x: a pytree of arrays.
      axis_name: a name or a tuple of names. Along several axes places are counted in row-major
        order, the axes in the order in which they are bound (that of the mesh), as in JAX.
      perm: pairs (from, to) of places; each sends at most once, and gets at most once.

    >>> import effax
    >>> ring = [(0, 1), (1, 2), (2, 0)]
    >>> effax.vmap(lambda x: effax.lax.ppermute(x, "i", ring), axis_name="i")(
    ...     effax.numpy.arange(3.0)
    ... )
    Array([2., 0., 1.], dtype=float32)
    """
    size = _size(axis_name, "ppermute")
    order = [name for name, _ in reversed(axes_in_scope())]
    names = tuple(sorted(axis_names(axis_name), key=order.index))
    pairs = tuple((int(s), int(d)) for s, d in perm)

    def leaf(y: Any) -> Any:
        y = asarray(y)
        collective.ppermute.result_type(y, axes=names, perm=pairs, size=size)
        return collective.ppermute(varied(y, names), axes=names, perm=pairs, size=size)

    return tree_map(leaf, x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permute values among places: place i gets the value of place `perm[i]`.

    Raises `ValueError` where `perm` is no permutation of the places.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis.
      perm: the place to read from, for each place.

    >>> import effax, effax.numpy as jnp
    >>> each = effax.vmap(lambda x: effax.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")
    >>> each(jnp.arange(3)).tolist()
    [2, 0, 1]
    """
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, [(s, d) for d, s in enumerate(perm)])


def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchange the named axis with an axis of x that is as long.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis.
      axis: an axis of x, as long as the named one; negative ones count from the end.
      axis_index_groups: as for `all_to_all`; the axis of x is as long as a group.

    >>> import effax, effax.numpy as jnp
    >>> x = jnp.arange(4).reshape(2, 2)
    >>> effax.vmap(lambda x: effax.lax.pswapaxes(x, "i", 0), axis_name="i")(x).tolist()
    [[0, 2], [1, 3]]
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Send the value of place `source` to all places.

    Args:
      x: a pytree of arrays.
      axis_name: a name or a tuple of names.
      source: the index of the place whose value is sent.

    Raises:
      ValueError: where there is no such place.

    >>> import effax, effax.numpy as jnp
    >>> effax.vmap(lambda x: effax.lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.arange(3)).tolist()
    [1, 1, 1]
    """
    size = _size(axis_name, "pbroadcast")
    if not 0 <= source < size:
        raise ValueError(
            f"pbroadcast: source must be the index of one of the {size} places along "
            f"{axis_name!r}, got {source}"
        )
    here = comparison.eq(axis_index(axis_name), source)

    def leaf(y: Any) -> Any:
        y = asarray(y)
        t = typeof(y)
        if t.dtype.kind == "b":
            sent = leaf(convert_element_type(y, dtype=uint8, weak_type=False))
            return convert_element_type(sent, dtype=t.dtype, weak_type=False)
        mask = shape.broadcast_in_dim(here, shape=t.shape, dims=()) if t.shape else here
        return psum(select_n(mask, shape.full(t.shape, 0, t.dtype), y), axis_name)

    return tree_map(leaf, x)


def pvary(x: Any, axis_name: Any) -> Any:
    """The value itself, from here on one that may differ along named axes; see `pcast`."""
    return pcast(x, axis_name, to="varying")


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Return the value, marked as one that may differ from place to place along named axes.

    Types keep count of that under `shard_map`, and derivatives need it: what all places share gets
    the sum of their cotangents, and what may differ gets at each place the cotangent there. Mostly
    it follows from what is computed. Elsewhere it says nothing.

    Args:
      x: a tree of arrays.
      axis_name: a name or a tuple of names.
      to: "varying"; JAX's "reduced" and "unreduced" are of its explicit sharding types.

    Raises:
      TypeError: for a set or a list of names.
      UnboundAxisError: a `NameError`, where nothing binds a name.
      ValueError: for another word, or where the value may differ along an axis already.

    >>> import effax, effax.numpy as jnp
    >>> each = effax.vmap(lambda x: effax.lax.pcast(x, "i", to="varying"), axis_name="i")
    >>> each(jnp.arange(2)).tolist()
    [0, 1]
    """
    if to in ("reduced", "unreduced"):
        raise NotImplementedError(
            f"pcast(to={to!r}) is not supported: unreduced sums belong to explicit sharding "
            "types; use psum, which adds them up"
        )
    if to != "varying":
        raise ValueError(f"pcast: `to` must be 'varying', got {to!r}")
    if isinstance(axis_name, (set, frozenset, list)):
        raise TypeError(
            f"pcast: axis_name must be a tuple or a str, got {axis_name} of type "
            f"{type(axis_name).__name__}; name the axes in a tuple"
        )
    _size(axis_name, "pcast")
    names = axis_names(axis_name)

    def leaf(y: Any) -> Any:
        already = typeof(y).varying & set(names)
        if already:
            raise ValueError(
                f"pcast: the value of type {typeof(y).str_short()} may already differ along "
                f"{set(already)}"
            )
        return varied(y, names)

    return tree_map(leaf, x)
