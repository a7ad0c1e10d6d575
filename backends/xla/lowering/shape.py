"""Shape effects in StableHLO, one operation each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from effax.backends.xla.lowering.elementwise import converted, known_bits, of_bits, whole_bytes
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.errors import SymbolicShapeError
from effax.effects.rows import shape
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic, is_symbolic_length


def listed(numbers: Iterable[int]) -> str:
    """`[1, 2]`, as StableHLO writes lists of numbers."""
    return f"[{', '.join(map(str, numbers))}]"


@rule(shape.broadcast_in_dim)
def lower_broadcast_in_dim(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, shape: Any, dims: tuple[int, ...]
) -> Name:
    type = types[0]
    return w.op(
        f"stablehlo.broadcast_in_dim {x}, dims = {listed(dims)} : ({x.text}) -> {tensor(type)}",
        type,
    )


@rule(shape.transpose)
def lower_transpose(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, permutation: tuple[int, ...]
) -> Name:
    type = types[0]
    return w.op(
        f"stablehlo.transpose {x}, dims = {listed(permutation)} : ({x.text}) -> {tensor(type)}",
        type,
    )


@rule(shape.reshape)
def lower_reshape(w: Writer, types: Sequence[ShapedArray], x: Name, *, shape: Any) -> Name:
    type = types[0]
    return w.simple("reshape", [x], type)


@rule(shape.concatenate)
def lower_concatenate(w: Writer, types: Sequence[ShapedArray], *xs: Name, axis: int) -> Name:
    xs = tuple(whole_bytes(w, x) for x in xs)
    type = types[0].update(dtype=xs[0].dtype)
    ins = ", ".join(x.text for x in xs)
    joined = w.op(
        f"stablehlo.concatenate {', '.join(xs)}, dim = {axis} : ({ins}) -> {tensor(type)}", type
    )
    return converted(w, joined, types[0])


def filled(w: Writer, x: Name, type: ShapedArray) -> Name:
    """An array of a type, a scalar everywhere."""
    if is_symbolic(type.shape):
        return w.symbolic.broadcast(w, x, type, ())
    text = f"stablehlo.broadcast_in_dim {x}, dims = [] : ({x.text}) -> {tensor(type)}"
    return w.op(text, type)


def _cuts_all(length: Any, low: int, high: int, interior: int) -> bool:
    """Whether negative padding leaves nothing of an axis.

    XLA (of jaxlib 0.10.2) may forget it where it folds the padding of one element into windows.
    """
    if type(length) is not int or min(low, high) >= 0:
        return False
    return max(-low, -high) >= length + (length - 1) * interior


@rule(shape.pad)
def lower_pad(
    w: Writer, types: Sequence[ShapedArray], x: Name, value: Name, *, config: Any
) -> Name:
    x, value = whole_bytes(w, x), whole_bytes(w, value)
    type = types[0].update(dtype=x.dtype)
    if any(_cuts_all(n, *c) for n, c in zip(x.shape, config, strict=True)):
        return converted(w, filled(w, value, type), types[0])
    low, high, interior = (listed(c[i] for c in config) for i in range(3))
    padded = w.op(
        f"stablehlo.pad {x}, {value}, low = {low}, high = {high}, interior = {interior} : "
        f"({x.text}, {value.text}) -> {tensor(type)}",
        type,
    )
    return converted(w, padded, types[0])


@rule(shape.rev)
def lower_rev(w: Writer, types: Sequence[ShapedArray], x: Name, *, dims: tuple[int, ...]) -> Name:
    type = types[0]
    return w.op(f"stablehlo.reverse {x}, dims = {listed(dims)} : {x.text}", type)


@rule(shape.slice)
def lower_slice(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, start: Any, limit: Any, strides: Any = None
) -> Name:
    type = types[0]
    steps = strides or (1,) * len(start)
    box = ", ".join(f"{a}:{b}:{s}" for a, b, s in zip(start, limit, steps, strict=True))
    x = known_bits(x)
    piece = type.update(dtype=x.dtype)
    found = w.op(f"stablehlo.slice {x} [{box}] : ({x.text}) -> {tensor(piece)}", piece)
    return of_bits(w, found, type)


@rule(shape.iota)
def lower_iota(
    w: Writer, types: Sequence[ShapedArray], *, dtype: Any, shape: Any, dimension: int
) -> Name:
    type = types[0]
    return w.op(f"stablehlo.iota dim = {dimension} : {tensor(type)}", type)


@rule(shape.dimension_as_value)
def lower_dimension_as_value(
    w: Writer, types: Sequence[ShapedArray], *, length: Any, dtype: Any, weak_type: bool
) -> Name:
    if not is_symbolic_length(length):
        return w.constant(length, types[0])
    if not w.unknowns:
        raise SymbolicShapeError(
            f"the length {length} has a value only while a function is exported "
            "(effax.export.export); call the function with arrays instead"
        )
    return w.symbolic.number(w, length, types[0])
