"""Laws of references: what is read is what was written last, and nobody outside can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import effax
from effax.effects.rows import control
from effax.effects.rows.state import new_ref, ref_get, ref_set
from effax.interpreters.functor.discharge import discharged
from effax.laws.law import Case, law
from effax.laws.loops import pairs, repeated, scanned
from effax.seeing.python_text import program

_N = 3


def _made(xs: Sequence[Any]) -> list[Any]:
    return [new_ref(x) for x in xs]


def _got(refs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(ref_get(ref) for ref in refs)


def _put(refs: Sequence[Any], xs: Sequence[Any]) -> None:
    for ref, x in zip(refs, xs, strict=True):
        ref_set(ref, x)


def _inside(c: Case, use: Callable[[Sequence[Any]], None]) -> Callable[..., tuple[Any, ...]]:
    """The function that puts its arguments into references, uses them, and reads them."""

    def stateful(*xs: Any) -> tuple[Any, ...]:
        refs = _made(xs)
        use(refs)
        return _got(refs)

    return stateful


def _step(c: Case) -> Callable[[Sequence[Any]], None]:
    """Replace the contents of the references by the results of a program of them."""

    def step(refs: Sequence[Any]) -> None:
        _put(refs, c.loop(*_got(refs)))

    return step


def _args(c: Case, shift: int = 0) -> list[Any]:
    return c.values(c.loop, shift)


@law("get . new = id", needs="loop")
def get_new(c: Case) -> Any:
    return _got(_made(_args(c))), tuple(_args(c))


@law("get; get = get", needs="loop")
def get_get(c: Case) -> Any:
    refs = _made(_args(c))
    return (_got(refs), _got(refs)), (tuple(_args(c)), tuple(_args(c)))


@law("put x; get = put x; return x", needs="loop")
def put_get(c: Case) -> Any:
    refs = _made(_args(c))
    _put(refs, _args(c, 1))
    return _got(refs), tuple(_args(c, 1))


@law("put x; put y = put y", needs="loop")
def put_put(c: Case) -> Any:
    twice, once = _made(_args(c)), _made(_args(c))
    _put(twice, _args(c, 1))
    for refs in (twice, once):
        _put(refs, _args(c, 2))
    return _got(twice), _got(once)


@law("get >>= put = nothing", needs="loop")
def get_put(c: Case) -> Any:
    refs = _made(_args(c))
    _put(refs, _got(refs))
    return _got(refs), tuple(_args(c))


@law("references do not meet", needs="loop")
def separate(c: Case) -> Any:
    """Writing one changes no other: they are apart though they began as the same array."""
    one, other = _made(_args(c)), _made(_args(c))
    _put(one, _args(c, 1))
    return _got(other), tuple(_args(c))


def _of_references(c: Case) -> Any:
    """The program of references to the arguments of `loop`, which writes its results to them."""

    def stateful(*refs: Any) -> list[Any]:
        _step(c)(refs)
        return []

    types = [new_ref(x).type for x in _args(c)]
    return program(stateful, *types, name="stateful")


@law("discharge (put . f . get) = f", needs="loop")
def discharge_is_pure(c: Case) -> Any:
    pure, written = discharged(_of_references(c))
    final = iter(pure.run(*_args(c)))
    found = [next(final) if w else x for x, w in zip(_args(c), written, strict=True)]
    return tuple(found), tuple(c.loop(*_args(c)))


@law("call (put . f . get) = put . f . get", needs="loop")
def call_writes(c: Case) -> Any:
    refs = _made(_args(c))
    control.call(*refs, program=_of_references(c), name="stateful")
    return _got(refs), tuple(c.loop(*_args(c)))


@law("scan over references = scan with a carry", needs="loop")
def scan_writes(c: Case) -> Any:
    return _inside(c, _scan(c))(*_args(c)), scanned(c)(*_args(c))


def _scan(c: Case) -> Callable[[Sequence[Any]], None]:
    def use(refs: Sequence[Any]) -> None:
        effax.lax.scan(lambda carry, _: (carry, _step(c)(refs)), (), None, length=_N)

    return use


def _while(c: Case) -> Callable[[Sequence[Any]], None]:
    def use(refs: Sequence[Any]) -> None:
        def step(i: Any) -> Any:
            _step(c)(refs)
            return i + 1

        effax.lax.while_loop(lambda i: i < _N, step, c.lift(np.int32(0)))

    return use


@law("while over references = a Python loop", needs="loop")
def while_writes(c: Case) -> Any:
    return _inside(c, _while(c))(*_args(c)), repeated(c)(*_args(c))


@law("a condition that writes, writes as often as it is asked", needs="loop")
def condition_writes(c: Case) -> Any:
    def use(refs: Sequence[Any]) -> None:
        def test(i: Any) -> Any:
            _step(c)(refs)
            return i < _N - 1

        effax.lax.while_loop(test, lambda i: i + 1, c.lift(np.int32(0)))

    return _inside(c, use)(*_args(c)), repeated(c)(*_args(c))


@law("cond over references = the chosen branch", needs="loop")
def cond_writes(c: Case) -> Any:
    def chosen(index: int) -> Any:
        def use(refs: Sequence[Any]) -> None:
            branches = [lambda: None, lambda: _step(c)(refs)]
            effax.lax.switch(c.lift(np.int32(index)), branches)

        return _inside(c, use)(*_args(c))

    return (chosen(0), chosen(1)), (tuple(_args(c)), tuple(c.loop(*_args(c))))


@law("jit (f with references) = f", needs="loop")
def jit_with_references(c: Case) -> Any:
    return effax.jit(_inside(c, _scan(c)))(*_args(c)), repeated(c)(*_args(c))


@law("jit writes references from outside", needs="loop")
def jit_writes(c: Case) -> Any:
    refs = _made(_args(c))
    effax.jit(lambda: _step(c)(refs))()
    effax.jit(lambda *given: _step(c)(given))(*refs)
    return _got(refs), repeated(c, 2)(*_args(c))


@law("jvp (f with references) = jvp f", needs="loop")
def jvp_with_references(c: Case) -> Any:
    args, u = tuple(_args(c)), tuple(_args(c, 1))
    return effax.jvp(_inside(c, _scan(c)), args, u), effax.jvp(repeated(c), args, u)


@law("vjp (f with references) = vjp f", needs="loop, no while")
def vjp_with_references(c: Case) -> Any:
    args, w = _args(c), tuple(_args(c, 2))
    return (
        effax.vjp(_inside(c, _scan(c)), *args)[1](w),
        effax.vjp(repeated(c), *args)[1](w),
    )


@law("vmap (f with references) = vmap f", needs="loop")
def vmap_with_references(c: Case) -> Any:
    args = pairs(c)
    return effax.vmap(_inside(c, _while(c)))(*args), effax.vmap(repeated(c))(*args)


@law("vmap over references = references to batches", needs="loop")
def vmap_over_references(c: Case) -> Any:
    args = pairs(c)
    refs = _made(args)
    effax.vmap(lambda *given: _step(c)(given))(*refs)
    return _got(refs), effax.vmap(lambda *xs: tuple(c.loop(*xs)))(*args)


@law("jvp over references = references to tangents", needs="loop")
def jvp_over_references(c: Case) -> Any:
    args, u = _args(c), _args(c, 1)
    refs, tangents = _made(args), _made(u)
    effax.jvp(lambda *given: _step(c)(given), tuple(refs), tuple(tangents))
    expected = effax.jvp(lambda *xs: tuple(c.loop(*xs)), tuple(args), tuple(u))
    return (_got(refs), _got(tangents)), expected
