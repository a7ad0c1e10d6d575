"""Laws of effects that a handler answers: each is performed once, whatever derivative is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

import effax
from effax import extend
from effax.effects.effect import Effect
from effax.effects.rows import control, conversion, elementwise, shape
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.batch import batched as batch
from effax.interpreters.interpreter import Interpreter, State
from effax.laws.law import Case, law
from effax.laws.loops import repeated
from effax.seeing.python_text import program

_N: Final = 3
_INDEX: Final = ShapedArray((), np.dtype(np.int32))


def _counted(**_: Any) -> ShapedArray:
    return _INDEX


ask: Final = Effect("law_ask", family="laws", typing=_counted, row="law_ask")
"""`ask()`: how often it was asked before."""
batch.in_each_lane(ask)


@batch.rule(ask)
def ask_in_each_lane(handler: Any, values: Any, batched: Any) -> Any:
    lanes = [shape.expand_dims(ask(), (0,)) for _ in range(handler.size)]
    return shape.concatenate(*lanes, axis=0), True


divided: Final = Effect("law_divided", family="laws", typing=lambda x: x)
"""`divided(x)`: x by one more than an answer; what asks is what it is written out as."""


@extend.expand(divided, performs=[ask])
def divided_by_an_answer(x: Any) -> Any:
    return _divided(x, ask())


class AskedEffect(Interpreter):
    """Owns no value; counts the questions, and answers each with the number of those before."""

    count: State


@AskedEffect.rule(ask)
def count_questions(*, state: Any) -> Any:
    before = state.count
    state.count = elementwise.add(before, 1)
    return before


def _asking(c: Case, xs: Sequence[Any]) -> list[Any]:
    """A step that depends on an answer: the program's results, times 1 / (1 + answer)."""
    answer = ask()
    return [_divided(y, answer) for y in c.loop(*xs)]


def _divided(x: Any, answer: Any) -> Any:
    t = typeof(x)
    number = conversion.convert_element_type(answer, dtype=t.dtype, weak_type=False)
    more = elementwise.add(number, 1.0)
    return elementwise.div(x, shape.broadcast_in_dim(more, shape=t.shape, dims=()))


def _step(c: Case) -> Any:
    return program(lambda *xs: _asking(c, xs), *c.loop.types)


def _called(c: Case, xs: Sequence[Any]) -> Any:
    return control.call(*xs, program=_step(c), name="step")


def _recomputed(c: Case, xs: Sequence[Any]) -> Any:
    rule: dict[str, Any] = {"policy": None, "prevent_cse": True, "name": "step"}
    return control.remat(*xs, program=_step(c), **rule)


def _chosen(c: Case, xs: Sequence[Any]) -> Any:
    branches = (program(lambda *xs: list(xs), *c.loop.types), _step(c))
    return control.cond(c.lift(np.int32(1)), *xs, branches=branches)


def _scanned(c: Case, xs: Sequence[Any]) -> list[Any]:
    def step(carry: Any, _: Any) -> Any:
        return tuple(_recomputed(c, carry)), None

    return list(effax.lax.scan(step, tuple(xs), None, length=_N)[0])


def _written_out(c: Case, xs: Sequence[Any]) -> list[Any]:
    return [divided(xs[0]), *xs[1:]]


_PERFORMED: Final = (_called, _recomputed, _chosen, _written_out, _scanned)


def _through(c: Case) -> Any:
    """A function that asks inside of a call, a `remat`, a branch, an effect that is written out,
    and a loop over a `remat`."""

    def asks(*xs: Any) -> tuple[Any, ...]:
        found = list(xs)
        for perform in _PERFORMED:
            found = perform(c, found)
        return tuple(found)

    return asks


_TIMES: Final = len(_PERFORMED) - 1 + _N


def _answered(f: Any) -> Any:
    """The results of a function that asks, and how often it did."""

    def answered(*xs: Any) -> Any:
        results, states = AskedEffect.transform(f, count=np.int32(0))(*xs)
        return results, states["count"]

    return answered


def _values(f: Any) -> Any:
    return lambda *xs: _answered(f)(*xs)[0]


def _count(c: Case, n: int) -> Any:
    return c.lift(np.int32(n))


@law("T (jvp f) = jvp (T f), each question asked once", needs="loop")
def asked_once_by_jvp(c: Case) -> Any:
    args, u = tuple(c.values(c.loop)), tuple(c.values(c.loop, 1))
    one, count = _answered(lambda *xs: effax.jvp(_through(c), xs, u))(*args)
    return (one, count), (effax.jvp(_values(_through(c)), args, u), _count(c, _TIMES))


@law("T (vjp f) = vjp (T f), each question asked once", needs="loop, no while")
def asked_once_by_vjp(c: Case) -> Any:
    args, w = c.values(c.loop), tuple(c.values(c.loop, 2))
    one, count = _answered(lambda *xs: effax.vjp(_through(c), *xs)[1](w))(*args)
    return (one, count), (effax.vjp(_values(_through(c)), *args)[1](w), _count(c, _TIMES))


@law("T (linearize f) = linearize (T f), each question asked once", needs="loop, no while")
def asked_once_by_linearize(c: Case) -> Any:
    args, u = c.values(c.loop), tuple(c.values(c.loop, 1))
    one, count = _answered(lambda *xs: effax.linearize(_through(c), *xs)[1](*u))(*args)
    return (one, count), (effax.linearize(_values(_through(c)), *args)[1](*u), _count(c, _TIMES))


@law("the lanes of a Jacobian share what was answered", needs="loop, no while")
def asked_once_by_jacobians(c: Case) -> Any:
    args, many = c.values(c.loop), tuple(range(len(c.loop.types)))
    forward, reverse = effax.jacfwd(_through(c), many), effax.jacrev(_through(c), many)
    one, first = _answered(forward)(*args)
    other, second = _answered(reverse)(*args)
    return (one, first, second), (other, _count(c, _TIMES), _count(c, _TIMES))


@law("the lanes of a vmap ask each for itself", needs="loop")
def asked_in_each_lane(c: Case) -> Any:
    def f(x: Any, *_: Any) -> Any:
        return ask()

    args = [c.lift(np.stack([np.asarray(x)] * 2)) for x in c.values(c.loop)]
    return _answered(effax.vmap(f))(*args), (c.lift(np.arange(2, dtype=np.int32)), _count(c, 2))


@law("T (vjp f) = vjp (T f), f carries answers that no tangent needs", needs="loop, no while")
def carried_once_by_checkpoints(c: Case) -> Any:
    def f(*xs: Any) -> tuple[Any, ...]:
        def step(state: Any) -> Any:
            i, answers, xs = state
            return i + 1, answers + ask(), tuple(_called_without_answers(c, xs))

        start = c.lift(np.int32(0)), c.lift(np.int32(0)), xs
        last = effax.lax.while_loop(lambda s: s[0] < _N, step, start, checkpoints=2)
        return tuple(last[2])

    args, w = c.values(c.loop), tuple(c.values(c.loop, 2))
    one, count = _answered(lambda *xs: effax.vjp(f, *xs)[1](w))(*args)
    return (one, count), (effax.vjp(_values(f), *args)[1](w), _count(c, 2 * _N))


def _called_without_answers(c: Case, xs: Sequence[Any]) -> list[Any]:
    """A step that asks inside of a call, and does not use the answer."""

    def step(*xs: Any) -> list[Any]:
        return [*c.loop(*xs), ask()]

    called = program(step, *c.loop.types)
    return list(control.call(*xs, program=called, name="step")[:-1])


@law("a question without an answer is asked once in a checkpointed while", needs="loop, no while")
def told_once_by_checkpoints(c: Case) -> Any:
    def f(*xs: Any) -> tuple[Any, ...]:
        def step(state: Any) -> Any:
            ask()  # the backward pass does not need the answer
            return state[0] + 1, tuple(c.loop(*state[1]))

        start = c.lift(np.int32(0)), xs
        last = effax.lax.while_loop(lambda s: s[0] < _N, step, start, checkpoints=2)
        return tuple(last[1])

    args, w = c.values(c.loop), tuple(c.values(c.loop, 2))
    one, count = _answered(lambda *xs: effax.vjp(f, *xs)[1](w))(*args)
    return (one, count), (effax.vjp(repeated(c, _N), *args)[1](w), _count(c, _N))
