"""Kernels in Triton's dialect of MLIR, which XLA compiles for NVIDIA's GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from functools import reduce as fold
from typing import Any, ClassVar, Final

from effax.backends.xla.lowering.blocks import arithmetic as arithmetic
from effax.backends.xla.lowering.blocks import control as control
from effax.backends.xla.lowering.blocks.arithmetic import (
    binary,
    convert,
    is_highest,
    select,
    wide,
)
from effax.backends.xla.lowering.blocks.writer import (
    INDEX,
    BlockWriter,
    Dim,
    Rule,
    Val,
    View,
    rule,
    zeros,
)
from effax.effects.effect import Effect
from effax.effects.rows import (
    comparison,
    contraction,
    cumulative,
    elementwise,
    logical,
    reduction,
    shape,
    special,
    transcendental,
)
from effax.effects.types import ShapedArray, bit_width, float32, is_bool, is_float

_RULES: Final[dict[Effect, Rule]] = {}


class TritonWriter(BlockWriter):
    """Blocks are tensors, memory is pointers; the threads of a program share each operation."""

    container = "tensor"
    chip = "GPU"
    rules: ClassVar[dict[Effect, Rule]] = _RULES

    def op(self, text: str, type: ShapedArray) -> Val:
        """Write an operation; the lengths of a tensor are powers of two."""
        for n in type.shape:
            if n & (n - 1) or not n:
                raise self.refuse(
                    "the lengths of Triton's tensors must be powers of two, got "
                    f"{type.str_short()}: choose other blocks, or mask a larger one"
                )
        return super().op(text, type)

    def spread(self, x: Val, lengths: tuple[int, ...]) -> Val:
        """A scalar as a block."""
        if not lengths:
            return x
        type = x.type.update(shape=lengths)
        return self.op(f"tt.splat {x} : {self.text(x.type)} -> {self.text(type)}", type)

    def stretch(self, x: Val, axis: int, lengths: tuple[int, ...]) -> Val:
        """A vector along an axis of a block, the same along the others."""
        for k in range(len(lengths)):
            if k != axis:
                x = self.with_axis(x, k)
        return self.repeat(x, lengths)

    def with_axis(self, x: Val, axis: int) -> Val:
        """The block with one more axis, of length 1."""
        if not x.type.shape:
            return self.spread(x, (1,))
        lengths = list(x.type.shape)
        lengths.insert(axis, 1)
        type = x.type.update(shape=tuple(lengths))
        ins, out = self.text(x.type), self.text(type)
        return self.op(f"tt.expand_dims {x} {{axis = {axis} : i32}} : {ins} -> {out}", type)

    def repeat(self, x: Val, lengths: tuple[int, ...]) -> Val:
        """The block with axes of length 1 repeated."""
        if x.type.shape == lengths:
            return x
        type = x.type.update(shape=lengths)
        return self.op(f"tt.broadcast {x} : {self.text(x.type)} -> {self.text(type)}", type)

    def line(self, n: int) -> Val:
        """The vector 0, 1, ... of n numbers."""
        line = INDEX.update(shape=(n,))
        text = f"tt.make_range {{end = {n} : i32, start = 0 : i32}} : {self.text(line)}"
        return self.op(text, line)

    # -- memory

    def memory_element(self, dtype: Any) -> str:
        """The type of an element in memory: a bool is a byte."""
        return "i8" if is_bool(dtype) else self.element(dtype)

    def start(self, d: Dim, start: Val | None) -> Val:
        """The first position of a range, in the array."""
        found = self.constant(d.start, INDEX)
        for x in (*d.terms, *((start,) if start is not None else ())):
            found = self.simple("arith.addi", [found, x], INDEX)
        return found

    def pointers(self, view: View) -> tuple[Val, Val | None]:
        """The addresses of the elements of a view, and which of them are inside of the array."""
        block, name = view.memory.block, view.memory.name
        lengths = tuple(d.size for d in view.kept)
        strides = [1]
        for n in reversed(block.array.shape[1:]):
            strides.append(strides[-1] * n)
        offset, inside, axis = self.constant(0, INDEX), None, 0
        spread: list[Val] = []
        pairs = zip(
            view.dims, view.memory.starts, reversed(strides), block.array.shape, strict=True
        )
        for d, begin, stride, length in pairs:
            start = self.start(d, begin)
            step = self.simple("arith.muli", [start, self.constant(stride, INDEX)], INDEX)
            offset = self.simple("arith.addi", [offset, step], INDEX)
            if not d.kept:
                continue
            at = self.line(d.size)
            line = at.type
            if d.stride != 1:
                at = self.simple("arith.muli", [at, self.constant(d.stride, line)], line)
            if d.padded:
                place = self.simple("arith.addi", [at, self.spread(start, line.shape)], line)
                within = arithmetic.compare(self, comparison.lt, place, self.constant(length, line))
                mask = self.stretch(within, axis, lengths)
                inside = mask if inside is None else binary(self, logical.and_, inside, mask)
            if stride != 1:
                at = self.simple("arith.muli", [at, self.constant(stride, line)], line)
            spread.append(self.stretch(at, axis, lengths))
            axis += 1
        pointer = f"!tt.ptr<{self.memory_element(view.type.dtype)}>"
        if not lengths:
            found = self.raw(f"tt.addptr {name}, {offset} : {pointer}, i32")
            return Val(found, view.type), None
        total = fold(
            lambda a, b: self.simple("arith.addi", [a, b], a.type),
            spread,
            self.spread(offset, lengths),
        )
        many = self.pointer_text(view)
        base = self.raw(f"tt.splat {name} : {pointer} -> {many}")
        found = self.raw(f"tt.addptr {base}, {total} : {many}, {self.text(total.type)}")
        return Val(found, view.type), inside

    def pointer_text(self, view: View) -> str:
        """The type of the addresses of a view's elements."""
        pointer = f"!tt.ptr<{self.memory_element(view.type.dtype)}>"
        lengths = view.type.shape
        return f"tensor<{'x'.join(map(str, lengths))}x{pointer}>" if lengths else pointer

    def load(self, view: View) -> Val:
        """Load a view; 0 stands for what lies outside of the array."""
        at, inside = self.pointers(view)
        stored = view.type
        if is_bool(stored.dtype):
            stored = stored.update(dtype="int8")
        rest = f", {inside}, {zeros(self, stored)}" if inside is not None else ""
        x = self.op(f"tt.load {at}{rest} : {self.pointer_text(view)}", stored)
        return convert(self, x, view.type)

    def store(self, view: View, value: Val) -> None:
        """Store a block where it is inside of the array."""
        at, inside = self.pointers(view)
        if is_bool(value.type.dtype):
            value = convert(self, value, value.type.update(dtype="int8"))
        rest = f", {inside}" if inside is not None else ""
        self.lines.append(f"tt.store {at}, {value}{rest} : {self.pointer_text(view)}")

    def replace(self, view: View, value: Val) -> None:
        """Store a value; an element may be read by another thread than writes it, so all wait."""
        self.lines.append("gpu.barrier")
        self.store(view, value)
        self.lines.append("gpu.barrier")


_rule: Final = partial(rule, table=_RULES)


@_rule(shape.broadcast_in_dim)
def triton_broadcast(
    w: TritonWriter,
    types: Sequence[ShapedArray],
    x: Val,
    *,
    shape: tuple[int, ...],
    dims: tuple[int, ...],
) -> Val:
    if not x.type.shape:
        return w.spread(x, shape)
    for k in range(len(shape)):
        if k not in dims:
            x = w.with_axis(x, k)
    return w.repeat(x, shape)


@_rule(shape.reshape)
def triton_reshape(
    w: TritonWriter, types: Sequence[ShapedArray], x: Val, *, shape: tuple[int, ...]
) -> Val:
    if shape == x.type.shape:
        return x
    if not x.type.shape:
        return w.spread(x, shape)
    if not shape:
        while x.type.shape:
            x = _reduced(w, elementwise.add, x, 0)
        return x
    type = types[0]
    return w.op(f"tt.reshape {x} : {w.text(x.type)} -> {w.text(type)}", type)


@_rule(shape.transpose)
def triton_transpose(
    w: TritonWriter, types: Sequence[ShapedArray], x: Val, *, permutation: tuple[int, ...]
) -> Val:
    order = ", ".join(map(str, permutation))
    text = f"tt.trans {x} {{order = array<i32: {order}>}} : {w.text(x.type)} -> {w.text(types[0])}"
    return w.op(text, types[0])


@_rule(shape.iota)
def triton_iota(
    w: TritonWriter,
    types: Sequence[ShapedArray],
    *,
    dtype: Any,
    shape: tuple[int, ...],
    dimension: int,
) -> Val:
    at = w.line(shape[dimension])
    return w.stretch(convert(w, at, at.type.update(dtype=dtype)), dimension, shape)


def _reduced(w: TritonWriter, effect: Effect, x: Val, axis: int) -> Val:
    lengths = x.type.shape
    type = x.type.update(shape=(*lengths[:axis], *lengths[axis + 1 :]))
    one = type.update(shape=())
    return _region(w, "tt.reduce", f"axis = {axis} : i32", [x], [type], [one], effect)[0]


def _region(
    w: TritonWriter,
    name: str,
    attributes: str,
    xs: Sequence[Val],
    types: Sequence[ShapedArray],
    ones: Sequence[ShapedArray],
    effect: Effect | Callable[..., list[Val]],
) -> list[Val]:
    """An operation with a region that combines two lots of scalars."""
    a, b = ([Val(w.fresh(), t) for t in ones] for _ in range(2))

    def body() -> None:
        found = [binary(w, effect, a[0], b[0])] if isinstance(effect, Effect) else effect(w, a, b)
        texts = ", ".join(w.text(t) for t in ones)
        w.lines.append(f"{name}.return {', '.join(map(str, found))} : {texts}")

    lines = control.nested(w, body)
    given = ", ".join(f"{x}: {w.text(x.type)}" for x in (*a, *b))
    ins, outs = (", ".join(w.text(t) for t in ts) for ts in ([x.type for x in xs], types))
    left = w.fresh()
    w.lines += [
        f"{control.assigned(left, types)}"
        f'"{name}"({", ".join(map(str, xs))}) <{{{attributes}}}> ({{',
        f"^bb0({given}):",
        *lines,
        f"}}) : ({ins}) -> ({outs})",
    ]
    return control.named(left, types)


_REDUCTIONS: Final = {
    reduction.reduce_sum: elementwise.add,
    reduction.reduce_prod: elementwise.mul,
    reduction.reduce_max: elementwise.max,
    reduction.reduce_min: elementwise.min,
    reduction.reduce_and: logical.and_,
    reduction.reduce_or: logical.or_,
    reduction.reduce_xor: logical.xor,
}
_CUMULATIVE: Final = {
    cumulative.cumsum: elementwise.add,
    cumulative.cumprod: elementwise.mul,
    cumulative.cummax: elementwise.max,
    cumulative.cummin: elementwise.min,
}


def _fill_folds() -> None:
    def fill(effect: Effect, combine: Effect) -> None:
        @_rule(effect)
        def triton_reduce(
            w: TritonWriter, types: Sequence[ShapedArray], x: Val, *, axes: tuple[int, ...]
        ) -> Val:
            y = wide(w, x)[0] if is_float(x.type.dtype) else x
            for axis in sorted(axes, reverse=True):
                y = _reduced(w, combine, y, axis)
            return convert(w, y, types[0])

    def fill_cumulative(effect: Effect, combine: Effect) -> None:
        @_rule(effect)
        def triton_scan(
            w: TritonWriter,
            types: Sequence[ShapedArray],
            x: Val,
            *,
            axis: int,
            reverse: bool = False,
        ) -> Val:
            told = f"axis = {axis} : i32, reverse = {'true' if reverse else 'false'}"
            one = x.type.update(shape=())
            return _region(w, "tt.scan", told, [x], [x.type], [one], combine)[0]

    for effect, combine in _REDUCTIONS.items():
        fill(effect, combine)
    for effect, combine in _CUMULATIVE.items():
        fill_cumulative(effect, combine)


_fill_folds()


def _fill_argument(effect: Effect, better: Effect) -> None:
    def combine(w: TritonWriter, a: Sequence[Val], b: Sequence[Val]) -> list[Val]:
        """The better of two, the first of equals; a NaN is better than anything."""
        wins = arithmetic.compare(w, better, a[0], b[0])
        ties = arithmetic.compare(w, comparison.eq, a[0], b[0])
        first = arithmetic.compare(w, comparison.lt, a[1], b[1])
        wins = binary(w, logical.or_, wins, binary(w, logical.and_, ties, first))
        if is_float(a[0].type.dtype):
            wins = binary(w, logical.or_, wins, arithmetic.compare(w, comparison.ne, a[0], a[0]))
        return [select(w, wins, x, y) for x, y in zip(a, b, strict=True)]

    @_rule(effect)
    def triton_argument(
        w: TritonWriter, types: Sequence[ShapedArray], x: Val, *, axis: int, index_dtype: Any
    ) -> Val:
        y = wide(w, x)[0] if is_float(x.type.dtype) else x
        line = INDEX.update(shape=x.type.shape)
        at = triton_iota(w, [line], dtype=INDEX.dtype, shape=line.shape, dimension=axis)
        lengths = types[0].shape
        outs = [y.type.update(shape=lengths), INDEX.update(shape=lengths)]
        ones = [t.update(shape=()) for t in outs]
        told = f"axis = {axis} : i32"
        _, found = _region(w, "tt.reduce", told, [y, at], outs, ones, combine)
        return convert(w, found, types[0])


_fill_argument(reduction.argmax, comparison.gt)
_fill_argument(reduction.argmin, comparison.lt)


@_rule(contraction.dot_general)
def triton_dot(
    w: TritonWriter,
    types: Sequence[ShapedArray],
    a: Val,
    b: Val,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
) -> Val:
    (ac, bc), (ab, bb) = dimension_numbers
    if ab or bb or len(a.type.shape) != 2 or len(b.type.shape) != 2 or len(ac) != 1:
        raise w.refuse("Triton has only products of matrices of 'dot_general'")
    if list(ac) == [0]:
        a = _turned(w, a)
    if list(bc) == [1]:
        b = _turned(w, b)
    if min(*a.type.shape, *b.type.shape) < 16:
        raise w.refuse("products of matrices have at least 16 rows and columns in Triton")
    out = types[0]
    sums = out if bit_width(out.dtype) >= 32 else out.update(dtype=float32)
    how = ""
    if a.type.dtype == float32:
        how = f", inputPrecision = {'ieee' if is_highest(precision) else 'tf32'}"
    texts = f"{w.text(a.type)} * {w.text(b.type)} -> {w.text(sums)}"
    return convert(w, w.op(f"tt.dot {a}, {b}, {zeros(w, sums)}{how} : {texts}", sums), out)


def _turned(w: TritonWriter, x: Val) -> Val:
    type = x.type.update(shape=x.type.shape[::-1])
    return triton_transpose(w, [type], x, permutation=(1, 0))


_LIBDEVICE: Final = {
    transcendental.tan: "tan",
    transcendental.asin: "asin",
    transcendental.acos: "acos",
    transcendental.atan: "atan",
    transcendental.sinh: "sinh",
    transcendental.cosh: "cosh",
    transcendental.tanh: "tanh",
    transcendental.asinh: "asinh",
    transcendental.acosh: "acosh",
    transcendental.atanh: "atanh",
    transcendental.expm1: "expm1",
    transcendental.log1p: "log1p",
    transcendental.atan2: "atan2",
    elementwise.cbrt: "cbrt",
    elementwise.pow: "pow",
    elementwise.nextafter: "nextafter",
    special.erf: "erf",
    special.erfc: "erfc",
    special.erf_inv: "erfinv",
    special.lgamma: "lgamma",
}
"""Functions of CUDA's library, whose names begin with `__nv_`, and end in f for float32."""


def _fill_library(effect: Effect, name: str) -> None:
    @_rule(effect)
    def triton_library(w: TritonWriter, types: Sequence[ShapedArray], *xs: Val, **_: Any) -> Val:
        given = [wide(w, convert(w, x, types[0]))[0] for x in xs]
        type = given[0].type
        symbol = f"__nv_{name}{'f' if type.dtype == float32 else ''}"
        texts = ", ".join(w.text(x.type) for x in given)
        found = w.op(
            f'tt.extern_elementwise {", ".join(map(str, given))} {{libname = "", libpath = "", '
            f'pure = true, symbol = "{symbol}"}} : ({texts}) -> {w.text(type)}',
            type,
        )
        return convert(w, found, types[0])


for _effect, _name in _LIBDEVICE.items():
    _fill_library(_effect, _name)
