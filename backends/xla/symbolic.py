"""Symbolic lengths in StableHLO: scalars computed from the unknowns, and operations that take them.

Each function of an exported module takes the unknowns of its lengths as its first operands, and a
type has `?` in place of a length. An operation whose result has lengths that its operands' types do
not say takes the shape as an operand (`dynamic_broadcast_in_dim`). When the exported function is
called, StableHLO's refinement replaces them by numbers, before XLA compiles the module.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla.lowering.foreign import quoted
from effax.backends.xla.lowering.writer import Name, Writer, named, tensor
from effax.effects.errors import SymbolicShapeError
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic_length

LENGTH: Final = ShapedArray((), np.dtype(np.int64))
"""The type of lengths that a program computes with: their products may exceed 32 bits."""
_SIZE: Final = ShapedArray((), np.dtype(np.int32))
_TRUTH: Final = ShapedArray((), np.dtype(np.bool_))


def declare(w: Writer, unknowns: Any) -> None:
    """Let a writer write a module with these unknowns."""
    names = [s.name for s in unknowns.solutions]
    w.unknowns = {name: named(f"%u{i}", LENGTH) for i, name in enumerate(names)}
    w.unknowns_scope = unknowns.scope
    w.symbolic = sys.modules[__name__]
    w.plainly = True  # fast paths are chosen by sizes
    # TensorFlow refines the modules that say so, and refuses others with unknown lengths.
    w.module_attributes.append("jax.uses_shape_polymorphism = true")


def length(w: Writer, n: Any) -> Name:
    """Write a length as a scalar; one that was written before is named again."""
    if not is_symbolic_length(n):
        return w.constant(int(n), LENGTH)
    found = w.constants.get(("length", n))
    if found is None:
        if w.region_of is not None:
            raise SymbolicShapeError(
                f"export: {w.region_of} is a shard_map over several devices and uses the symbolic "
                f"length {n} as a number, for a shape or among its values; do that outside of it, "
                "or export the function at fixed sizes"
            )
        if n.scope is not w.unknowns_scope or not n.unknowns() <= w.unknowns.keys():
            raise SymbolicShapeError(
                f"export: the function uses the symbolic length {n}, but a call decides only the "
                f"unknowns {', '.join(w.unknowns)}, those of the arguments' shapes; take lengths "
                "from the shapes of the arguments"
            )
        found = w.constants["length", n] = _sum(w, n)
    return found


def _sum(w: Writer, n: Any) -> Name:
    total: Name | None = None
    for atoms, factor in n.terms.items():
        product: Name | None = None if factor != 1 or not atoms else _atom(w, n, atoms[0])
        if product is None:
            product = w.constant(factor, LENGTH)
            rest = atoms
        else:
            rest = atoms[1:]
        for atom in rest:
            product = w.simple("multiply", [product, _atom(w, n, atom)], LENGTH)
        total = product if total is None else w.simple("add", [total, product], LENGTH)
    return w.constant(0, LENGTH) if total is None else total


def _atom(w: Writer, n: Any, atom: Any) -> Name:
    if not atom.operands:
        return w.unknowns[atom.name]
    left, right = (length(w, x) for x in atom.operands)
    if atom.name in ("max", "min"):
        return w.simple(f"{atom.name}imum", [left, right], LENGTH)
    if atom.name not in ("mod", "floordiv"):
        raise SymbolicShapeError(
            f"the length {n} has no expression of the unknowns, so that no program computes it"
        )
    rest = _remainder(w, left, right)
    if atom.name == "mod":
        return rest
    return w.simple("divide", [w.simple("subtract", [left, rest], LENGTH), right], LENGTH)


def _remainder(w: Writer, left: Name, right: Name) -> Name:
    """Python's remainder, whose sign is that of the divisor; StableHLO's has the other sign."""
    zero = w.constant(0, LENGTH)
    rest = w.simple("remainder", [left, right], LENGTH)
    differs = _compared(w, "NE", rest, zero)
    crosses = _compared(w, "LT", w.simple("multiply", [rest, right], LENGTH), zero)
    moved = w.simple("add", [rest, right], LENGTH)
    wrong = w.simple("and", [differs, crosses], _TRUTH)
    return w.op(f"stablehlo.select {wrong}, {moved}, {rest} : {wrong.text}, {rest.text}", LENGTH)


def _compared(w: Writer, direction: str, x: Name, y: Name) -> Name:
    return w.op(
        f"stablehlo.compare {direction}, {x}, {y}, SIGNED : ({x.text}, {y.text}) -> tensor<i1>",
        _TRUTH,
    )


def vector(w: Writer, lengths: Sequence[Any], dtype: Any = LENGTH.dtype) -> Name:
    """Write lengths as the vector that an operation takes for a shape, in that dtype."""
    if not any(map(is_symbolic_length, lengths)):
        found = w.array(np.array(lengths, LENGTH.dtype))
    else:
        found = joined(w, [length(w, n) for n in lengths])
    if dtype == LENGTH.dtype:
        return found
    return w.simple("convert", [found], found.type.update(dtype=dtype))


def joined(w: Writer, scalars: Sequence[Name]) -> Name:
    """Write scalars as one vector."""
    one = ShapedArray((1,), LENGTH.dtype)
    parts = [w.simple("reshape", [x], one) for x in scalars]
    if len(parts) == 1:
        return parts[0]
    type = ShapedArray((len(parts),), LENGTH.dtype)
    ins = ", ".join([tensor(one)] * len(parts))
    return w.op(
        f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({ins}) -> {tensor(type)}", type
    )


def broadcast(w: Writer, x: Name, type: ShapedArray, dims: Sequence[int]) -> Name:
    """Write a broadcast to a type with symbolic lengths."""
    to = vector(w, type.shape)
    return w.op(
        f"stablehlo.dynamic_broadcast_in_dim {x}, {to}, dims = {list(dims)} : "
        f"({x.text}, {to.text}) -> {tensor(type)}",
        type,
    )


def splat(w: Writer, value: Any, type: ShapedArray) -> Name:
    """Write one number everywhere in an array of symbolic lengths."""
    return broadcast(w, w.constant(value, ShapedArray((), type.dtype)), type, ())


def reshape(w: Writer, x: Name, type: ShapedArray) -> Name:
    """Write a reshape to or from a type with symbolic lengths."""
    return w.simple("dynamic_reshape", [x, vector(w, type.shape)], type)


def part(w: Writer, x: Name, starts: Sequence[Name], type: ShapedArray) -> Name:
    """Write a slice of symbolic lengths at computed places, which are moved inside of the array."""
    first = []
    zero = w.constant(0, LENGTH)
    for at, n, size in zip(starts, x.shape, type.shape, strict=True):
        wide = at if at.dtype == LENGTH.dtype else w.simple("convert", [at], LENGTH)
        first.append(w.simple("clamp", [zero, wide, length(w, n - size)], LENGTH))
    begin = joined(w, first)
    # The refinement takes lengths from a sum of computed starts and constants, and from no other.
    end = w.simple("add", [begin, vector(w, type.shape)], begin.type)
    steps = vector(w, [1] * len(first))
    return w.simple("real_dynamic_slice", [x, begin, end, steps], type)


def box(w: Writer, x: Name, starts: Sequence[Any], type: ShapedArray) -> Name:
    """Write a slice of symbolic lengths at known places."""
    limits = [start + n for start, n in zip(starts, type.shape, strict=True)]
    bounds = [vector(w, numbers) for numbers in (starts, limits, [1] * len(limits))]
    return w.simple("real_dynamic_slice", [x, *bounds], type)


def reduce_window(
    w: Writer,
    types: Sequence[ShapedArray],
    operands: Sequence[Name],
    inits: Sequence[Name],
    write: Callable[..., Sequence[Name]],
    *,
    window_dimensions: Sequence[Any],
    window_strides: Sequence[Any],
    padding: Sequence[tuple[Any, Any]],
    base_dilation: Sequence[Any],
    window_dilation: Sequence[Any],
) -> list[Name]:
    """Write a `reduce_window` whose windows or padding are symbolic.

    StableHLO has no such operation, but its refinement knows this call.
    """
    numbers = (window_dimensions, window_strides, base_dilation, window_dilation)
    given = [*operands, *inits, *[vector(w, n) for n in numbers], pairs(w, padding)]
    ins, outs = ", ".join([x.text for x in given]), ", ".join(map(tensor, types))
    result = outs if len(types) == 1 else f"({outs})"
    body = _reducer(w, [x.type for x in inits], write)
    return w.ops(
        f"stablehlo.custom_call @stablehlo.dynamic_reduce_window({', '.join(given)}) "
        f"{{api_version = 2 : i32, called_computations = [@{body}]}} : ({ins}) -> {result}",
        types,
    )


def pairs(w: Writer, padding: Sequence[tuple[Any, Any]]) -> Name:
    """Write padding as the array of two columns that an operation takes for it."""
    flat = vector(w, [n for pair in padding for n in pair])
    return w.simple("reshape", [flat], ShapedArray((len(padding), 2), LENGTH.dtype))


def _reducer(
    w: Writer, scalars: Sequence[ShapedArray], write: Callable[..., Sequence[Name]]
) -> str:
    """Write a function that combines two lots of scalars; its name."""
    name = w._name("reducer")
    saved = w.lines, w.constants
    w.lines, w.constants = [], {}
    arguments = [named(f"%a{i}", t) for i, t in enumerate((*scalars, *scalars))]
    results = write(*arguments)
    outs = ", ".join(map(tensor, scalars))
    lines = "\n".join([*w.lines, f"stablehlo.return {', '.join(results)} : {outs}"])
    w.lines, w.constants = saved
    head = ", ".join([f"{x}: {x.text}" for x in arguments])
    w.functions.append(f"func.func private @{name}({head}) -> ({outs}) {{\n{lines}\n}}")
    return name


def iota(w: Writer, axis: int, type: ShapedArray) -> Name:
    """Write the positions along an axis of an array of symbolic lengths."""
    to = vector(w, type.shape)
    return w.op(f"stablehlo.dynamic_iota {to}, dim = {axis} : ({to.text}) -> {tensor(type)}", type)


def number(w: Writer, n: Any, type: ShapedArray) -> Name:
    """Write a length as a scalar of a type."""
    found = length(w, n)
    return found if type.dtype == LENGTH.dtype else w.simple("convert", [found], type)


def solve(w: Writer, unknowns: Any, operands: Sequence[Name]) -> None:
    """Write the unknowns, each computed from the length of an operand's axis, and their checks.

    `Exported.call` has made these checks before. Other readers of the module (TensorFlow, JAX) have
    not: the refinement, which gives the module its sizes, refuses those that fail a check.
    """
    for s in unknowns.solutions:
        size = _size(w, operands[s.operand], s.axis)
        rest = w.simple("subtract", [size, length(w, s.rest)], LENGTH)
        by = w.constant(s.factor, LENGTH)
        w.lines.append(f"{w.unknowns[s.name]} = stablehlo.divide {rest}, {by} : {rest.text}")
        wanted = _described(s.operand, s.axis, unknowns.types[s.operand])
        found = f"called with {{0}}, where {s.name} = {{1}}; it must be an integer of 1 or more"
        given = [size, w.unknowns[s.name]]
        _assert(w, "GE", given[1], w.constant(1, LENGTH), f"{wanted} and was {found}", given)
    exact = {(s.operand, s.axis) for s in unknowns.solutions if s.factor == 1}
    for i, (x, type) in enumerate(zip(operands, unknowns.types, strict=True)):
        for axis, n in enumerate(type.shape):
            if is_symbolic_length(n) and (i, axis) not in exact:
                size, wanted = _size(w, x, axis), length(w, n)
                text = f"{_described(i, axis, type)}, which is {{1}}, and was called with {{0}}"
                _assert(w, "EQ", size, wanted, text, [size, wanted])
    own = w.unknowns
    replaced = {name: length(w, n) for name, n in unknowns.scope.replaced(own.keys())}
    w.unknowns = {**own, **replaced}  # in constraints alone; the functions have only their own
    for text, compare, *sides in unknowns.scope.comparisons(w.unknowns.keys()):
        left, right = (length(w, n) for n in sides)
        violated = f"the arguments have lengths that violate the constraint {text}"
        values = "the left side is {0}, the right side is {1}"
        _assert(w, _DIRECTIONS[compare], left, right, f"{violated}: {values}", [left, right])
    w.unknowns = own


_DIRECTIONS: Final = {operator.eq: "EQ", operator.ge: "GE", operator.le: "LE"}


def _size(w: Writer, x: Name, axis: int) -> Name:
    found = w.constants.get(("size", x, axis))
    if found is None:
        size = w.op(
            f"stablehlo.get_dimension_size {x}, dim = {axis} : ({x.text}) -> {tensor(_SIZE)}", _SIZE
        )
        found = w.constants["size", x, axis] = w.simple("convert", [size], LENGTH)
    return found


def _described(operand: int, axis: int, type: ShapedArray) -> str:
    return f"operand {operand}, {type.str_short()}: axis {axis} has the length {type.shape[axis]}"


def _assert(
    w: Writer, direction: str, x: Name, y: Name, message: str, values: Sequence[Name]
) -> None:
    """Write a check of the refinement. In its message, `{0}` stands for the first of the values."""
    holds = _compared(w, direction, x, y)
    ins = ", ".join([holds.text, *[v.text for v in values]])
    w.lines.append(
        f"stablehlo.custom_call @shape_assertion({', '.join([holds, *values])}) "
        f"{{api_version = 2 : i32, error_message = {quoted(message)}, has_side_effect = true}} : "
        f"({ins}) -> ()"
    )
