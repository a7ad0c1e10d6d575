"""Handlers of exceptions, state and nondeterminism, and the equations that they are to satisfy.

Prints claim, measurement and verdict. An effect of the paper is an effect here, with a row; a
handler is an interpreter. Continuations are not captured: what the paper writes with them is
carried by values (a raised exception, all outcomes of choices) or threaded (a state).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import extend, lax

# ------------------------------------------------------------------------------------- state

get = extend.Effect("cell_get", family="paper", typing=lambda x: x, row="cell")
put = extend.Effect("cell_put", family="paper", typing=lambda x: x, row="cell")


class Cell(effax.Interpreter):
    """A handler with one cell: `get(x)` is its content, of the type of x; `put(x)` is x."""

    content: effax.extend.State = 0.0


@Cell.rule(get)
def read(like: Any, *, state: Any) -> Any:
    """Return the content of the cell."""
    return jnp.asarray(state.content, jnp.result_type(like))


@Cell.rule(put)
def write(x: Any, *, state: Any) -> Any:
    """A new content."""
    state.content = x
    return x


def with_cell(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a start and x: its result, and the content in the end."""

    def handled(start: Any, x: Any) -> Any:
        result, states = Cell.transform(f, content=start)(x)
        return result, states["content"]

    return handled


# -------------------------------------------------------------------------------- exceptions

raise_ = extend.Effect("raise_code", family="paper", typing=lambda code, like: like, row="raises")


class Raised(effax.Interpreter):
    """A value, or the exception in its place: 0 is none."""

    value: effax.extend.Leaf
    code: effax.extend.Leaf(dtype="int32")  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]

    @classmethod
    def lift(cls, value: Any) -> Any:
        return cls(value, jnp.zeros(jnp.shape(value), "int32"))


@Raised.rule(raise_)
def raised(code: Any, like: Any) -> Any:
    """An operand that is itself raised is raised first."""
    return Raised(like.value, jnp.where(code.code != 0, code.code, code.value))


@Raised.default
def strict(effect: Any, *xs: Any, **how: Any) -> Any:
    """An exception of an operand is one of the result: the first of them. (Of scalars.)"""
    code = xs[0].code
    for x in xs[1:]:
        code = jnp.where(code != 0, code, x.code)
    return Raised(effect(*(x.value for x in xs), **how), code)


def handle(f: Callable[..., Any], otherwise: Callable[[Any], Any]) -> Callable[..., Any]:
    """`f`, and where it raises, a function of the exception."""

    def handled(*args: Any) -> Any:
        found = Raised.transform(f)(*(Raised.lift(jnp.asarray(x)) for x in args))
        if not isinstance(found, Raised):
            return found
        return jnp.where(found.code != 0, otherwise(found.code), found.value)

    return handled


# ---------------------------------------------------------------------------- nondeterminism

choose = extend.Effect("choose_one", family="paper", typing=lambda x, y: x, row="choices")
names = itertools.count()


class Many(effax.Interpreter):
    """All that a value may be, along an axis in front: one for each outcome of some choices."""

    outcomes: effax.extend.Leaf(axes=1)  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]
    choices: effax.extend.Static = ()

    @classmethod
    def lift(cls, value: Any) -> Any:
        return cls(jnp.asarray(value)[None], ())

    @classmethod
    def join_static(cls, name: str, one: Any, other: Any) -> Any:
        raise TypeError(f"a loop or branches in which choices are made: {one} and {other}")


def aligned(x: Many, choices: tuple[int, ...]) -> Any:
    """The outcomes of a value for each outcome of more choices."""
    shape = x.outcomes.shape[1:]
    own = [2 if c in x.choices else 1 for c in choices]
    spread = jnp.broadcast_to(x.outcomes.reshape(*own, *shape), (*(2,) * len(own), *shape))
    return spread.reshape(-1, *shape)


@Many.default
def in_every_outcome(effect: Any, *xs: Any, **how: Any) -> Any:
    """The same choice has the same outcome wherever it is used."""
    choices = tuple(sorted({c for x in xs for c in x.choices}))
    f = effax.vmap(lambda *rows: effect(*rows, **how))
    return Many(f(*(aligned(x, choices) for x in xs)), choices)


@Many.rule(choose)
def both(x: Any, y: Any) -> Any:
    """One more choice."""
    choices = tuple(sorted({*x.choices, *y.choices}))
    sides = jnp.concatenate([aligned(x, choices), aligned(y, choices)])
    return Many(sides, (-next(names) - 1, *choices))  # a new name comes first


def all_outcomes(f: Callable[..., Any]) -> Callable[..., list[float]]:
    """The set of what a function may give, in order."""

    def outcomes(*args: Any) -> list[float]:
        found = Many.transform(f)(*map(jnp.asarray, args))
        values = found.outcomes if isinstance(found, Many) else [found]
        return sorted({float(v) for v in values})

    return outcomes


# ------------------------------------------------------------------------------ the equations

STATE_LAWS = {
    "get, get = get": (
        lambda x: get(x) + 10 * get(x),
        lambda x: (lambda c: c + 10 * c)(get(x)),
    ),
    "get, put what was got = nothing": (lambda x: (put(get(x)), x)[1], lambda x: x),
    "put, get = put, what was put": (
        lambda x: (put(x), get(x) * 3)[1],
        lambda x: (put(x), x * 3)[1],
    ),
    "put, put = put the second": (
        lambda x: (put(x), put(x * x), x)[2],
        lambda x: (put(x * x), x)[1],
    ),
}


def same_state(lhs: Any, rhs: Any, wrap: Callable[[Any], Any]) -> bool:
    """Whether two computations agree in result and final content, for some starts."""
    points = np.random.default_rng(0).normal(size=(10, 2))
    one, other = wrap(with_cell(lhs)), wrap(with_cell(rhs))
    return all(np.allclose(one(s, x), other(s, x)) for s, x in points)


def fails(code: float) -> Callable[[Any], Any]:
    """A computation that raises."""
    return lambda x: raise_(jnp.int32(code), x)


def looped(x: Any) -> Any:
    """Reads and writes in a loop and in a branch, of as many steps as it takes."""

    def body(i: Any, y: Any) -> Any:
        put(get(y) + y)
        return lax.cond(get(y) > 3.0, lambda z: put(z * 0.5), lambda z: z + 1.0, y)

    return lax.fori_loop(0, 5, body, x)


def threaded(start: Any, x: Any) -> tuple[float, float]:
    """The same in Python, the content passed by hand."""
    cell, y = float(start), float(x)
    for _ in range(5):
        cell += y
        if cell > 3:
            y = y * 0.5
            cell = y
        else:
            y += 1
    return y, cell


def rows() -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    with effax.enable_x64(True):
        yield from _state()
        yield from _exceptions()
        yield from _nondeterminism()


def _state() -> Iterator[tuple[str, str, bool]]:
    ways = {"alone": lambda f: f, "jit": effax.jit}
    held = {
        law: [way for way, wrap in ways.items() if same_state(*sides, wrap)]  # pyright: ignore[reportCallIssue]
        for law, sides in STATE_LAWS.items()
    }
    yield (
        "the handler of state satisfies the four equations of a cell",
        "; ".join(f"{law} ({', '.join(ok)})" for law, ok in held.items()),
        all(len(ok) == len(ways) for ok in held.values()),
    )
    points = [(0.0, 0.5), (2.0, -1.0), (-3.0, 2.0)]
    found = [tuple(map(float, effax.jit(with_cell(looped))(s, x))) for s, x in points]
    yield (
        "it is threaded through loops and branches, of which it says nothing",
        f"{len(points)} starts, as in Python with the content passed by hand",
        np.allclose(found, [threaded(s, x) for s, x in points]),
    )
    slope = float(effax.grad(lambda x: with_cell(lambda y: get(put(y * y)))(0.0, x)[0])(3.0))
    yield (
        "and it is differentiated through",
        f"the slope of get after put of x^2 is {slope} at 3",
        slope == 6.0,
    )


def _exceptions() -> Iterator[tuple[str, str, bool]]:
    x = 2.0

    def recover(code: Any) -> Any:
        return code * 100.0

    equations = {
        "handle (return v) = v": (handle(lambda x: x * 3, recover)(x), 6.0),
        "handle (raise e) = h e": (handle(fails(7), recover)(x), 700.0),
        "raise e, then M = raise e": (handle(lambda x: jnp.sin(fails(7)(x)), recover)(x), 700.0),
        "raise e, then raise e' = raise e": (
            handle(lambda x: fails(7)(x) + fails(8)(x), recover)(x),
            700.0,
        ),
        "handle M by raising again = M": (
            handle(lambda x: handle_inside(fails(7), lambda c: raise_(c, x))(x), recover)(x),
            700.0,
        ),
        "the inner handler is first": (
            handle(lambda x: handle_inside(fails(7), lambda c: c * 1.0)(x), recover)(x),
            7.0,
        ),
    }
    wrong = [name for name, (lhs, rhs) in equations.items() if float(lhs) != rhs]
    yield (
        "the handler of exceptions satisfies its equations",
        "; ".join(equations) + (f"; not {wrong}" if wrong else ""),
        not wrong,
    )
    many = effax.vmap(handle(lambda x: raise_(jnp.where(x > 1, 7, 0), x) * 2, recover))
    yield (
        "under vmap each lane raises by itself",
        f"{np.asarray(many(jnp.array([0.5, 2.0]))).tolist()}",
        np.allclose(many(jnp.array([0.5, 2.0])), [1.0, 700.0]),
    )


def handle_inside(f: Callable[..., Any], otherwise: Callable[[Any], Any]) -> Callable[..., Any]:
    """A handler under another: the code, which is the outer one's value, is chosen with its rules."""

    def handled(x: Any) -> Any:
        found = Raised.transform(f)(Raised.lift(x))
        return lax.select(found.code != 0, otherwise(found.code) + 0 * x, found.value)

    return handled


def _nondeterminism() -> Iterator[tuple[str, str, bool]]:
    one, two, three = 1.0, 2.0, 3.0
    equations = {
        "choose x x = x": (lambda: choose(one, one), lambda: jnp.asarray(one)),
        "choose x y = choose y x": (lambda: choose(one, two), lambda: choose(two, one)),
        "choose is associative": (
            lambda: choose(choose(one, two), three),
            lambda: choose(one, choose(two, three)),
        ),
        "f (choose x y) = choose (f x) (f y)": (
            lambda: jnp.exp(choose(one, two)),
            lambda: choose(jnp.exp(one), jnp.exp(two)),
        ),
    }
    wrong = [k for k, (lhs, rhs) in equations.items() if all_outcomes(lhs)() != all_outcomes(rhs)()]
    yield (
        "the handler of nondeterminism satisfies the equations of a semilattice, and choices commute",
        "; ".join(equations) + (f"; not {wrong}" if wrong else ""),
        not wrong,
    )

    def twice() -> Any:
        x = choose(0.0, 1.0)
        return x + x

    found = all_outcomes(twice)(), all_outcomes(lambda: choose(0.0, 1.0) + choose(0.0, 1.0))()
    yield (
        "a choice that is used twice is made once",
        f"x + x gives {found[0]}, two choices {found[1]}",
        found == ([0.0, 2.0], [0.0, 1.0, 2.0]),
    )

    def both_handled() -> Any:
        _, content = with_cell(lambda x: put(get(x) + choose(x, 10.0)))(jnp.asarray(5.0), 1.0)
        return content

    contents = all_outcomes(both_handled)()
    yield (
        "handlers compose: each outcome has a cell of its own",
        f"contents {contents}",
        contents == [6.0, 15.0],
    )


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    results = list(rows())
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print(
        "NOTE  not reproduced: captured continuations; what follows a raise is computed, and dropped"
    )
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
