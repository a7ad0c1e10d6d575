"""Control flow on answers that an interpreter is not sure of: all that may happen, joined.

An interpreter that carries sets of values (bounds, abstract states) can't always say which branch
is taken, nor when a loop ends. What it can say is whether a predicate may have a value, what holds
of either of two results, and what holds of everything; the meaning of `cond` and `while` follows
(Cousot & Cousot 1977, "Abstract Interpretation").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from types import SimpleNamespace
from typing import Any

from effax import lax
from effax import numpy as jnp
from effax.effects.contexts import put
from effax.effects.handler import current
from effax.effects.rows import control
from effax.effects.rows.selection import clamp
from effax.effects.types import ShapedArray
from effax.interpreters.functor.fixpoints import fixpoint
from effax.interpreters.functor.lifting import PLAIN, Lifted, leaf_count, leaves_of, lift
from effax.interpreters.interpreter import Interpreter
from effax.interpreters.interpreter.telling import tell
from effax.interpreters.stage import Stage, stage

__all__ = ["unsure"]
__dir__ = __all__.copy


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
    a plain index `cond` is what it was. States go through the branches that are possible, one after
    the other, and through each step that is run; logs can't be written there.

    `may`, `join` and `top` may have a parameter `settings`, to read the settings by name; and `top`
    also `mode`, the `Mode` of the value in whose place it stands.

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

    @interpreter.rule(control.cond)
    def branches_that_are_possible(
        which: Any, *xs: Any, branches: Any, run: Any, state: Any
    ) -> Any:
        if not isinstance(which, interpreter):
            return NotImplemented
        last = len(branches) - 1
        inside = stage(lambda i: [clamp(0, i, last)], [which.type], "inside").program
        (which,) = run(inside, which)
        joins = _Joins(state._handler, join)
        possible = [joins.told(may, which, k) for k in range(last + 1)]
        done = _Branches(joins, branches, xs)
        first = jnp.argmax(jnp.stack(possible))
        found = lax.switch(first, [lambda k=k: done.run(k, done.before) for k in range(last + 1)])
        for k in range(1, last + 1):
            found = lax.cond(
                possible[k] & (first < k),
                lambda found=found, k=k: done.also(k, *found),
                lambda found=found: found,
            )
        after, leaves = found
        return joins.finished(after, leaves, done.modes, done.types, done.state)

    @interpreter.rule(control.while_loop)
    def steps_that_are_possible(
        *xs: Any,
        cond: Any,
        body: Any,
        cond_consts: int,
        body_consts: int,
        state: Any,
        **options: Any,
    ) -> Any:
        joins = _Joins(state._handler, join)
        loop = _Loop(joins, cond, body, xs[:cond_consts], xs[cond_consts:][:body_consts])
        start = loop.started(xs[cond_consts + body_consts :])
        if loop.verdict is PLAIN:
            return NotImplemented
        modes, types = loop.modes, loop.types

        def asked(s: Any, now: Any) -> Any:
            s, verdict = loop.ask(s, now)
            return s, joins.told(may, verdict, 1), joins.told(may, verdict, 0)

        def goes_on(values: Any) -> Any:
            (_, goes, _), _, _, _, steps = values
            return goes & (steps < patience)

        def step(values: Any) -> Any:
            (s, _, ends), now, ended, ever, steps = values
            ended = lax.cond(
                ends & ever,
                lambda: joins.joined(ended, now, modes, types),
                lambda: lax.cond(ends, lambda: now, lambda: ended),
            )
            s, now_after = loop.step(s, now)
            return asked(s, now_after), now_after, ended, ever | ends, steps + ends

        checkpoints = {k: n for k, n in options.items() if k == "checkpoints" and n}
        begun = asked(loop.before, start), start, start, jnp.asarray(False), jnp.asarray(0)
        values = lax.while_loop(goes_on, step, begun, **checkpoints)
        (s, _, _), now, ended, ever, steps = values
        found = lax.cond(ever, lambda: joins.joined(ended, now, modes, types), lambda: now)
        anything = [joins.told(top, t, mode=m) for t, m in zip(types, modes, strict=True)]
        found, anything, modes = joins.at_one(found, anything, modes, types)
        found = lax.cond(steps < patience, lambda: found, lambda: anything)
        return joins.finished(s, found, modes, types, loop.state)


class _Joins:
    """Data of an interpreter as the leaves of its modes, and joins of them."""

    def __init__(self, handler: Any, join: Callable[..., Any]) -> None:
        self.handler = handler
        self.join = join

    def told(self, function: Callable[..., Any], *args: Any, mode: Any = PLAIN) -> Any:
        """Call a function with the settings and the mode, if it has parameters for them."""
        return tell(self.handler, function, *args, mode=mode)

    def carried(self, x: Any) -> Any:
        """Data as a value of the handler."""
        return self.handler._carried(x) if isinstance(x, self.handler.interpreter) else x

    def data(self, leaves: Sequence[Any], modes: Sequence[Any], types: Any) -> list[Any]:
        """The data that these leaves are."""
        rest = iter(leaves)
        counts = [leaf_count(self.handler, m, t) for m, t in zip(modes, types, strict=True)]
        taken = [[next(rest) for _ in range(n)] for n in counts]
        return [self.handler.value(m, xs).data for m, xs in zip(modes, taken, strict=True)]

    def leaves(self, values: Sequence[Any], modes: Sequence[Any]) -> list[Any]:
        """The leaves of values, or of data, raised to these modes."""
        found: list[Any] = []
        for x, mode in zip(values, modes, strict=True):
            found += leaves_of(self.handler, self.carried(x), mode)
        return found

    def joined(self, one: Any, other: Any, modes: Sequence[Any], types: Any) -> list[Any]:
        """The leaves of what is one of two lists of values."""
        pairs = zip(self.data(one, modes, types), self.data(other, modes, types), strict=True)
        return self.leaves([self.told(self.join, x, y) for x, y in pairs], modes)

    def above(self, mode: Any, type: ShapedArray) -> Any:
        """The least mode of the interpreter's own, above a mode, that joins have too."""
        if mode is PLAIN:
            mode = self._mode_of(self.handler.lifted, [type])
        before: Any = None
        while before != mode:

            def itself(*leaves: Any, mode: Any = mode) -> Any:
                x = self.handler.value(mode, leaves).data
                return self.told(self.join, x, x)

            before, found = mode, self._mode_of(itself, self.handler.leaf_types(mode, type))
            mode = self.handler.join(mode, found)
        return mode

    def _mode_of(self, function: Callable[..., Any], types: Sequence[ShapedArray]) -> Any:
        """The mode of the data that a function gives of values of these types."""
        recorder = Stage()
        token = put(current, recorder)
        try:
            data = function(*map(recorder.input, types))
            return self.handler.mode(self.carried(data))
        finally:
            current.reset(token)
            recorder.close()

    def at_one(self, found: Any, data: Sequence[Any], modes: Sequence[Any], types: Any) -> Any:
        """Leaves of these modes, and data, both raised to the modes' joins; and these."""
        own = [self.handler.mode(self.carried(x)) for x in data]
        both = [self.handler.join(a, b) for a, b in zip(modes, own, strict=True)]
        return self.leaves(self.data(found, modes, types), both), self.leaves(data, both), both

    def finished(self, state: Any, leaves: Any, modes: Sequence[Any], types: Any, s: Any) -> Any:
        """The data that these leaves are; the state is set."""
        self.handler.state_set(s, state)
        return self.data(leaves, modes, types)

    def refuse_logs(self, lifted: Lifted, what: str) -> None:
        """Raise `TypeError` where a program writes to a log."""
        if lifted.log:
            raise TypeError(
                f"{self.handler.interpreter.__name__}: {what} that may be taken or not writes "
                f"{lifted.log}; keep the data in a state"
            )


class _Branches:
    """The branches of a `cond` at one mode of results and of states."""

    def __init__(self, joins: _Joins, branches: Sequence[Any], xs: Sequence[Any]) -> None:
        self.joins, self.types, handler = joins, branches[0].out_types, joins.handler
        operands = [joins.carried(x) for x in xs]
        modes = tuple(map(handler.mode, operands))
        self.operands = joins.leaves(operands, modes)

        def all_at(_: Any, state: Any) -> Any:
            found = [lift(b, handler, modes, state) for b in branches]
            return SimpleNamespace(
                out_modes=(),
                results=[one.out_modes for one in found],
                state_mode=reduce(handler.state_join, [one.state_mode for one in found], state),
            )

        first, _, self.state = fixpoint(handler, all_at, (), handler.state_mode())
        raised = [
            [joins.above(m, t) for m, t in zip(ms, self.types, strict=True)] for ms in first.results
        ]
        self.modes = tuple(reduce(handler.join, column) for column in zip(*raised, strict=True))
        self.lifted = [
            lift(b, handler, modes, self.state, self.modes, self.state) for b in branches
        ]
        for one in self.lifted:
            joins.refuse_logs(one, "a branch")
        self.before = list(handler.state_leaves(self.state))

    def run(self, k: int, state: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The state after a branch, and its results, as leaves."""
        one = self.lifted[k]
        found = one.program.run(*one.captured, *state, *self.operands)
        return found[: len(state)], found[len(state) :]

    def also(self, k: int, state: Sequence[Any], found: Sequence[Any]) -> Any:
        """The value found, or the result of a branch; the state goes through it."""
        state, other = self.run(k, state)
        return state, self.joins.joined(found, other, self.modes, self.types)


class _Loop:
    """Condition and body of a `while` at modes that its steps keep, on leaves."""

    def __init__(self, joins: _Joins, cond: Any, body: Any, own: Any, consts: Any) -> None:
        self.joins, self.cond, self.body = joins, cond, body
        self.own, self.consts = ([joins.carried(x) for x in part] for part in (own, consts))
        self.types = body.out_types

    def started(self, xs: Sequence[Any]) -> list[Any]:
        """Find the modes from the initial carry; its leaves."""
        joins, handler = self.joins, self.joins.handler
        own, consts = (tuple(map(handler.mode, part)) for part in (self.own, self.consts))

        def raised(modes: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(joins.above(m, t) for m, t in zip(modes, self.types, strict=True))

        def once(modes: Any, state: Any) -> Any:
            test = lift(self.cond, handler, own + modes, state)
            step = lift(self.body, handler, consts + modes, state)
            both = handler.state_join(test.state_mode, step.state_mode)
            return SimpleNamespace(
                out_modes=raised(step.out_modes), state_mode=both, verdict=test.out_modes[0]
            )

        carry = [joins.carried(x) for x in xs]
        begun = raised(list(map(handler.mode, carry)))
        found, modes, state = fixpoint(handler, once, begun, handler.state_mode())
        self.verdict, self.modes, self.state = found.verdict, modes, state
        out = (self.verdict,)
        self._test = lift(self.cond, handler, own + modes, state, out, state)
        self._step = lift(self.body, handler, consts + modes, state, modes, state)
        for one in (self._test, self._step):
            joins.refuse_logs(one, "a step of a loop")
        self.before = list(handler.state_leaves(state))
        self._own, self._consts = joins.leaves(self.own, own), joins.leaves(self.consts, consts)
        return joins.leaves(carry, modes)

    def ask(self, state: Sequence[Any], now: Sequence[Any]) -> tuple[list[Any], Any]:
        """The state after the condition, and the data of its verdict."""
        one = self._test
        found = one.program.run(*one.captured, *state, *self._own, *now)
        n = len(state)
        (verdict,) = self.joins.data(found[n:], (self.verdict,), self.cond.out_types)
        return found[:n], verdict

    def step(self, state: Sequence[Any], now: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The state and the carry after a step."""
        one = self._step
        found = one.program.run(*one.captured, *state, *self._consts, *now)
        return found[: len(state)], found[len(state) :]
