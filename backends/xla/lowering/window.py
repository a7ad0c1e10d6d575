"""Windows in StableHLO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.lowering.elementwise import barrier, compare, maximum, minimum
from effax.backends.xla.lowering.reduction import Combine, add, select
from effax.backends.xla.lowering.shape import listed
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows import window
from effax.effects.rows.reduction import highest, lowest
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic


def numbers(values: Sequence[int]) -> str:
    """`array<i64: 1, 2>`."""
    return f"array<i64{': ' if values else ''}{listed(values)[1:-1]}>"


def pairs(values: Sequence[tuple[int, int]]) -> str:
    """`dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>`."""
    inside = f"[{', '.join(listed(p) for p in values)}]" if values else ""
    return f"dense<{inside}> : tensor<{len(values)}x2xi64>"


def _may_hide_one(length: Any, window: int, stride: int, padding: tuple[int, int]) -> bool:
    """Whether XLA (of jaxlib 0.10.2) may get an axis wrong if it is one element amid padding.

    It gives every window the element of an axis of length 1 that was padded on both sides alike, if
    each window would hold it but for the padding of the windows themselves.
    """
    known = type(length) is int and length % 2 == 1 and length > 1
    return known and stride == 1 and window > length // 2 and tuple(padding) != (0, 0)


def reduce_window_text(
    w: Writer,
    types: Sequence[ShapedArray],
    operands: Sequence[Name],
    inits: Sequence[Name],
    write: Callable[..., Sequence[Name]],
    *,
    window_dimensions: window.Lengths,
    window_strides: window.Lengths,
    padding: window.Padding,
    base_dilation: window.Lengths,
    window_dilation: window.Lengths,
) -> list[Name]:
    """A `stablehlo.reduce_window` of several operands at once; `write(*accumulated, *next)`."""
    lengths = (*window_dimensions, *window_strides, *base_dilation, *window_dilation)
    if w.unknowns and is_symbolic((*lengths, *[n for pair in padding for n in pair])):
        return w.symbolic.reduce_window(
            w,
            types,
            operands,
            inits,
            write,
            window_dimensions=window_dimensions,
            window_strides=window_strides,
            padding=padding,
            base_dilation=base_dilation,
            window_dilation=window_dilation,
        )
    shape = operands[0].shape
    if any(map(_may_hide_one, shape, window_dimensions, window_strides, padding)):
        operands = barrier(w, operands)
    scalars = [x.type for x in inits]
    region = w.region([*scalars, *scalars], write, "stablehlo.return")
    ins = ", ".join(x.text for x in (*operands, *inits))
    text = (
        f'"stablehlo.reduce_window"({", ".join((*operands, *inits))}) ({region}) '
        f"{{window_dimensions = {numbers(window_dimensions)}, "
        f"window_strides = {numbers(window_strides)}, "
        f"base_dilations = {numbers(base_dilation)}, "
        f"window_dilations = {numbers(window_dilation)}, "
        f"padding = {pairs(padding)}}} : ({ins}) -> ({', '.join(map(tensor, types))})"
    )
    return w.ops(text, types)


def _lower_with(effect: Effect, identity: Callable[[Any], Any], combine: Combine) -> None:
    @rule(effect)
    def lower_window(w: Writer, types: Sequence[ShapedArray], x: Name, **parameters: Any) -> Name:
        init = w.constant(identity(x.dtype), ShapedArray((), x.dtype))
        return reduce_window_text(
            w, types, [x], [init], lambda a, b: [combine(w, a, b)], **parameters
        )[0]


_lower_with(window.reduce_window_sum, lambda _: 0, add)
_lower_with(window.reduce_window_max, lowest, maximum)
_lower_with(window.reduce_window_min, highest, minimum)


@rule(window.reduce_window)
def lower_reduce_window(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, body: Program, **parameters: Any
) -> list[Name]:
    n = len(operands) // 2
    return reduce_window_text(
        w, types, operands[:n], operands[n:], lambda *s: w.body(body, s), **parameters
    )


def _last(chosen: str, dtype: Any) -> Any:
    """Return the value that is chosen only if there is no other."""
    return lowest(dtype) if chosen == "ge" else highest(dtype)


@rule(window.select_and_gather_add)
def lower_select_and_gather_add(
    w: Writer,
    types: Sequence[ShapedArray],
    tangents: Name,
    x: Name,
    *,
    select: str,
    **parameters: Any,
) -> Name:
    """Pairs (element, tangent), reduced by the element."""
    scalar = ShapedArray((), x.dtype)
    inits = [w.constant(_last(select, x.dtype), scalar), w.constant(0, scalar)]

    def pick(best: Name, its: Name, new: Name, theirs: Name) -> list[Name]:
        keep = compare(w, select.upper(), best, new)
        return [choose(w, keep, best, new), choose(w, keep, its, theirs)]

    pair = [types[0].update(dtype=x.dtype), types[0]]
    return reduce_window_text(w, pair, [x, tangents], inits, pick, **parameters)[1]


@rule(window.select_and_scatter_add)
def lower_select_and_scatter_add(
    w: Writer,
    types: Sequence[ShapedArray],
    source: Name,
    x: Name,
    *,
    select: str,
    window_dimensions: window.Lengths,
    window_strides: window.Lengths,
    padding: window.Padding,
) -> Name:
    """Padded and cropped by hand for CPUs and GPUs, where XLA crashes on padded windows here.

    A TPU's takes them, and wants two axes along which windows have length 1: such axes are put
    before.
    """
    still = list(zip(window_dimensions, window_strides, strict=True)).count((1, 1))
    if w.platform == "tpu" and still < 2:
        ones = (1,) * (2 - still)
        wide = types[0].update(shape=(*ones, *types[0].shape))
        found = lower_select_and_scatter_add(
            w,
            [wide],
            _reshaped(w, source, (*ones, *source.shape)),
            _reshaped(w, x, (*ones, *x.shape)),
            select=select,
            window_dimensions=(*ones, *window_dimensions),
            window_strides=(*ones, *window_strides),
            padding=(*[(0, 0)] * len(ones), *padding),
        )
        return _reshaped(w, found, types[0].shape)
    scalar = ShapedArray((), x.dtype)
    out = types[0]
    inside = padding if w.platform == "tpu" else ((0, 0),) * len(padding)
    if padding != inside:
        lengths = zip(x.shape, padding, strict=True)
        wide = out.update(shape=tuple(n + lo + hi for n, (lo, hi) in lengths))
        low, high = listed(p[0] for p in padding), listed(p[1] for p in padding)
        last = w.constant(_last(select, x.dtype), scalar)
        x = w.op(
            f"stablehlo.pad {x}, {last}, low = {low}, high = {high}, "
            f"interior = {listed([0] * len(padding))} : ({x.text}, {last.text}) -> {tensor(wide)}",
            wide,
        )
    chooser = w.region(
        [scalar, scalar], lambda a, b: [compare(w, select.upper(), a, b)], "stablehlo.return"
    )
    adder = w.region([scalar, scalar], lambda a, b: [add(w, a, b)], "stablehlo.return")
    zero = w.constant(0, scalar)
    result = w.op(
        f'"stablehlo.select_and_scatter"({x}, {source}, {zero}) ({chooser}, {adder}) '
        f"{{window_dimensions = {numbers(window_dimensions)}, "
        f"window_strides = {numbers(window_strides)}, "
        f"padding = {pairs(inside)}}} : "
        f"({x.text}, {source.text}, {zero.text}) -> {x.text}",
        x.type,
    )
    if x.shape == out.shape:
        return result
    if is_symbolic(out.shape):
        return w.symbolic.box(w, result, [lo for lo, _ in padding], out)
    box = ", ".join(f"{lo}:{lo + n}:1" for n, (lo, _) in zip(out.shape, padding, strict=True))
    return w.op(f"stablehlo.slice {result} [{box}] : ({x.text}) -> {tensor(out)}", out)


def _reshaped(w: Writer, x: Name, shape: Sequence[int]) -> Name:
    return w.simple("reshape", [x], x.type.update(shape=tuple(shape)))


# Rules with a parameter called `select` can't see the function of that name; they use this.
choose = select
