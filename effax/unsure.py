"""Control flow on answers that an interpreter is not sure of: all that may happen, joined.

An interpreter that carries sets of values (bounds, abstract states) can't always say which branch
is taken, nor when a loop ends. What it can say is whether a predicate may have a value, what holds
of either of two results, and what holds of everything; the meaning of `cond` and `while` follows
(Cousot & Cousot 1977, "Abstract Interpretation").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax import lax
from effax import numpy as jnp
from effax.effects import control
from effax.effects.selection import clamp
from effax.effects.types import ShapedArray
from effax.interpreters.interpreter import Interpreter
from effax.interpreters.stage import stage

__all__ = ["unsure"]


def unsure(
    interpreter: type[Interpreter],
    *,
    may: Callable[[Any, int], Any],
    join: Callable[[Any, Any], Any],
    top: Callable[[ShapedArray], Any],
    patience: int = 256,
) -> None:
    """Give an interpreter the rules of `cond` and `while` on predicates that it carries.

    Each branch that is possible is run, and no other, and their results are joined. A loop is run
    until it surely ends, and its result is the join of the carries at which it may have ended;
    where it is not sure after `patience` steps whether to end, the carry may be anything. On
    a plain index `cond` is what it was.

    Args:
      interpreter: the class of the interpreter. It needs a rule for `clamp`.
      may: `may(data, k)`, whether a predicate's or an index's data may be k: a plain Boolean.
      join: the data of what is one of two values, of equal types.
      top: the data of any value of a type.
      patience: how many steps a loop may be unsure.

    >>> import effax, effax.numpy as jnp
    >>> from effax import extend, lax
    >>> class Range(extend.Interpreter):
    ...     lo: extend.Leaf
    ...     hi: extend.Leaf
    >>> extend.unsure(
    ...     Range,
    ...     may=lambda x, k: (x.lo <= k) & (k <= x.hi),
    ...     join=lambda x, y: Range(jnp.minimum(x.lo, y.lo), jnp.maximum(x.hi, y.hi)),
    ...     top=lambda t: Range(jnp.full(t.shape, -jnp.inf), jnp.full(t.shape, jnp.inf)),
    ... )
    >>> Range.leafwise(*extend.traits.increasing)
    >>> f = Range.transform(lambda i: lax.switch(i, [lambda: 1.0, lambda: 5.0, lambda: 3.0]))
    >>> found = f(Range(1, 2))
    >>> print(found.lo, found.hi)
    3.0 5.0
    """

    def lifted(values: Sequence[Any]) -> list[Any]:
        return [x if isinstance(x, interpreter) else interpreter.lift(x) for x in values]

    def joined(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
        return [join(x, y) for x, y in zip(one, other, strict=True)]

    @interpreter.rule(control.cond)
    def branches_that_are_possible(which: Any, *xs: Any, branches: Any, run: Any) -> Any:
        if not isinstance(which, interpreter):
            return NotImplemented
        last = len(branches) - 1
        inside = stage(lambda i: [clamp(0, i, last)], [which.type], "inside").program
        (which,) = run(inside, which)
        possible = [may(which, k) for k in range(last + 1)]
        done = [lambda b=b: lifted(run(b, *xs)) for b in branches]
        first = jnp.argmax(jnp.stack(possible))
        found = lax.switch(first, done)
        for k in range(1, last + 1):
            found = lax.cond(
                possible[k] & (first < k),
                lambda found=found, k=k: joined(found, done[k]()),
                lambda found=found: found,
            )
        return found

    @interpreter.rule(control.while_loop)
    def steps_that_are_possible(
        *xs: Any, cond: Any, body: Any, cond_consts: int, body_consts: int, run: Any, **options: Any
    ) -> Any:
        own, consts = xs[:cond_consts], xs[cond_consts:][:body_consts]
        start = lifted(xs[cond_consts + body_consts :])

        def test(now: Any) -> Any:
            return lifted(run(cond, *own, *now))[0]

        def goes_on(state: Any) -> Any:
            now, _, _, steps = state
            return may(test(now), 1) & (steps < patience)

        def step(state: Any) -> Any:
            now, ended, ever, steps = state
            ends = may(test(now), 0)
            ended = lax.cond(
                ends & ever,
                lambda: joined(ended, now),
                lambda: lax.cond(ends, lambda: now, lambda: ended),
            )
            return lifted(run(body, *consts, *now)), ended, ever | ends, steps + ends

        checkpoints = {k: n for k, n in options.items() if k == "checkpoints" and n}
        state = start, start, jnp.asarray(False), jnp.asarray(0)
        now, ended, ever, steps = lax.while_loop(goes_on, step, state, **checkpoints)
        found = lax.cond(ever, lambda: joined(ended, now), lambda: now)
        anything = [top(x.type) for x in found]
        return lax.cond(steps < patience, lambda: found, lambda: anything)
