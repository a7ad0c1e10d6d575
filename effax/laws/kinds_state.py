"""Kinds of steps that make a reference, write it, here and inside loops and branches, and read it.

Seen from outside they are one step that gives a value: that the reference is there changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from effax.effects.rows import comparison, control, conversion, elementwise, state
from effax.effects.types import ShapedArray, int32, is_float
from effax.laws.builder import Builder, Known
from effax.laws.sketch import Sketch

_BOUND: Final = 2.0
_INDEX: Final = ShapedArray((), int32)


def reference(b: Builder) -> None:
    """A reference that is written once to three times, each time in another way."""
    x = b.a_float()
    if x is None:
        return
    ref = b.perform(state.new_ref, b.small(x, _BOUND), bound=_BOUND)
    for _ in range(b.draw(st.integers(1, 3))):
        ways = [way for name, way in _WAYS.items() if name in b.control or name == "here"]
        b.draw(st.sampled_from(ways))(b, ref, x.type)
    b.perform(state.ref_get, ref, bound=_BOUND)


def _write(b: Builder, ref: Known, type: ShapedArray) -> None:
    """Another value; or one made of what is there."""
    new = b.draw(st.sampled_from(b.of(lambda k: is_float(k.type.dtype))))
    value = b.small(b.fitted(new, type), _BOUND)
    if b.draw(st.booleans()):
        there = b.perform(state.ref_get, ref, bound=_BOUND)
        effect = b.draw(st.sampled_from((elementwise.add, elementwise.mul)))
        value = b.small(b.perform(effect, there, value, bound=2 * _BOUND), _BOUND)
    b.perform(state.ref_set, ref, value)


def _body(b: Builder, ref: Known, type: ShapedArray, *given: ShapedArray, writes: bool) -> Sketch:
    """A program that takes the reference and an array, and gives one of the array's type."""
    inner = b.inner([ref.type, *given, type], 2)
    own, last = inner.known[0], inner.known[len(given) + 1]
    if writes:
        _write(inner, own, type)
    there = inner.perform(state.ref_get, own, bound=_BOUND)
    result = inner.small(inner.perform(elementwise.mul, there, last, bound=4.0), _BOUND)
    return inner.sketch([result], "body")


def _operand(b: Builder, type: ShapedArray) -> Known:
    return b.small(b.of_type(type)[0], _BOUND)


def _in_call(b: Builder, ref: Known, type: ShapedArray) -> None:
    body = _body(b, ref, type, writes=b.draw(st.booleans()))
    b.perform(control.call, ref, _operand(b, type), program=body, name="inner", bound=_BOUND)


def _in_remat(b: Builder, ref: Known, type: ShapedArray) -> None:
    body = _body(b, ref, type, writes=True)
    b.perform(
        control.remat,
        ref,
        _operand(b, type),
        program=body,
        policy=None,
        name="inner",
        prevent_cse=True,
        bound=_BOUND,
    )


def _in_cond(b: Builder, ref: Known, type: ShapedArray) -> None:
    x = b.fitted(_operand(b, type), type.update(shape=()))
    below = b.perform(comparison.lt, x, 0.3)
    index = b.perform(conversion.convert_element_type, below, dtype=int32, bound=1)
    branches = tuple(_body(b, ref, type, writes=w) for w in (True, b.draw(st.booleans())))
    operand = _operand(b, type)
    b.perform(control.cond, index, ref, operand, branches=branches, bound=_BOUND)


def _in_scan(b: Builder, ref: Known, type: ShapedArray) -> None:
    b.perform(
        control.scan,
        ref,
        _operand(b, type),
        body=_body(b, ref, type, writes=b.draw(st.booleans())),
        consts=1,
        carry=1,
        length=b.draw(st.integers(0, 3)),
        reverse=b.draw(st.booleans()),
        unroll=1,
        bound=_BOUND,
    )


def _in_while(b: Builder, ref: Known, type: ShapedArray) -> None:
    test = Builder(b.draw, [_INDEX, type], 0, frozenset(), b.grammar)
    verdict = test.perform(comparison.lt, test.known[0], b.draw(st.integers(0, 3)))
    inner = b.inner([ref.type, _INDEX, type], 2)
    own, count, last = inner.known[:3]
    _write(inner, own, type)
    there = inner.perform(state.ref_get, own, bound=_BOUND)
    result = inner.small(inner.perform(elementwise.mul, there, last, bound=4.0), _BOUND)
    more = inner.perform(elementwise.add, count, 1, bound=4)
    b.perform(
        control.while_loop,
        ref,
        np.int32(0),
        _operand(b, type),
        cond=test.sketch([verdict], "test"),
        body=inner.sketch([more, result], "body"),
        cond_consts=0,
        body_consts=1,
        bound=4.0,
    )


_WAYS: Final[dict[str, Callable[[Builder, Known, Any], None]]] = {
    "here": _write,
    "call": _in_call,
    "remat": _in_remat,
    "cond": _in_cond,
    "scan": _in_scan,
    "while": _in_while,
}
"""Ways to write a reference, by the kind of control flow that it is written in."""
