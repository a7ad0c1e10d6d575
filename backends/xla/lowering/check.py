"""Checks in StableHLO: XLA can't answer them; what nobody need answer vanishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla.lowering.reduction import reduce_text
from effax.backends.xla.lowering.replay import again
from effax.backends.xla.lowering.writer import Name, Writer, rule, tensor
from effax.effects.errors import UnhandledEffectError
from effax.effects.frames import describe
from effax.effects.rows.check import NAN, check, debug_check, detect
from effax.effects.types import ShapedArray, bool_, int32, is_float, is_integer, uint32


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
    that the compiler doesn't know; it is always the first. Inside, what is covered is computed
    again and asked only if something that isn't is found. On other platforms a branch costs more
    than it saves.
    """
    large = next((x for x in xs if x.type.size > 1), None)
    if w.platform != "cpu" or large is None:
        return [_any(w, t, x, q, lanes) for t, x, q in zip(types, xs, what, strict=True)]
    places = [i for i, c in enumerate(covered) if not c]
    rest = [i for i, c in enumerate(covered) if c]

    def ask_first() -> list[Name]:
        return [_any(w, types[i], xs[i], what[i], lanes) for i in places]

    seen = next((xs[i] for i in places if xs[i].type.size > 1), None)
    some = [types[i] for i in places]
    found = ask_first() if seen is None else _branch(w, _never(w, seen), ask_first, some)
    if rest:
        found += _ask_again(w, found, [(xs[i], what[i], types[i]) for i in rest], rest, lanes)
    return [found[k] for k in np.argsort([*places, *rest])]


_WORD: Final = 32
"""Answers about as many arrays are the bits of one number."""


def _ask_again(
    w: Writer,
    flags: Sequence[Name],
    questions: Sequence[tuple[Name, str, ShapedArray]],
    places: Sequence[int],
    lanes: int,
) -> list[Name]:
    """Compute the answers about the arrays at these places again if a flag is up.

    Time does not matter there, but the length of the program does: for arrays of one shape a
    single loop computes them, and a bit for each.
    """
    if w.mesh is not None:  # CPUs of a mesh can't combine integers whose bits are flags
        return _if_any(
            w,
            flags,
            lambda: [_any(w, t, x, q, lanes) for x, q, t in questions],
            [t for _, _, t in questions],
        )
    names, what = [x for x, _, _ in questions], [q for _, q, _ in questions]
    shapes = dict.fromkeys(x.shape for x in names)
    groups = [_words([i for i, x in enumerate(names) if x.shape == shape]) for shape in shapes]
    replayed = again(w, [w.equation.inputs[i] for i in places])

    def ask() -> list[Name]:
        xs, found = replayed(), []
        for group in groups:
            words = [_bits(w, [xs[i] for i in g], [what[i] for i in g]) for g in group]
            found += _any_bits(w, words, lanes)
        return found

    parts = [part for group in groups for part in group]
    types = [ShapedArray(names[part[0]].shape[:lanes], uint32) for part in parts]
    answers: list[Any] = [None] * len(names)
    for part, bits in zip(parts, _if_any(w, flags, ask, types), strict=True):
        zero, verdict = w.constant(0, bits.type), bits.type.update(dtype=bool_)
        for k, i in enumerate(part):
            one = w.same("stablehlo.and", (bits, w.constant(1 << k, bits.type)), bits.type)
            answers[i] = _compare(w, "NE", one, zero, verdict)
    return answers


def _words(places: Sequence[int]) -> list[Sequence[int]]:
    """The arrays that have a bit in each word; there are at least two words, of which the second
    may repeat the first, since XLA reduces several arrays at once in code that is faster to
    compile."""
    size = min(_WORD, -(-len(places) // 2))
    found = [places[i : i + size] for i in range(0, len(places), size)]
    return found if len(found) > 1 else found * 2


def _bits(w: Writer, xs: Sequence[Name], what: Sequence[str]) -> Name:
    """Numbers whose bit k is set where an element of array k is what is asked."""
    words, flags = (ShapedArray(xs[0].shape, d) for d in (uint32, bool_))
    zero, total = w.constant(0, words), None
    for k, (x, asked) in enumerate(zip(xs, what, strict=True)):
        how, other = ("NE", x) if asked == NAN else ("EQ", w.constant(0, x.type))
        found = _compare(w, how, x, other, flags)
        bit = w.constant(1 << k, words)
        bit = w.op(
            f"stablehlo.select {found!s}, {bit!s}, {zero!s} : {found.text}, {zero.text}", words
        )
        total = bit if total is None else w.same("stablehlo.or", (total, bit), words)
    assert total is not None  # the caller gives at least one array
    return total


def _any_bits(w: Writer, words: Sequence[Name], lanes: int) -> list[Name]:
    """The bits set anywhere, for each lane."""
    shape = words[0].shape
    if len(shape) == lanes:
        return list(words)
    zero = w.constant(0, ShapedArray((), uint32))
    of_lanes = [ShapedArray(shape[:lanes], uint32)] * len(words)

    def combine(*pairs: Name) -> list[Name]:
        n = len(words)
        return [
            w.same("stablehlo.or", pair, zero.type)
            for pair in zip(pairs[:n], pairs[n:], strict=True)
        ]

    axes = range(lanes, len(shape))
    return reduce_text(w, of_lanes, words, [zero] * len(words), axes, combine)


def _if_any(
    w: Writer, flags: Sequence[Name], ask: Callable[[], list[Name]], types: Sequence[ShapedArray]
) -> list[Name]:
    """Compute the answers if a flag is up; else all are False."""
    yes = ShapedArray((), bool_)
    total = None
    for flag in flags:
        if flag.type.ndim:
            flag = _reduce(w, "or", flag, w.constant(False, yes), 0, yes)
        total = flag if total is None else w.simple("or", [total, flag], yes)
    assert total is not None  # the covering site is among them
    none = w.simple("not", [total], yes)
    index = ShapedArray((), int32)
    which = w.op(f"stablehlo.convert {none} : ({none.text}) -> {tensor(index)}", index)
    return _branch(w, which, ask, types)


def _branch(
    w: Writer, index: Name, ask: Callable[[], list[Name]], types: Sequence[ShapedArray]
) -> list[Name]:
    """Compute the answers where the index is 0; else all are False."""
    asked = w.region((), ask, "stablehlo.return")
    other = w.region((), lambda: [w.constant(False, t) for t in types], "stablehlo.return")
    outs = ", ".join(map(tensor, types))
    return w.ops(f'"stablehlo.case"({index}) ({asked}, {other}) : (tensor<i32>) -> ({outs})', types)


def _any(w: Writer, type: ShapedArray, x: Name, what: str, lanes: int) -> Name:
    """Whether an element of x is what is looked for, over all but the first axes."""
    bits = x.type.update(dtype=bool_, weak_type=False)
    # Not the maximum: XLA:CPU's kernels lose a NaN among many elements.
    how, other = ("NE", x) if what == NAN else ("EQ", w.constant(0, x.type))
    found = _compare(w, how, x, other, bits)
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
