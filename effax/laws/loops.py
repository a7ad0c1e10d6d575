"""Laws of control flow: loops and branches mean what Python's mean, for every transformation."""

from __future__ import annotations

from typing import Any

import numpy as np

import effax
from effax.effects.rows import comparison, control, elementwise
from effax.laws.law import Case, dot, law
from effax.seeing.python_text import program

_N = 3


def scanned(c: Case, length: int = _N, unroll: int = 1) -> Any:
    """The `loop` of a case done so often, by `scan`."""
    body = c.loop.program()
    n = len(c.loop.types)

    def by_scan(*xs: Any) -> tuple[Any, ...]:
        return tuple(
            control.scan(
                *xs,
                body=body,
                consts=0,
                carry=n,
                length=length,
                reverse=False,
                unroll=unroll,
            )
        )

    return by_scan


def repeated(c: Case, length: int = _N) -> Any:
    """The `loop` of a case done so often, by Python."""

    def looped(*xs: Any) -> tuple[Any, ...]:
        for _ in range(length):
            xs = c.loop(*xs)
        return tuple(xs)

    return looped


def _while(c: Case, length: int = _N) -> Any:
    types: list[Any] = ["i32[]", *c.loop.types]
    test = program(lambda i, *xs: [comparison.lt(i, length)], *types)
    body = program(lambda i, *xs: [elementwise.add(i, 1), *c.loop(*xs)], *types)

    def looped(*xs: Any) -> tuple[Any, ...]:
        zero = np.int32(0)
        results = control.while_loop(zero, *xs, cond=test, body=body, cond_consts=0, body_consts=0)
        return tuple(results[1:])

    return looped


def _args(c: Case, shift: int = 0) -> list[Any]:
    return c.values(c.loop, shift)


@law("scan = a Python loop", needs="loop")
def scan_is_loop(c: Case) -> Any:
    return scanned(c)(*_args(c)), repeated(c)(*_args(c))


@law("scan of no steps = the identity", needs="loop")
def scan_of_nothing(c: Case) -> Any:
    return scanned(c, 0)(*_args(c)), tuple(_args(c))


@law("scan unrolled = scan", needs="loop")
def scan_unrolls(c: Case) -> Any:
    return scanned(c, 4, 2)(*_args(c)), scanned(c, 4)(*_args(c))


@law("scan n . scan m = scan (n + m)", needs="loop")
def scans_add(c: Case) -> Any:
    return scanned(c, 1)(*scanned(c, 2)(*_args(c))), scanned(c)(*_args(c))


@law("while = a Python loop", needs="loop")
def while_is_loop(c: Case) -> Any:
    return _while(c)(*_args(c)), repeated(c)(*_args(c))


@law("jit (scan f) = scan f", needs="loop")
def jit_of_scan(c: Case) -> Any:
    return effax.jit(scanned(c))(*_args(c)), scanned(c)(*_args(c))


@law("jvp (scan f) = jvp of the loop", needs="loop")
def jvp_of_scan(c: Case) -> Any:
    args, u = tuple(_args(c)), tuple(_args(c, 1))
    return effax.jvp(scanned(c), args, u), effax.jvp(repeated(c), args, u)


@law("jvp (while f) = jvp of the loop", needs="loop")
def jvp_of_while(c: Case) -> Any:
    args, u = tuple(_args(c)), tuple(_args(c, 1))
    return effax.jvp(_while(c), args, u), effax.jvp(repeated(c), args, u)


@law("vjp (scan f) = vjp of the loop", needs="loop, no while")
def vjp_of_scan(c: Case) -> Any:
    args, w = _args(c), tuple(_args(c, 2))
    return effax.vjp(scanned(c), *args)[1](w), effax.vjp(repeated(c), *args)[1](w)


@law("<w, J u> = <J' w, u> through scan", needs="loop, no while")
def scan_is_adjoint(c: Case) -> Any:
    args, u, w = tuple(_args(c)), tuple(_args(c, 1)), tuple(_args(c, 2))
    tangents = effax.jvp(scanned(c), args, u)[1]
    return dot(w, tangents), dot(effax.vjp(scanned(c), *args)[1](w), u)


@law("vmap (scan f) = scan (vmap f)", needs="loop")
def vmap_of_scan(c: Case) -> Any:
    args = pairs(c)
    body = effax.vmap(lambda *xs: tuple(c.loop(*xs)))

    def looped(*xs: Any) -> Any:
        for _ in range(_N):
            xs = body(*xs)
        return tuple(xs)

    return effax.vmap(scanned(c))(*args), looped(*args)


@law("vmap (while f) = while (vmap f)", needs="loop")
def vmap_of_while(c: Case) -> Any:
    args = pairs(c)
    return effax.vmap(_while(c))(*args), effax.vmap(repeated(c))(*args)


def pairs(c: Case) -> list[Any]:
    """Arguments for a batch of two."""
    both = zip(_args(c, 3), _args(c, 4), strict=True)
    return [c.lift(np.stack([np.asarray(x), np.asarray(y)])) for x, y in both]


@law("while with a count for each lane = each lane by itself", needs="loop")
def ragged_while(c: Case) -> Any:
    """A batch of loops ends when the last lane ends, and lanes that have ended stand still."""
    types: list[Any] = ["i32[]", "i32[]", *c.loop.types]
    test = program(lambda n, i, *xs: [comparison.lt(i, n)], *types)
    body = program(lambda n, i, *xs: [n, elementwise.add(i, 1), *c.loop(*xs)], *types)

    def looped(n: Any, *xs: Any) -> tuple[Any, ...]:
        results = control.while_loop(
            n, np.int32(0), *xs, cond=test, body=body, cond_consts=0, body_consts=0
        )
        return tuple(results[2:])

    args, counts = _args(c), np.array([2, 0, 3], np.int32)
    batched = effax.vmap(looped, in_axes=(0, *[None] * len(args)))(c.lift(counts), *args)
    lanes = [repeated(c, int(n))(*args) for n in counts]
    return batched, _stacked(c, lanes)


def _stacked(c: Case, lanes: list[Any]) -> tuple[Any, ...]:
    columns = zip(*lanes, strict=True)
    return tuple(c.lift(np.stack([np.asarray(x) for x in column])) for column in columns)


def _cond(c: Case, index: Any) -> Any:
    branches = (program(lambda *xs: list(xs), *c.loop.types), c.loop.program())
    return lambda *xs: tuple(control.cond(index, *xs, branches=branches))


@law("cond = the chosen branch", needs="loop")
def cond_is_branch(c: Case) -> Any:
    one, zero = c.lift(np.int32(1)), c.lift(np.int32(0))
    return (
        (_cond(c, one)(*_args(c)), _cond(c, zero)(*_args(c))),
        (tuple(c.loop(*_args(c))), tuple(_args(c))),
    )


@law("cond p f f = f", needs="loop")
def cond_of_equals(c: Case) -> Any:
    branches = (c.loop.program(), c.loop.program())
    index = c.lift(np.int32(c.seed % 2))
    return tuple(control.cond(index, *_args(c), branches=branches)), tuple(c.loop(*_args(c)))


@law("jvp (cond p f g) = cond p (jvp f) (jvp g)", needs="loop")
def jvp_of_cond(c: Case) -> Any:
    args, u = tuple(_args(c)), tuple(_args(c, 1))
    index = c.lift(np.int32(1))
    return effax.jvp(_cond(c, index), args, u), effax.jvp(lambda *xs: tuple(c.loop(*xs)), args, u)


@law("vjp (cond p f g) = cond p (vjp f) (vjp g)", needs="loop, no while")
def vjp_of_cond(c: Case) -> Any:
    args, w = _args(c), tuple(_args(c, 2))
    chosen = _cond(c, c.lift(np.int32(1)))
    return effax.vjp(chosen, *args)[1](w), effax.vjp(lambda *xs: tuple(c.loop(*xs)), *args)[1](w)


@law("vmap (cond p f g) = select p (vmap f) (vmap g)", needs="loop")
def vmap_of_cond(c: Case) -> Any:
    args = _args(c)
    which = np.array([1, 0, 1], np.int32)
    axes = (0, *[None] * len(args))
    batched = effax.vmap(lambda i, *xs: _cond(c, i)(*xs), in_axes=axes)(c.lift(which), *args)
    lanes = [_cond(c, c.lift(i))(*args) for i in which]
    return batched, _stacked(c, lanes)
