"""Checks in StableHLO: XLA can't answer them; what nobody need answer vanishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.check import NAN, check, debug_check, detect
from effax.effects.errors import UnhandledEffectError
from effax.effects.frames import describe
from effax.effects.types import ShapedArray, bool_, int32, is_float, is_integer


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


@rule(detect)
def lower_detect(
    w: Writer,
    types: Sequence[ShapedArray],
    *xs: Name,
    what: tuple[str, ...],
    lanes: int,
) -> list[Name]:
    """The questions are asked in a branch, which fusion does not enter.

    XLA:CPU would otherwise fuse all that leads to an array into each question about it: quadratic
    in the length of a chain, in time to compile and to run. Which branch is taken depends on data
    that the compiler doesn't know; it is always the first. On other platforms a branch costs more
    than it saves.
    """

    def ask() -> list[Name]:
        return [_any(w, t, x, q, lanes) for t, x, q in zip(types, xs, what, strict=True)]

    seen = next((x for x in xs if 1 < x.type.size), None)
    if w.platform != "cpu" or seen is None:
        return ask()
    never = _never(w, seen)
    asked = w.region((), ask, "stablehlo.return")
    other = w.region((), lambda: [_all_like(w, never, t) for t in types], "stablehlo.return")
    outs = ", ".join(map(tensor, types))
    return w.ops(f'"stablehlo.case"({never}) ({asked}, {other}) : (tensor<i32>) -> ({outs})', types)


def _any(w: Writer, type: ShapedArray, x: Name, what: str, lanes: int) -> Name:
    """Whether an element of x is what is looked for, over all but the first axes."""
    bits = x.type.update(dtype=bool_, weak_type=False)
    if what == NAN:
        found = _compare(w, "NE", x, x, bits)
    else:
        found = _compare(w, "EQ", x, w.constant(0, x.type), bits)
    if x.type.ndim == lanes:
        return found
    axes = ", ".join(map(str, range(lanes, x.type.ndim)))
    no = w.constant(False, ShapedArray((), bool_))
    return w.op(
        f"stablehlo.reduce({found} init: {no}) applies stablehlo.or across dimensions = [{axes}] : "
        f"({found.text}, {no.text}) -> {tensor(type)}",
        type,
    )


def _never(w: Writer, x: Name) -> Name:
    """The integer 0, computed from an element of x in a way that the compiler does not see through:
    the element is NaN and positive, or its lowest bit is more than one."""
    one = ShapedArray((1,) * x.type.ndim, x.type.dtype)
    scalar = ShapedArray((), x.type.dtype)
    box = ", ".join(["0:1"] * x.type.ndim)
    first = w.op(f"stablehlo.slice {x} [{box}] : ({x.text}) -> {tensor(one)}", one)
    first = w.simple("reshape", [first], scalar)
    yes = ShapedArray((), bool_)
    if is_float(x.dtype):
        nan = _compare(w, "NE", first, first, yes)
        positive = _compare(w, "GT", first, w.constant(0, scalar), yes)
        never = w.simple("and", [nan, positive], yes)
    elif is_integer(x.dtype):
        unit = w.constant(1, scalar)
        never = _compare(w, "GT", w.simple("and", [first, unit], scalar), unit, yes)
    else:
        never = w.constant(False, yes)
    index = ShapedArray((), int32)
    return w.op(f"stablehlo.convert {never} : ({never.text}) -> {tensor(index)}", index)


def _all_like(w: Writer, number: Name, type: ShapedArray) -> Name:
    flag = w.op(
        f"stablehlo.convert {number} : ({number.text}) -> tensor<i1>", ShapedArray((), bool_)
    )
    return w.op(
        f"stablehlo.broadcast_in_dim {flag}, dims = [] : (tensor<i1>) -> {tensor(type)}", type
    )


def _compare(w: Writer, how: str, x: Name, y: Name, type: ShapedArray) -> Name:
    return w.op(f"stablehlo.compare {how}, {x}, {y} : ({x.text}, {y.text}) -> {tensor(type)}", type)
