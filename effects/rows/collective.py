"""Collectives: effects that speak of a named axis, answered by the handler that binds the name.

`axes` are the names. `vmap` with a name answers by computing on its batch; `pmap` binds a name to
devices. Everyone else passes a collective outward, and a program that performs one has
"axis <name>" in its row until the name is bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from effax.effects.effect import Effect
from effax.effects.facts import LINEAR, POINTWISE, SOUND, STILL
from effax.effects.types import ShapedArray, int32, is_bool, is_complex, is_integer

if TYPE_CHECKING:
    from effax.effects.program import Program

FAMILY = "collective"
Axes = tuple[Hashable, ...]
Groups = tuple[tuple[int, ...], ...] | None
"""Places that act together, by their index along the axes; None is all of them."""


def _named(name: str, axes: Any) -> None:
    if type(axes) is not tuple or not axes:
        raise TypeError(f"{name}: axes must be a tuple of names, got {axes!r}")


def _one_name(name: str, axes: Any) -> None:
    _named(name, axes)
    if len(axes) != 1:
        raise TypeError(f"{name} is over one axis at a time, not {axes!r}")


def _sum_type(x: ShapedArray, *, axes: Axes, axis_index_groups: Groups = None) -> ShapedArray:
    _named("psum", axes)
    if is_bool(x.dtype):
        raise TypeError(f"psum: expected numbers, got {x.str_short()}; convert it first")
    return x


def _extremum_type(x: ShapedArray, *, axes: Axes, axis_index_groups: Groups = None) -> ShapedArray:
    _named("pmax and pmin", axes)
    if is_complex(x.dtype):
        raise TypeError(f"pmax and pmin: expected elements that have an order, got {x.str_short()}")
    return x


def _same_along(axes: frozenset[Any], attributes: dict[str, Any]) -> frozenset[Any]:
    return axes if attributes.get("axis_index_groups") else axes - set(attributes["axes"])


psum = Effect(
    "psum", family=FAMILY, typing=_sum_type, collective=True, varying=_same_along, facts=LINEAR
)
"""`psum(x, axes, [axis_index_groups])`: the sum of x over all places along the axes, or over those
of the place's group, at each of them."""

pmax = Effect(
    "pmax", family=FAMILY, typing=_extremum_type, collective=True, varying=_same_along, facts=SOUND
)
"""`pmax(x, axes, [axis_index_groups])`: the largest x of these places, element by element."""

pmin = Effect(
    "pmin", family=FAMILY, typing=_extremum_type, collective=True, varying=_same_along, facts=SOUND
)
"""`pmin(x, axes)`: the smallest."""


def _resized(name: str, x: ShapedArray, axis: int, numerator: int, denominator: int) -> ShapedArray:
    if not 0 <= axis < x.ndim:
        raise ValueError(f"{name}: axis {axis} is out of bounds for {x.str_short()}")
    length = x.shape[axis] * numerator
    if length % denominator:
        raise ValueError(
            f"{name}: axis {axis} of {x.str_short()} can't be cut into {denominator} equal pieces, "
            "one for each place along the named axis"
        )
    shape = (*x.shape[:axis], length // denominator, *x.shape[axis + 1 :])
    return x.update(shape=shape)


def _one_unless(groups: Groups, name: str, axes: Any) -> None:
    if groups is None:
        _one_name(name, axes)
    else:
        _named(name, axes)


def _gather_type(
    x: ShapedArray,
    *,
    axes: Axes,
    axis: int,
    size: int,
    axis_index_groups: Groups = None,
    shared: bool = False,
) -> ShapedArray:
    _one_unless(axis_index_groups, "all_gather", axes)
    return _resized("all_gather", x, axis, size, 1)


def _gathered_along(axes: frozenset[Any], attributes: dict[str, Any]) -> frozenset[Any]:
    return axes - set(attributes["axes"]) if attributes.get("shared") else axes


all_gather = Effect(
    "all_gather",
    family=FAMILY,
    typing=_gather_type,
    collective=True,
    varying=_gathered_along,
    facts=LINEAR | SOUND,
)
"""`all_gather(x, axes, axis, size, [axis_index_groups, shared])`: the x of all `size` places, or
those of a group, joined along `axis`. Groups may be along several axes, whose places are counted in
row-major order, as for all collectives; without groups there is one name. If the result is
`shared`, types say that it is the same at all places."""


def _scatter_type(
    x: ShapedArray, *, axes: Axes, axis: int, size: int, axis_index_groups: Groups = None
) -> ShapedArray:
    _one_unless(axis_index_groups, "reduce_scatter", axes)
    return _resized("reduce_scatter", _sum_type(x, axes=axes), axis, 1, size)


reduce_scatter = Effect(
    "reduce_scatter", family=FAMILY, typing=_scatter_type, collective=True, facts=LINEAR
)
"""`reduce_scatter(x, axes, axis, size, [axis_index_groups])`: the sum over places, or over a group,
of which each keeps its piece."""


def _exchange_type(
    x: ShapedArray,
    *,
    axes: Axes,
    split: int,
    concat: int,
    size: int,
    axis_index_groups: Groups = None,
) -> ShapedArray:
    _named("all_to_all", axes)
    return _resized("all_to_all", _resized("all_to_all", x, split, 1, size), concat, size, 1)


all_to_all = Effect(
    "all_to_all", family=FAMILY, typing=_exchange_type, collective=True, facts=LINEAR | SOUND
)
"""`all_to_all(x, axes, split, concat, size, [axis_index_groups])`: the k-th piece of x along
`split` goes to place k of all, or of the group, which joins what it gets along `concat`. Places
along several axes are counted in row-major order, and `size` is their number."""


def _ragged_type(
    input_offsets: ShapedArray,
    send_sizes: ShapedArray,
    output_offsets: ShapedArray,
    recv_sizes: ShapedArray,
    operand: ShapedArray,
    output: ShapedArray,
    *,
    axes: Axes,
    sizes: tuple[int, ...],
    axis_index_groups: Groups = None,
) -> ShapedArray:
    _named("ragged_all_to_all", axes)
    if not operand.ndim or operand.dtype != output.dtype or operand.shape[1:] != output.shape[1:]:
        raise ValueError(
            "ragged_all_to_all input and output must be rows of one dtype and shape, got "
            f"{operand.str_short()} and {output.str_short()}"
        )
    vectors = input_offsets, send_sizes, output_offsets, recv_sizes
    for t in vectors:
        if t.ndim != 1 or not is_integer(t.dtype) or t.shape != input_offsets.shape:
            raise ValueError(
                "ragged_all_to_all offsets and sizes must be vectors of integers of one length, "
                f"got {', '.join(t.str_short() for t in vectors)}"
            )
    (slices,) = input_offsets.shape
    places = prod(sizes) if axis_index_groups is None else len(axis_index_groups[0])
    if slices == 0 or slices % places:
        raise ValueError(
            f"ragged_all_to_all: the number of offsets must be a multiple of the {places} places, "
            f"got {slices}"
        )
    return output.update(weak_type=False)


ragged_all_to_all = Effect(
    "ragged_all_to_all", family=FAMILY, typing=_ragged_type, collective=True, facts=SOUND
)
"""`ragged_all_to_all(input_offsets, send_sizes, output_offsets, recv_sizes, operand, output, axes,
sizes, [axis_index_groups])`: slices of rows of the operand go to all places, of which `sizes` are
the numbers along the axes; slice j of each vector speaks of place j, or of several slices for each
place, those for the first place first. The output, with the rows that came."""


def _permute_type(
    x: ShapedArray, *, axes: Axes, perm: tuple[tuple[int, int], ...], size: int
) -> ShapedArray:
    _named("ppermute", axes)
    for i, what in enumerate(("source", "destination")):
        places = [pair[i] for pair in perm]
        if len(set(places)) != len(places):
            raise ValueError(f"ppermute: each place may be a {what} at most once, got perm {perm}")
        if not all(0 <= place < size for place in places):
            raise ValueError(f"ppermute: perm {perm} names places outside 0..{size - 1}")
    return x


ppermute = Effect(
    "ppermute", family=FAMILY, typing=_permute_type, collective=True, facts=LINEAR | SOUND
)
"""`ppermute(x, axes, perm, size)`: x goes from place s to place d for each (s, d) of perm; places
that get nothing have zeros. Places are counted as for `all_to_all`."""


def _index_type(*, axes: Axes) -> ShapedArray:
    _one_name("axis_index", axes)
    return ShapedArray((), int32)


axis_index = Effect(
    "axis_index", family=FAMILY, typing=_index_type, collective=True, facts=STILL | SOUND
)
"""`axis_index(axes)`: which place along the axis this is, from 0."""


def _varied_type(x: ShapedArray, *, axes: Axes) -> ShapedArray:
    _named("pvary", axes)
    return x


pvary = Effect(
    "pvary",
    family=FAMILY,
    typing=_varied_type,
    varying=lambda axes, attributes: axes | set(attributes["axes"]),
    facts=POINTWISE | LINEAR | SOUND,
)
"""`pvary(x, axes)`: x itself, as a value that may differ along the axes, so that its cotangent is
the sum of theirs. It is performed under `shard_map` only, and gone from the program in the end."""


def _map_type(
    *operands: ShapedArray,
    program: Program,
    mapped: tuple[bool, ...],
    size: int,
    binds: Axes,
    devices: Any = None,
    name: str = "",
) -> Sequence[ShapedArray]:
    for x, expected, has_rows in zip(operands, program.in_types, mapped, strict=True):
        found = x.update(shape=x.shape[1:]) if has_rows else x
        if (has_rows and x.shape[:1] != (size,)) or found.shape != expected.shape:
            raise TypeError(
                f"pmap over {size} places: an operand should give {expected.str_short()} to each, "
                f"but it is {x.str_short()}"
            )
    return [t.update(shape=(size, *t.shape)) for t in program.out_types]


parallel = Effect("parallel", family=FAMILY, typing=_map_type, multiple=True, higher_order=True)
"""`parallel(*operands, program, mapped, size, binds, devices, name)`: a program at `size` places at
once, which is what `pmap` performs. Operands marked `mapped` give a row to each place, the others
all of themselves; results are stacked. `binds` is the axis by which collectives name the places,
`devices` where they are: None for the first ones there are."""
