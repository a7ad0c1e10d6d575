"""Handlers of parallel effects: what `for` means for accumulation, keys and choices.

Prints claim, measurement and verdict. `for` is `vmap`. An effect of the paper is an effect here; how
lanes of a loop perform it at once is its batch cell, and its handler is an interpreter.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import effax
import effax.numpy as jnp
from effax import extend, laws, lax, random

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[2] / "examples" / "transforms"))
from seed import seed, uniform  # noqa: E402

# -------------------------------------------------------------------------------- accumulation

accum = extend.Effect("accum_sum", family="paper", typing=lambda x: x, row="accumulates")
extend.batch.in_each_lane(accum)


@extend.batch.rule(accum)
def accum_lanes(handler: Any, values: Any, batched: Any) -> Any:
    """All lanes at once: the sum of what they give, for addition is a monoid."""
    (x,) = extend.batch.all_batched(handler, values, batched)
    accum(jnp.sum(x, axis=0))
    return x, True


class Accumulate(effax.Interpreter):
    """The handler of accumulation: its state is the total."""

    total: effax.extend.State = 0.0


@Accumulate.rule(accum)
def add_up(x: Any, *, state: Any) -> Any:
    """One more part."""
    state.total = state.total + x
    return x


def accumulated(f: Callable[..., Any]) -> Callable[..., Any]:
    """The result of a function, and the total of what it accumulated."""

    def handled(*args: Any) -> Any:
        result, states = Accumulate.transform(f, total=jnp.float64(0))(*args)
        return result, states["total"]

    return handled


# ----------------------------------------------------------------------------- nondeterminism

choose = extend.Effect("amb_one", family="paper", typing=lambda x, y: x, row="ambiguous")
extend.batch.in_each_lane(choose)


@extend.batch.rule(choose)
def choose_in_each_lane(handler: Any, values: Any, batched: Any) -> Any:
    """Every lane chooses by itself, in the order of the lanes."""
    xs, ys = extend.batch.all_batched(handler, values, batched)
    return jnp.stack([choose(xs[i], ys[i]) for i in range(handler.size)]), True


class Amb(effax.Interpreter):
    """All outcomes of a value along an axis in front, for the choices that it depends on."""

    outcomes: effax.extend.Leaf(axes=1)  # pyright: ignore[reportCallIssue, reportInvalidTypeForm]
    choices: effax.extend.Static = ()

    @classmethod
    def lift(cls, value: Any) -> Any:
        return cls(jnp.asarray(value)[None], ())

    @classmethod
    def join_static(cls, name: str, one: Any, other: Any) -> Any:
        raise TypeError(f"a loop or branches in which choices are made: {one} and {other}")


names = itertools.count()


def spread(x: Amb, choices: tuple[int, ...]) -> Any:
    """The outcomes of a value for each outcome of more choices."""
    shape = x.outcomes.shape[1:]
    own = [2 if c in x.choices else 1 for c in choices]
    many = jnp.broadcast_to(x.outcomes.reshape(*own, *shape), (*(2,) * len(own), *shape))
    return many.reshape(-1, *shape)


@Amb.default
def in_every_outcome(effect: Any, *xs: Any, **how: Any) -> Any:
    """The first choice that was made varies slowest."""
    choices = tuple(sorted({c for x in xs for c in x.choices}))
    f = effax.vmap(lambda *rows: effect(*rows, **how))
    return Amb(f(*(spread(x, choices) for x in xs)), choices)


@Amb.rule(choose)
def both(x: Any, y: Any) -> Any:
    """One more choice."""
    before = tuple(sorted({*x.choices, *y.choices}))
    sides = jnp.stack([spread(x, before), spread(y, before)], axis=1)
    shape = sides.shape[2:]
    return Amb(sides.reshape(-1, *shape), (*before, next(names)))


def all_outcomes(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns all outcomes of `f`, one row for each."""

    def outcomes(*args: Any) -> Any:
        found = Amb.transform(f)(*map(jnp.asarray, args))
        return np.asarray(found.outcomes if isinstance(found, Amb) else found[None])

    return outcomes


# ---------------------------------------------------------------------------------- the claims


def rows(n: int = 8) -> Iterator[tuple[str, str, bool]]:
    """Claim, measurement, whether it holds."""
    with effax.enable_x64(True):
        yield from _accumulator()
        yield from _keys()
        yield from _choices()
        yield from _traversal(n)


def _accumulator() -> Iterator[tuple[str, str, bool]]:
    xs = jnp.arange(1.0, 6.0)

    def body(x: Any) -> Any:
        accum(x)
        accum(x * x)
        return 2 * x

    ys, total = accumulated(effax.vmap(body))(xs)
    loop, by_one = accumulated(lambda v: lax.map(body, v))(xs)
    yield (
        "accum under for: the total of all lanes, as of a loop",
        f"results {np.asarray(ys).tolist()}, total {float(total)}; by a loop {float(by_one)}",
        float(total) == float(by_one) == 15 + 55 and np.array_equal(ys, loop),
    )

    def nest(x: Any) -> Any:
        effax.vmap(lambda y: accum(x * y))(xs)
        accum(1.0 + 0 * x)
        return x

    _, nested = effax.jit(accumulated(effax.vmap(nest)))(xs)
    yield "for in for, under jit", f"total {float(nested)}", float(nested) == 15 * 15 + 5
    lanes, totals = effax.vmap(accumulated(body))(xs)
    yield (
        "a handler inside for has a total for each lane",
        f"totals {np.asarray(totals).tolist()}",
        np.array_equal(totals, xs + xs * xs) and np.array_equal(lanes, ys),
    )
    slopes = effax.grad(lambda v: accumulated(effax.vmap(body))(v)[1])(xs)
    yield (
        "and what is accumulated is differentiated",
        f"slopes {np.asarray(slopes).tolist()}",
        np.array_equal(slopes, 1 + 2 * xs),
    )


def _keys() -> Iterator[tuple[str, str, bool]]:
    key, n = random.key(0), 5
    drawn = np.asarray(seed(lambda: effax.vmap(lambda i: uniform() + 0 * i)(jnp.arange(n)))(key))
    keys = random.split(key, 1 + n)[1:]
    by_hand = np.asarray([random.uniform(k) for k in keys])
    yield (
        "random numbers under for: the key is split, a part for each lane",
        f"{n} lanes, {len(set(drawn.tolist()))} different numbers, those of the keys split by hand",
        np.array_equal(drawn, by_hand) and len(set(drawn.tolist())) == n,
    )
    order = np.array([3, 1, 4, 0, 2])
    permuted = [np.asarray(random.uniform(keys[i])) for i in order]
    yield (
        "so the order in which lanes are done does not matter",
        "the lanes done in another order give the same numbers",
        np.array_equal(drawn[order], permuted),
    )
    after = seed(lambda: (effax.vmap(lambda i: uniform() + 0 * i)(jnp.arange(n)), uniform()))(key)
    yield (
        "and what follows the loop draws from the part that is left",
        "a sixth number, equal to none of the five",
        float(after[1]) not in drawn.tolist()
        and float(after[1]) == float(seed(uniform)(random.wrap_key_data(rest(key, n)))),
    )


def rest(key: Any, n: int) -> Any:
    """The words of the key that is left by n lanes."""
    return random.key_data(random.split(key, 1 + n)[0])


def _choices() -> Iterator[tuple[str, str, bool]]:
    zero, one = jnp.zeros(3), jnp.ones(3)
    found = all_outcomes(lambda x, y: effax.vmap(choose)(x, y))(zero, one)
    table = list(itertools.product([0.0, 1.0], repeat=3))
    yield (
        "amb under for: all tables of outcomes, as traverse in the monad of lists",
        f"{len(found)} tables of 3 lanes, in the order of itertools.product",
        found.tolist() == [list(t) for t in table],
    )

    def coins(x: Any, y: Any) -> Any:
        return jnp.sum(effax.vmap(lambda a, b: 2 * choose(a, b) + 1)(x, y))

    sums = all_outcomes(coins)(zero, one)
    yield (
        "what follows is done in every outcome",
        f"sums {sums.tolist()}",
        sums.tolist() == [sum(2 * c + 1 for c in t) for t in table],
    )
    loop = np.stack(
        all_outcomes(lambda x, y: jnp.stack([choose(x[i], y[i]) for i in range(3)]))(zero, one)
    )
    yield (
        "and is what a sequential loop gives",
        f"{len(loop)} outcomes, the same in the same order",
        np.array_equal(loop, found),
    )


def _traversal(n: int) -> Iterator[tuple[str, str, bool]]:
    for name in ("vmap_is_map", "vmap_composes", "vmaps_swap"):
        law = laws.LAWS[name]
        verdict = laws.judge(law, max_examples=n)
        yield (
            f"for is a traversal: {law.name}",
            f"{verdict.verdict} on {verdict.examples} random programs",
            verdict.verdict == "true",
        )


def main() -> int:
    """Print the table; 1 if a claim does not hold."""
    results = list(rows(50 if "--large" in sys.argv else 10))
    for claim, measurement, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}  {claim}\n      {measurement}")
    print("NOTE  not reproduced: handlers that resume the lanes of a loop by themselves")
    return 0 if all(holds for *_, holds in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
