"""Checks in StableHLO: XLA can't answer them; what nobody need answer vanishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.check import NAN, check, debug_check, detect
from effax.effects.errors import UnhandledEffectError
from effax.effects.frames import describe
from effax.effects.types import ShapedArray, bool_, int32, is_float, is_integer


@rule(check)
def lower_check(w: Writer, types: Sequence[ShapedArray], *operands: Name, site: Any) -> list[Name]:
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
    covered: tuple[bool, ...],
    lanes: int,
) -> list[Name]:
    """The questions are asked in a branch, which fusion does not enter.

    XLA:CPU would otherwise fuse all that leads to an array into each question about it: quadratic
    in the length of a chain, in time to compile and to run. Which branch is taken depends on data
    that the compiler doesn't know; it is always the first. Inside, what is covered is asked only
    if something that isn't is found. On other platforms a branch costs more than it saves.
    """

    def ask(wanted: bool) -> list[Name]:
        return [
            _any(w, t, x, q, lanes)
            for t, x, q, c in zip(types, xs, what, covered, strict=True)
            if c is wanted
        ]

    def ask_all() -> list[Name]:
        seen = ask(False)
        of_covered = [t for t, c in zip(types, covered, strict=True) if c]
        if not any(covered):
            return seen
        rest = _if_any(w, seen, lambda: ask(True), of_covered)
        answers = {False: iter(seen), True: iter(rest)}
        return [next(answers[c]) for c in covered]

    seen = next((x for x in xs if x.type.size > 1), None)
    if w.platform != "cpu" or seen is None:
        return [_any(w, t, x, q, lanes) for t, x, q in zip(types, xs, what, strict=True)]
    return _branch(w, _never(w, seen), ask_all, types)


def _if_any(
    w: Writer, flags: Sequence[Name], ask: Callable[[], list[Name]], types: Sequence[ShapedArray]
) -> list[Name]:
    """What is asked, if a flag is up; else all False."""
    yes = ShapedArray((), bool_)
    total = None
    for flag in flags:
        if flag.type.ndim:
            flag = _reduce(w, "or", flag, w.constant(False, yes), 0, yes)
        total = flag if total is None else w.simple("or", [total, flag], yes)
    assert total is not None  # what covers is among them
    none = w.simple("not", [total], yes)
    index = ShapedArray((), int32)
    which = w.op(f"stablehlo.convert {none} : ({none.text}) -> {tensor(index)}", index)
    return _branch(w, which, ask, types)


def _branch(
    w: Writer, index: Name, ask: Callable[[], list[Name]], types: Sequence[ShapedArray]
) -> list[Name]:
    """What is asked where the index is 0, else all False."""
    asked = w.region((), ask, "stablehlo.return")
    other = w.region((), lambda: [w.constant(False, t) for t in types], "stablehlo.return")
    outs = ", ".join(map(tensor, types))
    return w.ops(f'"stablehlo.case"({index}) ({asked}, {other}) : (tensor<i32>) -> ({outs})', types)


def _any(w: Writer, type: ShapedArray, x: Name, what: str, lanes: int) -> Name:
    """Whether an element of x is what is looked for, over all but the first axes."""
    bits = x.type.update(dtype=bool_, weak_type=False)
    if what == NAN:
        if x.type.ndim > lanes and w.mesh is not None:  # between CPUs maxima lose NaN
            flags = _compare(w, "NE", x, x, bits)
            return _reduce(w, "or", flags, w.constant(False, ShapedArray((), bool_)), lanes, type)
        if x.type.ndim > lanes:  # the maximum is NaN if an element is; XLA finds it fastest
            least = w.constant(float("-inf"), ShapedArray((), x.dtype))
            x = _reduce(w, "maximum", x, least, lanes, type.update(dtype=x.dtype))
        return _compare(w, "NE", x, x, type)
    found = _compare(w, "EQ", x, w.constant(0, x.type), bits)
    if x.type.ndim == lanes:
        return found
    return _reduce(w, "or", found, w.constant(False, ShapedArray((), bool_)), lanes, type)


def _reduce(w: Writer, operation: str, x: Name, init: Name, lanes: int, type: ShapedArray) -> Name:
    axes = ", ".join(map(str, range(lanes, x.type.ndim)))
    return w.op(
        f"stablehlo.reduce({x} init: {init}) applies stablehlo.{operation} across dimensions = "
        f"[{axes}] : ({x.text}, {init.text}) -> {tensor(type)}",
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


def _compare(w: Writer, how: str, x: Name, y: Name, type: ShapedArray) -> Name:
    return w.op(f"stablehlo.compare {how}, {x}, {y} : ({x.text}, {y.text}) -> {tensor(type)}", type)
