"""Kernels in the dialects of MLIR that Mosaic, the compiler of TPU kernels, takes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

from effax.backends.xla.lowering.blocks import control as control
from effax.backends.xla.lowering.blocks.arithmetic import (
    binary,
    convert,
    fill_unary,
    is_highest,
    wide,
)
from effax.backends.xla.lowering.blocks.writer import (
    BlockWriter,
    Dim,
    Memory,
    Rule,
    Val,
    View,
    rule,
    zeros,
)
from effax.effects.effect import Effect
from effax.effects.rows import contraction, elementwise, reduction, shape, transcendental
from effax.effects.types import ShapedArray, bit_width, is_bool, is_float

_RULES: Final[dict[Effect, Rule]] = {}


class MosaicWriter(BlockWriter):
    """Blocks are vectors, and memory is what the kernel's pipeline has brought near the core."""

    container = "vector"
    chip = "TPU"
    rules: ClassVar[dict[Effect, Rule]] = _RULES
    reaches = False

    def spread(self, x: Val, lengths: tuple[int, ...]) -> Val:
        """A scalar as a block."""
        if not lengths:
            return x
        type = x.type.update(shape=lengths)
        return self.op(f"vector.broadcast {x} : {self.text(x.type)} to {self.text(type)}", type)

    def cast(self, x: Val, lengths: tuple[int, ...]) -> Val:
        """The block with other axes, its elements in order."""
        type = x.type.update(shape=lengths)
        if x.type.shape == lengths:
            return x
        if not x.type.shape:
            return self.spread(x, lengths)
        texts = f"{self.text(x.type)} to {self.text(type)}"
        if lengths:
            return self.op(f"vector.shape_cast {x} : {texts}", type)
        at = ", ".join("0" for _ in x.type.shape)
        ins, out = self.text(x.type), self.text(type)
        return self.op(f"vector.extract {x}[{at}] : {out} from {ins}", type)

    # -- memory

    def memory_text(self, memory: Memory) -> str:
        """The type of a memory: of a block, with all axes of the array."""
        block = memory.block
        if is_bool(block.array.dtype):
            raise self.refuse("arrays of bool have no rule; convert them to int32")
        if not block.sizes:
            raise self.refuse("arrays without axes have no rule; give them an axis of length 1")
        lengths = "x".join(map(str, block.sizes))
        space = block.space or "vmem"
        element = self.element(block.array.dtype)
        return f"memref<{lengths}x{element}, #tpu.memory_space<{space}>>"

    def places(self, view: View) -> str:
        """The indices of the first element of a view."""
        found = []
        for d in view.dims:
            at = self.raw(f"arith.constant {d.start} : index")
            for x in d.terms:
                term = self.raw(f"arith.index_cast {x} : i32 to index")
                at = self.raw(f"arith.addi {at}, {term} : index")
            if d.stride != 1:
                raise self.refuse("parts with a stride have no rule")
            found.append(at)
        return ", ".join(found)

    def load(self, view: View) -> Val:
        """Load a view: from SMEM a scalar."""
        text, at = self.memory_text(view.memory), self.places(view)
        if view.memory.block.space == "smem":
            self.only_scalars(view.dims)
            scalar = self.op(
                f"memref.load {view.memory.name}[{at}] : {text}", view.type.update(shape=())
            )
            return self.cast(scalar, view.type.shape)
        self.only_vmem(view.memory)
        type = view.type.update(shape=tuple(d.size for d in view.dims))
        x = self.op(f"vector.load {view.memory.name}[{at}] : {text}, {self.text(type)}", type)
        return self.cast(x, view.type.shape)

    def store(self, view: View, value: Val) -> None:
        """Store a block."""
        text, at = self.memory_text(view.memory), self.places(view)
        if view.memory.block.space == "smem":
            self.only_scalars(view.dims)
            scalar = self.cast(value, ())
            self.lines.append(f"memref.store {scalar}, {view.memory.name}[{at}] : {text}")
            return
        self.only_vmem(view.memory)
        x = self.cast(value, tuple(d.size for d in view.dims))
        self.lines.append(
            f"vector.store {x}, {view.memory.name}[{at}] : {text}, {self.text(x.type)}"
        )

    def only_scalars(self, dims: Sequence[Dim]) -> None:
        """Raise where more than an element of SMEM is asked for."""
        if any(d.size != 1 for d in dims):
            raise self.refuse("SMEM can only be read and written by elements")

    def only_vmem(self, memory: Memory) -> None:
        """Raise for arrays that were left where they are."""
        if memory.block.space not in ("", "vmem"):
            raise self.refuse(f"copies from and to {memory.block.space!r} have no rule")


_rule: Final = partial(rule, table=_RULES)


@_rule(shape.broadcast_in_dim)
def mosaic_broadcast(
    w: MosaicWriter,
    types: Sequence[ShapedArray],
    x: Val,
    *,
    shape: tuple[int, ...],
    dims: tuple[int, ...],
) -> Val:
    if not x.type.shape:
        return w.spread(x, shape)
    lengths = [1] * len(shape)
    for d, n in zip(dims, x.type.shape, strict=True):
        lengths[d] = n
    x = w.cast(x, tuple(lengths))
    if x.type.shape == shape:
        return x
    type = types[0]
    return w.op(f"vector.broadcast {x} : {w.text(x.type)} to {w.text(type)}", type)


@_rule(shape.reshape)
def mosaic_reshape(
    w: MosaicWriter, types: Sequence[ShapedArray], x: Val, *, shape: tuple[int, ...]
) -> Val:
    return w.cast(x, shape)


@_rule(shape.transpose)
def mosaic_transpose(
    w: MosaicWriter, types: Sequence[ShapedArray], x: Val, *, permutation: tuple[int, ...]
) -> Val:
    order = ", ".join(map(str, permutation))
    text = f'"tpu.transpose"({x}) {{permutation = array<i64: {order}>}}'
    return w.op(f"{text} : ({w.text(x.type)}) -> {w.text(types[0])}", types[0])


@_rule(shape.slice)
def mosaic_slice(
    w: MosaicWriter,
    types: Sequence[ShapedArray],
    x: Val,
    *,
    start: tuple[int, ...],
    limit: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Val:
    sizes = types[0].shape
    told = {"offsets": start, "sizes": sizes, "strides": strides or (1,) * len(start)}
    given = ", ".join(f"{name} = [{', '.join(map(str, v))}]" for name, v in told.items())
    texts = f"{w.text(x.type)} to {w.text(types[0])}"
    return w.op(f"vector.extract_strided_slice {x} {{{given}}} : {texts}", types[0])


@_rule(shape.concatenate)
def mosaic_concatenate(w: MosaicWriter, types: Sequence[ShapedArray], *xs: Val, axis: int) -> Val:
    ins = ", ".join(w.text(x.type) for x in xs)
    names = ", ".join(map(str, xs))
    text = f'"tpu.concatenate"({names}) {{dimension = {axis} : i32}}'
    return w.op(f"{text} : ({ins}) -> {w.text(types[0])}", types[0])


@_rule(shape.iota)
def mosaic_iota(
    w: MosaicWriter,
    types: Sequence[ShapedArray],
    *,
    dtype: Any,
    shape: tuple[int, ...],
    dimension: int,
) -> Val:
    lengths = shape if len(shape) > 1 else (1, *shape)
    at = dimension + len(lengths) - len(shape)
    type = types[0].update(shape=lengths, dtype="int32")
    x = w.op(f"tpu.iota {{dimensions = array<i32: {at}>}} : {w.text(type)}", type)
    return convert(w, w.cast(x, shape), types[0])


_KINDS: Final = {
    reduction.reduce_sum: ("add", "add", 0),
    reduction.reduce_max: ("maximumf", "maxsi", "lowest"),
    reduction.reduce_min: ("minimumf", "minsi", "highest"),
    reduction.reduce_prod: ("mul", "mul", 1),
}


def _fill_reduction(effect: Effect, kinds: tuple[str, str, Any]) -> None:
    @_rule(effect)
    def mosaic_reduce(
        w: MosaicWriter, types: Sequence[ShapedArray], x: Val, *, axes: tuple[int, ...]
    ) -> Val:
        y = wide(w, x)[0] if is_float(x.type.dtype) else x
        out = types[0].update(dtype=y.type.dtype)
        if not out.shape:  # Mosaic reads a scalar from a vector of one element
            y = w.cast(y, (1, *y.type.shape))
            axes = tuple(a + 1 for a in axes)
            out = out.update(shape=(1,))
        name, integer, begin = kinds
        known = {"lowest": reduction.lowest, "highest": reduction.highest}
        value = known[begin](y.type.dtype) if begin in known else begin
        first = w.constant(value, out)
        along = ", ".join(map(str, sorted(axes)))
        kind = name if is_float(y.type.dtype) else integer
        texts = f"{w.text(y.type)} to {w.text(out)}"
        text = f"vector.multi_reduction <{kind}>, {y}, {first} [{along}] : {texts}"
        found = w.op(text, out)
        if not types[0].shape:
            found = w.cast(w.cast(found, (1,) * len(y.type.shape)), ())
        return convert(w, found, types[0])


for _effect, _found in _KINDS.items():
    _fill_reduction(_effect, _found)


@_rule(contraction.dot_general)
def mosaic_dot(
    w: MosaicWriter,
    types: Sequence[ShapedArray],
    a: Val,
    b: Val,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
) -> Val:
    (ac, bc), (ab, bb) = dimension_numbers
    if len(a.type.shape) < 2 or len(b.type.shape) < 2:
        raise w.refuse("Mosaic has only products of matrices of 'dot_general'")
    free = [
        [i for i in range(len(x.type.shape)) if i not in (*c, *batch)]
        for x, c, batch in ((a, ac, ab), (b, bc, bb))
    ]
    order = [
        n for side, dims in ((0, ab), (0, free[0]), (1, free[1])) for i in dims for n in (side, i)
    ]
    lists = (ac, bc, free[0], free[1], order, ab, bb)
    numbers = ",".join(f"[{', '.join(map(str, x))}]" for x in lists)
    out = types[0]
    sums = out if bit_width(out.dtype) >= 32 else out.update(dtype="float32")
    told = f"dimension_numbers = #tpu.dot_dimension_numbers<{numbers}>, transpose_lhs_hint = false"
    if is_highest(precision):
        told += ", precision = #tpu.contract_precision<fp32>"
    texts = f"({w.text(a.type)}, {w.text(b.type)}, {w.text(sums)}) -> {w.text(sums)}"
    found = w.op(f'"tpu.matmul"({a}, {b}, {zeros(w, sums)}) {{{told}}} : {texts}', sums)
    return convert(w, found, out)


fill_unary(transcendental.tanh, "math.tanh", _RULES)
fill_unary(transcendental.log1p, "math.log1p", _RULES)
fill_unary(transcendental.tan, "math.tan", _RULES)


@_rule(transcendental.expm1)
def mosaic_expm1(w: MosaicWriter, types: Sequence[ShapedArray], x: Val, **_: Any) -> Val:
    y, back = wide(w, x)
    up = w.simple("math.exp", [y], y.type)
    return convert(w, binary(w, elementwise.sub, up, w.constant(1, y.type)), back)


@_rule(elementwise.pow)
def mosaic_pow(w: MosaicWriter, types: Sequence[ShapedArray], x: Val, y: Val) -> Val:
    base, back = wide(w, x)
    return convert(w, w.simple("math.powf", [base, convert(w, y, base.type)], base.type), back)
