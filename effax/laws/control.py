"""Kinds of steps that hold programs: calls, branches and loops, with bodies drawn in their turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from hypothesis import strategies as st

from effax.effects.rows import comparison, control, conversion, elementwise, logical, reduction
from effax.effects.types import ShapedArray, int32, is_float
from effax.laws.builder import Builder, Known
from effax.laws.kinds_state import reference
from effax.laws.sketch import Sketch

_INDEX: Final = ShapedArray((), int32)
_STEPS: Final = 3


def some_floats(b: Builder, least: int = 1, most: int = 2) -> list[Known]:
    """Different float values of small size."""
    found = b.of(lambda k: is_float(k.type.dtype))
    n = b.draw(st.integers(min(least, len(found)), min(most, len(found))))
    chosen = b.draw(st.lists(st.sampled_from(found), min_size=n, max_size=n))
    return [b.small(x) for x in chosen]


def body_of(b: Builder, operands: list[ShapedArray], results: list[ShapedArray]) -> Sketch:
    """A sketch between given types, its float results not larger than its inputs may be."""
    inner = b.inner(operands, _STEPS)
    outputs = []
    for t in results:
        peers = inner.of_type(t) or inner.of(lambda k: is_float(k.type.dtype))
        found = inner.fitted(inner.draw(st.sampled_from(peers)), t)
        outputs.append(inner.small(found, 2.0))
    return inner.sketch(outputs, "body")


def call(b: Builder) -> None:
    """A call of a program."""
    _call(b, control.call, {"name": "inner"})


def remat(b: Builder) -> None:
    """A call that is computed again in the backward pass."""
    _call(b, control.remat, {"policy": None, "name": "inner", "prevent_cse": True})


def _call(b: Builder, effect: object, attributes: dict[str, object]) -> None:
    operands = [b.small(x, 2.0) for x in some_floats(b)]
    if not operands:
        return
    types = [x.type for x in operands]
    body = body_of(b, types, [b.draw(st.sampled_from(types))])
    b.perform(effect, *operands, program=body, bound=2.0, **attributes)  # type: ignore[arg-type]


def _scalar(b: Builder, x: Known) -> Known:
    if not x.shape:
        return x
    n = max(1, x.type.size)
    axes = tuple(range(len(x.shape)))
    return b.perform(reduction.reduce_sum, x, axes=axes, bound=n * x.bound)


def cond(b: Builder) -> None:
    """One of two or three branches, chosen by a comparison or by an integer."""
    operands = [b.small(x, 2.0) for x in some_floats(b)]
    if not operands:
        return
    index = b.pick(lambda k: k.type is _INDEX)
    if index is None or b.draw(st.booleans()):
        below = b.perform(comparison.lt, _scalar(b, operands[0]), 0.3)
        index = b.perform(conversion.convert_element_type, below, dtype=int32, bound=1)
    types = [x.type for x in operands]
    results = [b.draw(st.sampled_from(types))]
    branches = tuple(body_of(b, types, results) for _ in range(b.draw(st.integers(1, 3))))
    b.perform(control.cond, index, *operands, branches=branches, bound=2.0)


def scan(b: Builder) -> None:
    """A loop over the rows of values, with a carry."""
    carry = [b.small(x, 2.0) for x in some_floats(b, 0, 2)]
    consts = [b.small(x, 2.0) for x in some_floats(b, 0, 1)]
    rows = b.of(lambda k: is_float(k.type.dtype) and len(k.shape) > 0)
    some = bool(rows) and b.draw(st.booleans())
    xs = [b.small(b.draw(st.sampled_from(rows)), 2.0)] if some else []
    length = xs[0].shape[0] if xs else b.draw(st.integers(0, 3))
    row_types = [x.type.update(shape=x.shape[1:]) for x in xs]
    types = [*(x.type for x in consts), *(x.type for x in carry), *row_types]
    if not types:
        return
    results = [x.type for x in carry]
    if not results or b.draw(st.booleans()):
        results = [*results, b.draw(st.sampled_from(types))]
    body = body_of(b, types, results)
    b.perform(
        control.scan,
        *consts,
        *carry,
        *xs,
        body=body,
        consts=len(consts),
        carry=len(carry),
        length=length,
        reverse=b.draw(st.booleans()),
        unroll=1,
        bound=2.0,
    )


def while_loop(b: Builder) -> None:
    """A loop of a few steps, that may end earlier when a value is large."""
    while_of(b, b)


def while_of(b: Builder, within: Builder, **attributes: int) -> None:
    """Such a loop, the steps of its body drawn as `within` would."""
    carry = [b.small(x, 2.0) for x in some_floats(b, 1, 2)]
    consts = [b.small(x, 2.0) for x in some_floats(b, 0, 1)]
    if not carry:
        return
    types = [_INDEX, *(x.type for x in carry)]
    test = Builder(b.draw, types, 0, frozenset(), b.grammar)
    verdict = test.perform(comparison.lt, test.known[0], b.draw(st.integers(0, 3)))
    if b.draw(st.booleans()):
        small = test.perform(comparison.lt, _scalar(test, test.known[1]), 1.7)
        verdict = test.perform(logical.and_, verdict, small)
    body_types = [*(x.type for x in consts), *types]
    inner = within.inner(body_types, _STEPS)
    count = inner.perform(elementwise.add, inner.known[len(consts)], 1, bound=4)
    outputs = [count]
    for t in types[1:]:
        peers = inner.of_type(t)
        outputs.append(inner.small(inner.draw(st.sampled_from(peers)), 2.0))
    b.perform(
        control.while_loop,
        *consts,
        np.int32(0),
        *carry,
        cond=test.sketch([verdict], "test"),
        body=inner.sketch(outputs, "body"),
        cond_consts=0,
        body_consts=len(consts),
        bound=4.0,
        **attributes,
    )


CONTROL: Final[dict[str, Callable[[Builder], None]]] = {
    "call": call,
    "remat": remat,
    "cond": cond,
    "scan": scan,
    "while": while_loop,
    "state": reference,
}
"""The kinds of steps that hold programs, by the name under which they are asked for."""
