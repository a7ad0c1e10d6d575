"""Convolutions for XLA's CPU backend, which is fast for dense ones of one or two spatial axes.

With several groups it visits element after element, and under the derivative it makes a dense
convolution of them, with as many times the operations as there are groups. A third spatial axis
costs it ten times as much as a loop over it, holes in an operand under a large window
as much, and outside of the entry computation it takes only operands of its own layout.

Each form here is a sum over one thing, written out:

    result[g, b, o, s] = sum of lhs[g, b, i, s + k] * rhs[g, o, i, k] over i and k

g the groups, b the batch, i and o the features, s the places of the result, k those of the window.
A weight's gradient is a convolution too, with few places s and a window as large as the images.
Measured on two cores, float32, plain over this: depthwise 3 x 3 of 8 x 28 x 28 x 64 35, its
gradients 35 and 3; 32 groups of 4 features 6, of 32 features 3.5, gradients by weights 40 to 600;
three axes 9, gradients by weights 12; images in NCHW and a weight's gradient in a loop 70 to 85.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from effax.backends.xla.fast.path import fast_path, loop
from effax.backends.xla.lowering.writer import Name
from effax.effects.dtypes import bit_width
from effax.effects.rows import contraction, elementwise, indexing, shape
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.convolution import ConvDimensionNumbers, conv_general_dilated
from effax.effects.rows.reduction import reduce_sum
from effax.effects.types import ShapedArray, bfloat16, float16, float32, float64, int32, typeof
from effax.effects.value import is_symbolic
from effax.interpreters.composites.barrier import barrier

LARGE = 4096
"""Products from which a longer program is worth compiling."""
MOST = 50
"""Terms up to which a sum is written out."""
FEW = 3
"""Input features of a dense convolution up to which XLA is slower than such a sum."""
PIECES = 16
"""Convolutions that are written one after another for groups; more of them are a loop."""
FLOATS: Final = (float16, bfloat16, float32, float64)

How = dict[str, Any]
Axes = tuple[Any, ...]
"""Each axis of an array: "g", "b", "o", "i", or the number of a spatial one."""


class _Sizes(NamedTuple):
    """The lengths of the axes, those of features and batch in each group."""

    groups: int
    batch: int
    ins: int
    outs: int
    window: tuple[int, ...]
    results: tuple[int, ...]
    shape: tuple[int, ...]
    """Of the whole result, in the order of its axes."""

    @property
    def places(self) -> int:
        """Terms of the sum over the places of the window."""
        return math.prod(self.window) * self.ins

    @property
    def folds(self) -> int:
        """Sums over the whole window, one for each element of a group's result."""
        return math.prod(self.results) * self.batch * self.outs


def _sizes(lhs: ShapedArray, rhs: ShapedArray, how: How) -> _Sizes:
    left, (o, ins, *window), out = how["dimension_numbers"]
    groups = how["feature_group_count"] * how["batch_group_count"]
    result = conv_general_dilated.typing(lhs, rhs, **how).shape
    return _Sizes(
        groups,
        lhs.shape[left[0]] // how["batch_group_count"],
        rhs.shape[ins],
        rhs.shape[o] // groups,
        tuple(rhs.shape[k] for k in window),
        tuple(result[k] for k in out[2:]),
        result,
    )


Form = Callable[[Any, Any, How, _Sizes], Any]


def _form(lhs: ShapedArray, how: How, sizes: _Sizes) -> Form | None:
    """The form that is faster than XLA's convolution of operands in its own layout."""
    if _whole(lhs, sizes, how):
        return _as_product
    if sizes.places <= MOST and (sizes.groups > 1 or sizes.ins <= FEW):
        return _by_places
    if sizes.groups > 1:
        return _by_results if sizes.folds <= MOST else _by_groups
    if len(sizes.window) > 2:
        return _by_slices
    holes = any(n > 1 for n in how["lhs_dilation"])
    if holes and math.prod(sizes.window) > math.prod(sizes.results):
        return _without_holes
    return None


def _whole(lhs: ShapedArray, sizes: _Sizes, how: How) -> bool:
    """Whether the window is as large as the images, so that there is one place."""
    images = tuple(lhs.shape[k] for k in how["dimension_numbers"].lhs_spec[2:])
    still = not any(low or high for low, high in how["padding"])
    return sizes.groups == 1 and sizes.window == images and still and len(images) > 0


def _worthwhile(lhs: Name, rhs: Name, **how: Any) -> bool:
    """Whether XLA's own way is slow, of floats and lengths that are known."""
    dtype, padding = lhs.dtype, how["padding"]
    lengths = (*lhs.type.shape, *rhs.type.shape, *(n for pair in padding for n in pair))
    if dtype not in FLOATS or rhs.dtype != dtype or is_symbolic(lengths):
        return False
    preferred = how["preferred_element_type"]
    if preferred is not None and preferred not in FLOATS:
        return False
    sizes = _sizes(lhs.type, rhs.type, how)
    terms = sizes.places * sizes.outs * sizes.groups * sizes.batch * math.prod(sizes.results)
    if terms < LARGE or not sizes.window:
        return False
    return not _own_layout(how) or _form(lhs.type, how, sizes) is not None


@fast_path(conv_general_dilated, "convolution", on=("cpu",), when=_worthwhile)
def convolved(lhs: Any, rhs: Any, **how: Any) -> Any:
    """The convolution, 16-bit floats added up in float32."""
    dtype = how["preferred_element_type"] or typeof(lhs).dtype
    wide = max((typeof(lhs).dtype, dtype, float32), key=bit_width)
    lhs, rhs = (convert_element_type(x, dtype=wide) for x in (lhs, rhs))
    found = _written(lhs, rhs, how | {"preferred_element_type": None})
    return convert_element_type(found, dtype=dtype)


def _written(x: Any, y: Any, how: How) -> Any:
    sizes = _sizes(typeof(x), typeof(y), how)
    form = _form(typeof(x), how, sizes) or _in_own_layout
    return form(x, y, how, sizes)


def _own_layout(how: How) -> bool:
    return bool(how["dimension_numbers"] == _own_numbers(len(how["window_strides"])))


def _own_numbers(rank: int) -> ConvDimensionNumbers:
    """(batch, *spatial, feature) and (*spatial, in, out)."""
    images = (0, rank + 1, *range(1, rank + 1))
    return ConvDimensionNumbers(images, (rank + 1, rank, *range(rank)), images)


def _in_own_layout(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    """XLA's convolution; it turns operands itself, but in the entry computation only."""
    given, own = how["dimension_numbers"], _own_numbers(len(how["window_strides"]))
    if given == own:
        return conv_general_dilated(x, y, **how)
    x, y = (_turned(v, spec, to) for v, spec, to in zip((x, y), given, own, strict=False))
    found = conv_general_dilated(x, y, **how | {"dimension_numbers": own})
    return _turned(found, own.out_spec, given.out_spec)


def _turned(x: Any, spec: Sequence[int], to: Sequence[int]) -> Any:
    """The axes that have their roles by `spec`, put where `to` has them."""
    order = [0] * len(spec)
    for here, there in zip(spec, to, strict=True):
        order[there] = here
    return shape.transpose(x, permutation=tuple(order))


def _padded(x: Any, how: How) -> Any:
    """The images with zeros around and between their elements."""
    spec = how["dimension_numbers"].lhs_spec
    config = [(0, 0, 0)] * len(spec)
    around = zip(spec[2:], how["padding"], how["lhs_dilation"], strict=True)
    for axis, (low, high), hole in around:
        config[axis] = low, high, hole - 1
    return shape.pad(x, shape.scalar(0, typeof(x).dtype), config=tuple(config))


def _named(spec: Sequence[int], first: Axes, second: Axes) -> Axes:
    """The axes in order, the first two roles under these names, in which groups are apart."""
    names: list[Axes] = [()] * len(spec)
    for role, axis in enumerate(spec):
        names[axis] = (first, second)[role] if role < 2 else (role - 2,)
    return tuple(name for axis in names for name in axis)


class _Operands(NamedTuple):
    """Both operands with an axis for the groups, the images padded, and the result's axes.

    Roles of length 1 have no axis: behind others, such an axis keeps XLA from folding by vectors.
    """

    lhs: Any
    lhs_axes: Axes
    rhs: Any
    rhs_axes: Axes
    axes: Axes
    lengths: dict[Any, int]


def _operands(x: Any, y: Any, how: How, sizes: _Sizes) -> _Operands:
    left, right, out = how["dimension_numbers"]
    lengths = dict(zip("gbio", sizes[:4], strict=True))
    there = {"g", *(name for name, n in lengths.items() if n > 1)}

    def kept(spec: Sequence[int], first: Axes, second: Axes) -> Axes:
        axes = _named(spec, first, second)
        return tuple(name for name in axes if name in there or isinstance(name, int))

    if how["batch_group_count"] > 1:
        lhs_axes = kept(left, ("g", "b"), ("i",))
    else:
        lhs_axes = kept(left, ("b",), ("g", "i"))
    rhs_axes = kept(right, ("g", "o"), ("i",))
    x, y = barrier(_padded(x, how), y)
    images = dict(enumerate(typeof(x).shape[k] for k in left[2:]))
    x = shape.reshape(x, shape=tuple((lengths | images)[a] for a in lhs_axes))
    inside = dict(enumerate(sizes.window))
    y = shape.reshape(y, shape=tuple((lengths | inside)[a] for a in rhs_axes))
    axes = kept(out, ("b",), ("g", "o"))
    return _Operands(x, lhs_axes, y, rhs_axes, axes, lengths | dict(enumerate(sizes.results)))


def _at(x: Any, axes: Axes, place: dict[Any, int]) -> tuple[Any, Axes]:
    """The elements at these places on some axes, and the other axes."""
    start = tuple(place.get(a, 0) for a in axes)
    ends = zip(axes, typeof(x).shape, strict=True)
    limit = tuple(place[a] + 1 if a in place else n for a, n in ends)
    found = shape.slice(x, start=start, limit=limit)
    return shape.squeeze(found, [k for k, a in enumerate(axes) if a in place]), tuple(
        a for a in axes if a not in place
    )


def _laid(x: Any, axes: Axes, among: Axes, lengths: dict[Any, int]) -> Any:
    """An array of some of these axes, repeated along the others."""
    order = sorted(range(len(axes)), key=lambda k: among.index(axes[k]))
    turned = shape.transpose(x, permutation=tuple(order))
    dims = tuple(among.index(axes[k]) for k in order)
    return shape.broadcast_in_dim(turned, shape=tuple(lengths[a] for a in among), dims=dims)


def _by_places(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    """Over the window's places and the features: images, shifted, times a number of the window."""
    lhs, lhs_axes, rhs, rhs_axes, axes, lengths = _operands(x, y, how, sizes)

    def term(place: Sequence[int], feature: int) -> Any:
        starts = [k * gap for k, gap in zip(place, how["rhs_dilation"], strict=True)]
        shifted = _box(lhs, lhs_axes, starts, sizes.results, how["window_strides"])
        image, image_axes = _at(shifted, lhs_axes, {"i": feature})
        weight, weight_axes = _at(rhs, rhs_axes, {"i": feature, **dict(enumerate(place))})
        both = (image, image_axes), (weight, weight_axes)
        return elementwise.mul(*(_laid(v, names, axes, lengths) for v, names in both))

    terms = product(product(*map(range, sizes.window)), range(sizes.ins))
    total = reduce(elementwise.add, (term(*at) for at in terms))
    return shape.reshape(total, shape=sizes.shape)


def _by_results(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    """Place by place of the result: both operands, multiplied and added up over the window.

    A loop, since XLA would cut out the images of all places before it uses the first.
    """
    lhs, lhs_axes, rhs, rhs_axes, axes, lengths = _operands(x, y, how, sizes)
    inner = tuple(a for a in lhs_axes if a != "b")
    inside = lengths | dict(enumerate(sizes.window))
    summed = tuple(k for k, a in enumerate(inner) if a != "g")

    def folds(images: Any, window: Any, place: Any) -> list[Any]:
        starts = _starts(place, sizes.results, how["window_strides"])
        shifted = _box(images, lhs_axes, starts, sizes.window, how["rhs_dilation"])
        pairs = product(range(sizes.batch), range(sizes.outs))
        return [shape.concatenate(*(fold(shifted, window, b, o) for b, o in pairs), axis=0)]

    def fold(shifted: Any, window: Any, b: int, o: int) -> Any:
        both = _at(shifted, lhs_axes, {"b": b}), _at(window, rhs_axes, {"o": o})
        factors = (_laid(v, names, inner, inside) for v, names in both)
        return reduce_sum(elementwise.mul(*factors), axes=summed)

    places = shape.iota(dtype=int32, shape=(math.prod(sizes.results),), dimension=0)
    (found,) = loop("place", folds, [places], consts=[lhs, rhs])
    order = tuple(a for a in (*range(len(sizes.results)), "b", "o", "g") if a in axes)
    grid = shape.reshape(found, shape=tuple(lengths[a] for a in order))
    total = shape.transpose(grid, permutation=tuple(order.index(a) for a in axes))
    return shape.reshape(total, shape=sizes.shape)


def _starts(place: Any, counts: Sequence[int], strides: Sequence[int]) -> list[Any]:
    """The first element of a place on each axis, of the places counted row by row."""
    starts: list[Any] = []
    for n, stride in zip(reversed(counts), reversed(strides), strict=True):
        starts.insert(0, elementwise.mul(elementwise.rem(place, n), stride))
        place = elementwise.div(place, n)
    return starts


def _box(
    x: Any, axes: Axes, starts: Sequence[Any], counts: Sequence[int], apart: Sequence[int]
) -> Any:
    """On each spatial axis `counts` elements, `apart` from each other; starts may be traced."""
    begin, lengths, strides = [], list(typeof(x).shape), [1] * len(axes)
    for axis, name in enumerate(axes):
        begin.append(starts[name] if isinstance(name, int) else 0)
        if isinstance(name, int):
            lengths[axis] = (counts[name] - 1) * apart[name] + 1
            strides[axis] = apart[name]
    if not all(type(n) is int for n in begin):
        places = (np.int32(n) if type(n) is int else n for n in begin)
        x, begin = indexing.dynamic_slice(x, *places, sizes=tuple(lengths)), [0] * len(axes)
    limit = tuple(map(sum, zip(begin, lengths, strict=True)))
    return shape.slice(x, start=tuple(begin), limit=limit, strides=tuple(strides))


def _as_product(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    """One product of matrices: there is one place, where the window covers the images."""
    left, right, out = how["dimension_numbers"]
    found = contraction.dot_general(
        x,
        y,
        dimension_numbers=((left[1:], right[1:]), ((), ())),
        precision=how["precision"],
        preferred_element_type=None,
    )
    found = shape.expand_dims(found, tuple(range(2, len(out))))
    return _turned(found, range(len(out)), out)


def _without_holes(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    """The holes filled with zeros beforehand."""
    rank = len(sizes.window)
    plain = {"padding": ((0, 0),) * rank, "lhs_dilation": (1,) * rank}
    return _written(_padded(x, how), y, how | plain)


def _merged(x: Any, spec: Sequence[int], role: int) -> tuple[Any, tuple[int, ...]]:
    """The first spatial axis as a part of that of a role, behind it; and the new roles' axes."""
    order = [axis for axis in range(len(spec)) if axis != spec[2]]
    order.insert(order.index(spec[role]) + 1, spec[2])
    turned = shape.transpose(x, permutation=tuple(order))
    at = order.index(spec[role])
    lengths = list(typeof(turned).shape)
    lengths[at : at + 2] = [lengths[at] * lengths[at + 1]]
    left = [axis for axis in order if axis != spec[2]]
    rest = (spec[0], spec[1], *spec[3:])
    return shape.reshape(turned, shape=tuple(lengths)), tuple(left.index(axis) for axis in rest)


def _dropped(spec: Sequence[int]) -> tuple[int, ...]:
    """The roles' axes without the first spatial one."""
    rest = (spec[0], spec[1], *spec[3:])
    return tuple(axis - (axis > spec[2]) for axis in rest)


STEPPED = "window_strides", "padding", "lhs_dilation", "rhs_dilation"


def _flatter(how: How, numbers: Sequence[Sequence[int]]) -> How:
    """The same without the first spatial axis."""
    rest = {name: tuple(how[name][1:]) for name in STEPPED}
    return how | rest | {"dimension_numbers": ConvDimensionNumbers(*map(tuple, numbers))}


def _by_slices(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    """Over the result's places on the first spatial axis: the window's are features of each.

    A loop, which writes each slice into the result, so that few of them are there at a time.
    """
    left, right, out = how["dimension_numbers"]
    (low, high), hole = how["padding"][0], how["lhs_dilation"][0]
    stride, gap = how["window_strides"][:1], how["rhs_dilation"][:1]
    x = shape.pad_axis(x, left[2], low, high, hole - 1)
    window, window_spec = _merged(y, right, 1)
    rank = len(out)
    axes = tuple(0 if axis == left[2] else "" for axis in range(rank))

    def step(images: Any, window: Any, total: Any, s: Any) -> list[Any]:
        start = [elementwise.mul(s, stride[0])]
        slab, spec = _merged(_box(images, axes, start, sizes.window, gap), left, 1)
        flat = _flatter(how, (spec, window_spec, _dropped(out)))
        found = shape.expand_dims(_written(slab, window, flat), (out[2],))
        place = (s if axis == out[2] else np.int32(0) for axis in range(rank))
        return [indexing.dynamic_update_slice(total, found, *place)]

    total = shape.full(sizes.shape, 0, typeof(x).dtype)
    steps = shape.iota(dtype=int32, shape=(sizes.results[0],), dimension=0)
    return loop("slice", step, [steps], consts=[x, window], carry=[total])[0]


DENSE: Final = {"feature_group_count": 1, "batch_group_count": 1}


def _groups_of_lhs(how: How, sizes: _Sizes) -> tuple[int, int]:
    """The axis of the images that the groups are parts of, and the length of a part."""
    (batch, features, *_), _, _ = how["dimension_numbers"]
    return (batch, sizes.batch) if how["batch_group_count"] > 1 else (features, sizes.ins)


def _by_groups(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    """One group after the other."""
    if how["batch_group_count"] > 1:
        packed = (p for p in range(1, PIECES + 1) if sizes.groups % p == 0)
        pack = next((p for p in packed if sizes.groups <= p * PIECES), 0)
        if pack:
            return _packed(x, y, how, sizes, pack)
    elif sizes.groups <= PIECES:
        return _packed(x, y, how, sizes, 1)
    return _looped(x, y, how, sizes)


def _packed(x: Any, y: Any, how: How, sizes: _Sizes, pack: int) -> Any:
    """Several groups as one, which also pairs each with the others: only its own are kept."""
    _, right, out = how["dimension_numbers"]
    axis, length = _groups_of_lhs(how, sizes)
    results = []
    for q in range(0, sizes.groups, pack):
        images = shape.slice_axis(x, axis, q * length, (q + pack) * length)
        window = shape.slice_axis(y, right[0], q * sizes.outs, (q + pack) * sizes.outs)
        found = _written(images, window, how | DENSE)
        for p in range(pack):
            own = shape.slice_axis(found, out[0], p * sizes.batch, (p + 1) * sizes.batch)
            results.append(shape.slice_axis(own, out[1], p * sizes.outs, (p + 1) * sizes.outs))
    return shape.concatenate(*results, axis=out[1])


def _looped(x: Any, y: Any, how: How, sizes: _Sizes) -> Any:
    _, right, out = how["dimension_numbers"]
    images = _grouped(x, _groups_of_lhs(how, sizes)[0], sizes.groups)
    kernels = _grouped(y, right[0], sizes.groups)
    (found,) = loop("group", lambda a, b: [_written(a, b, how | DENSE)], [images, kernels])
    return shape.reshape(shape.move_axis(found, 0, out[1]), shape=sizes.shape)


def _grouped(x: Any, axis: int, groups: int) -> Any:
    """The groups of an axis as the first one."""
    lengths = list(typeof(x).shape)
    lengths[axis : axis + 1] = [groups, lengths[axis] // groups]
    return shape.move_axis(shape.reshape(x, shape=tuple(lengths)), axis, 0)
