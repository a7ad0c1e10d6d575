"""A case asked in ways that must agree; each yields how two do not, and no oracle is needed.

The grid traces, maps and differentiates all operands of a case together. Here it is one of them:
rules see the others unmapped, without tangents, or known. Beside that: two operands that are one
array, memory that lies otherwise, no lanes, loops, recomputed derivatives, and both orders of a
second derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import lax
from effax.effects.errors import UnsupportedDerivativeError
from tests.grid.ask import Leaf, arrays, leaf, operands
from tests.grid.case import Case, is_complex
from tests.grid.check import EFFAX, direction, smooth_part, widened_case
from tests.grid.compare import compare_leaves, differ
from tests.grid.play import Entry, magnitude

Function = Callable[..., list[Any]]
KNOWN = (
    effax.errors.ConcretizationTypeError,
    effax.errors.TracerArrayConversionError,
    effax.errors.TracerIntegerConversionError,
    effax.errors.NonConcreteBooleanIndexError,
)
"""Errors of what asks for a value that is known, and may."""


class Asked:
    """A case as a function of its operands, and how near its results must be."""

    def __init__(self, entry: Entry, case: Case) -> None:
        code = case.function(EFFAX.names)
        self.case = case
        self.function: Function = lambda *xs: arrays(EFFAX, code(*xs))
        self.given = operands(EFFAX, case)
        self.how: dict[str, Any] = {
            "slack": entry.slack,
            "scale": magnitude(case),
            "defined": entry.defined,
        }
        self.wanted = self.leaves()
        self.moving = [
            i for i, o in enumerate(case.operands) if o.form in ("array", "weak", "host")
        ]

    def leaves(self, *places: int, to: Sequence[Any] = ()) -> list[Leaf | str]:
        """The results, with other operands at some places."""
        return [leaf(y) for y in self.of(places)(*to)]

    def of(self, places: Sequence[int]) -> Function:
        """The case as a function of some of its operands."""

        def function(*xs: Any) -> list[Any]:
            filled = list(self.given)
            for i, x in zip(places, xs, strict=True):
                filled[i] = x
            return self.function(*filled)

        return function

    def differs(self, found: Sequence[Any], wanted: Sequence[Leaf | str], **how: Any) -> str:
        return compare_leaves([leaf(y) for y in found], wanted, **{**self.how, **how})

    def lane(self, i: int) -> Any:
        """The operand at a place that another lane has."""
        o = self.case.operands[i]
        return EFFAX.operand(o, o.numpy(lane=1))

    def stacked(self, i: int, axis: int = 0) -> Any:
        """Two lanes of an operand."""
        pair = [np.asarray(x) for x in (self.given[i], self.lane(i))]
        return EFFAX.operand(self.case.operands[i], np.stack(pair, axis))


def one_array_twice(asked: Asked) -> Iterator[str]:
    for j in asked.moving:
        for i in asked.moving:
            a, b = (asked.case.operands[k] for k in (i, j))
            if i < j and (a.dtype, a.shape, a.form) == (b.dtype, b.shape, b.form):
                x = asked.given[i]
                wanted = asked.leaves(j, to=[EFFAX.operand(a, np.array(x))])
                yield asked.differs(asked.of([i, j])(x, x), wanted)
                yield asked.differs(effax.jit(lambda x, p=(i, j): asked.of(p)(x, x))(x), wanted)


def each_traced(asked: Asked) -> Iterator[str]:
    for i in asked.moving:
        try:
            found = effax.jit(asked.of([i]))(asked.given[i])
        except KNOWN:
            continue
        yield asked.differs(found, asked.wanted)


def each_mapped(asked: Asked) -> Iterator[str]:
    for i in asked.moving:
        other = asked.leaves(i, to=[asked.lane(i)])
        for axis in {0, -1 if asked.case.operands[i].shape else 0}:
            mapped = effax.jit(effax.vmap(asked.of([i]), axis))
            found = mapped(asked.stacked(i, axis))
            for k, wanted in enumerate((asked.wanted, other)):
                lanes = [Leaf(str(y.dtype), y.weak_type, np.asarray(y)[k]) for y in found]
                yield compare_leaves(lanes, wanted, **asked.how)


def no_lanes(asked: Asked) -> Iterator[str]:
    places = asked.moving
    empty = [asked.stacked(i)[:0] for i in places]
    for y, w in zip(effax.vmap(asked.of(places))(*empty), asked.wanted, strict=True):
        if isinstance(w, Leaf) and (y.dtype, y.shape) != (w.values.dtype, (0, *w.values.shape)):
            yield f"{y.dtype}{y.shape} of no lanes, one has {w.dtype}{w.values.shape}"


def in_loops(asked: Asked) -> Iterator[str]:
    places = asked.moving
    stacks = [asked.stacked(i) for i in places]
    other = asked.leaves(*places, to=[asked.lane(i) for i in places])
    scanned = lax.scan(lambda c, xs: (c, asked.of(places)(*xs)), 0, stacks)[1]
    for found in (scanned, lax.map(lambda xs: asked.of(places)(*xs), stacks)):
        for k, wanted in enumerate((asked.wanted, other)):
            yield asked.differs([y[k] for y in found], wanted, weak=False)


def otherwise_in_memory(asked: Asked) -> Iterator[str]:
    """Only of what takes NumPy's arrays as they are: methods are those of NumPy then, and none of
    its arrays is weak."""
    if asked.case.code.startswith(("a.", "a[", "np.", "jax.tree")):
        return
    for i in asked.moving:
        if asked.case.operands[i].form != "weak":
            for x in _layouts(np.asarray(asked.given[i])):
                yield asked.differs(asked.of([i])(x), asked.wanted)


def _layouts(x: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The same elements backwards, by columns, with gaps, unaligned and read-only."""
    if not x.ndim:
        return
    yield np.ascontiguousarray(x[::-1])[::-1]
    yield np.asfortranarray(x)
    gaps = np.zeros([2 * n + 1 for n in x.shape], x.dtype)
    gaps[tuple(slice(0, 2 * n, 2) for n in x.shape)] = x
    yield gaps[tuple(slice(0, 2 * n, 2) for n in x.shape)]
    if x.dtype.isbuiltin == 1:
        unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        unaligned[...] = x
        yield unaligned
    fixed = x.copy()
    fixed.flags.writeable = False
    yield fixed


class Moved:
    """A case in 64 bits as a function of its inexact operands, and directions for derivatives."""

    def __init__(self, entry: Entry, case: Case) -> None:
        self.function, self.at = smooth_part(case)
        self.slack = 1e4 * entry.slack
        results = effax.eval_shape(self.function, *self.at)
        rng = np.random.RandomState(0)
        self.along = [direction(x, rng) for x in self.at]
        self.pulled = [direction(np.empty(y.shape, y.dtype), rng) for y in results]
        self.is_real = not any(is_complex(x.dtype) for x in (*self.at, *results))

    def differs(self, found: Sequence[Any], wanted: Sequence[Any], slack: float = 1.0) -> str:
        pairs = zip(found, wanted, strict=True)
        how = {"slack": slack * self.slack, "scale": 1.0}
        return next(filter(None, (differ(x, y, **how) for x, y in pairs)), "")

    def pull(self, function: Function, *xs: Any) -> Any:
        return effax.vjp(function, *xs)[1](self.pulled)


def each_moved(moved: Moved) -> Iterator[str]:
    f, at = moved.function, moved.at
    push = effax.jit(lambda xs, ts: effax.jvp(f, tuple(xs), tuple(ts))[1])
    pulled = effax.jit(lambda *xs: moved.pull(f, *xs))(*at)
    for i, (x, t) in enumerate(zip(at, moved.along, strict=True)):

        def alone(x: Any, i: int = i) -> list[Any]:
            return f(*at[:i], x, *at[i + 1 :])

        zeros = [y if j == i else jnp.zeros_like(y) for j, y in enumerate(moved.along)]
        yield moved.differs(effax.jvp(alone, (x,), (t,))[1], push(at, zeros))
        yield moved.differs(moved.pull(alone, x), [pulled[i]])


def computed_again(moved: Moved) -> Iterator[str]:
    f, at = moved.function, moved.at
    wanted = effax.jit(lambda *xs: moved.pull(f, *xs))(*at)

    def chosen(*xs: Any) -> Any:
        none = [jnp.zeros_like(c) for c in moved.pulled]
        return lax.cond(xs[0].size >= 0, f, lambda *_: none, *xs)

    def linear(*xs: Any) -> Any:
        return effax.linear_transpose(effax.linearize(f, *xs)[1], *xs)(moved.pulled)

    def in_lanes(*xs: Any) -> Any:
        lanes = effax.vmap(lambda *xs: moved.pull(f, *xs))(*[jnp.stack([x, x]) for x in xs])
        return [y[1] for y in lanes]

    ways: tuple[Function, ...] = (
        lambda *xs: moved.pull(effax.checkpoint(f), *xs),
        lambda *xs: moved.pull(chosen, *xs),
        linear,
        in_lanes,
    )
    for way in ways:
        yield moved.differs(effax.jit(way)(*at), wanted)


def both_orders(moved: Moved) -> Iterator[str]:
    """Of the second derivative along a direction."""
    if not moved.is_real:
        return
    at, along = tuple(moved.at), tuple(moved.along)

    def value(xs: Any) -> Any:
        results = zip(moved.pulled, moved.function(*xs), strict=True)
        return sum(jnp.sum(c * y) for c, y in results)

    forwards_last = effax.jit(lambda xs: effax.jvp(effax.grad(value), (xs,), (along,))[1])(at)
    backwards_last = effax.jit(effax.grad(lambda xs: effax.jvp(value, (xs,), (along,))[1]))(at)
    yield moved.differs(forwards_last, backwards_last, slack=100)


WAYS = (one_array_twice, each_traced, each_mapped, no_lanes, in_loops, otherwise_in_memory)
SLOPES = (each_moved, computed_again, both_orders)


def complaints(entry: Entry, case: Case) -> Iterator[str]:
    """Yield how the answers to a case differ."""
    with effax.enable_x64(case.x64):
        asked = Asked(entry, case)
        for way in WAYS if asked.moving else ():
            yield from (f"{way.__name__}: {why}" for why in way(asked) if why)
    wide = widened_case(case)
    if wide is None or not entry.smooth or "element_type" in case.code:  # it may be too narrow
        return
    with effax.enable_x64(True):
        moved = Moved(entry, wide)
        for slope in SLOPES if moved.pulled else ():
            try:
                yield from (f"{slope.__name__}: {why}" for why in slope(moved) if why)
            except UnsupportedDerivativeError:  # which ones may say so, `check` asks
                return
