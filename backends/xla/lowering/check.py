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
    V = os.environ.get("V", "1d")
    if V == "2d":
        batch = type.shape; k = x.type.size // max(1, __import__("math").prod(batch))
        ft = ShapedArray((*batch, k), x.type.dtype)
        y = x if ft is x.type else w.simple("reshape", [x], ft)
        a = w.simple("reshape", [y], ShapedArray((*batch, 1, k), x.type.dtype))
        st = ShapedArray((*batch, 1, 1), x.type.dtype)
        b = ", ".join(map(str, range(lanes)))
        d = w.op(f"stablehlo.dot_general {a}, {a}, batching_dims = [{b}] x [{b}], contracting_dims = [{lanes+1}] x [{lanes+1}] : ({a.text}, {a.text}) -> {tensor(st)}", st)
        s = w.simple("reshape", [d], ShapedArray(batch, x.type.dtype))
    else:
        b = ", ".join(map(str, range(lanes)))
        c = ", ".join(map(str, range(lanes, n)))
        st = ShapedArray(type.shape, x.type.dtype)
        s = w.op(f"stablehlo.dot_general {x}, {x}, batching_dims = [{b}] x [{b}], contracting_dims = [{c}] x [{c}] : ({x.text}, {x.text}) -> {tensor(st)}", st)
    return w.op(f"stablehlo.compare NE, {s}, {s} : ({s.text}, {s.text}) -> {tensor(type)}", type)
