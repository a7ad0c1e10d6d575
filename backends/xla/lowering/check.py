"""Checks in StableHLO: XLA can't answer them; what nobody need answer vanishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.check import any_nan, check, debug_check
from effax.effects.errors import UnhandledEffectError
from effax.effects.frames import describe
from effax.effects.types import ShapedArray


@rule(check)
def lower_check(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, site: Any
) -> list[Name]:
    raise UnhandledEffectError(
        f"the check at {describe(site.frame)} can't be compiled as it is: wrap the function in "
        "checkify.checkify, which answers it, before jit"
    )


@rule(debug_check)
def lower_debug_check(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, site: Any
) -> list[Name]:
    return []


@rule(any_nan)
def lower_any_nan(w: Writer, types: Sequence[ShapedArray], x: Name, *, lanes: int) -> Name:
    (type,) = types
    import os
    n = x.type.ndim
    if n == lanes:
        return w.op(f"stablehlo.compare NE, {x}, {x} : ({x.text}, {x.text}) -> {tensor(type)}", type)
    V = os.environ.get("V", "conv")
    k = x.type.size
    dt = x.type.dtype
    ft = ShapedArray((k,), dt)
    y = x if ft is x.type else w.simple("reshape", [x], ft)
    bt = ShapedArray((k,), type.dtype)
    def red(y):
        ne = w.op(f"stablehlo.compare NE, {y}, {y} : ({y.text}, {y.text}) -> {tensor(bt)}", bt)
        f = w.constant(False, type)
        return w.op(f"stablehlo.reduce({ne} init: {f}) applies stablehlo.or across dimensions = [0] : ({ne.text}, {f.text}) -> {tensor(type)}", type)
    if V == "conv":
        a = w.simple("reshape", [y], ShapedArray((1, k, 1), dt))
        one = w.constant(1, ShapedArray((1, 1, 1), dt))
        st = ShapedArray((1, 1, 1), dt)
        d = w.op(f"stablehlo.convolution({a}, {one}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{stride = [{k}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({a.text}, {one.text}) -> {tensor(st)}", st)
        s = w.simple("reshape", [d], ShapedArray((), dt))
        q = w.op(f"stablehlo.compare NE, {s}, {s} : ({s.text}, {s.text}) -> {tensor(type)}", type)
        return w.simple("or", [red(y), q], type)
    if V == "case":
        i32 = ShapedArray((), "int32")
        one = ShapedArray((1,), dt)
        h = w.op(f"stablehlo.slice {y} [0:1] : ({y.text}) -> {tensor(one)}", one)
        h = w.simple("reshape", [h], ShapedArray((), dt))
        a = w.op(f"stablehlo.compare NE, {h}, {h} : ({h.text}, {h.text}) -> {tensor(type)}", type)
        z = w.constant(0, h.type)
        b = w.op(f"stablehlo.compare GT, {h}, {z} : ({h.text}, {h.text}) -> {tensor(type)}", type)
        c = w.simple("and", [a, b], type)
        idx = w.op(f"stablehlo.convert {c} : ({c.text}) -> {tensor(i32)}", i32)
        r0 = w.region((), lambda: [red(y)], "stablehlo.return")
        r1 = w.region((), lambda: [w.op(f"stablehlo.compare GT, {h}, {h} : ({h.text}, {h.text}) -> {tensor(type)}", type)], "stablehlo.return")
        return w.op(f'"stablehlo.case"({idx}) ({r0}, {r1}) : ({tensor(i32)}) -> {tensor(type)}', type)
    if V == "red":
        return red(y)
