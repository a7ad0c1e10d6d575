"""Custom rules of functions whose effects a handler answers: it answers those of the rule, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.handler import innermost
from effax.effects.rows import custom, shape
from effax.effects.rows.solving import Counts, linear_solve, sections
from effax.effects.types import ShapedArray, float0, tangent_dtype, typeof
from effax.interpreters.functor.lifting import Lifting, Mode
from effax.interpreters.stage import stage


@attrs.frozen(slots=True, eq=False)
class Answering:
    """A handler to install again, and where its state is among a lifted body's inputs."""

    like: Lifting
    state: Mode
    start: int

    def __call__(self, ins: Sequence[Any], function: Callable[..., Any], *args: Any) -> Any:
        """Call a function under the handler, whose state is the one that the body started with."""
        inner = self.like.fresh(innermost())
        n = len(inner.state_types(self.state))
        inner.state_set(self.state, ins[self.start : self.start + n])
        return inner.run(_plain, inner, function, *args)

    def solved(
        self, ins: Sequence[Any], operands: Sequence[Any], *, consts: Counts, **programs: Any
    ) -> list[Any]:
        """A linear system whose four programs are run under the handler, each from that state."""
        n = len(self.like.state_types(self.state))
        before = list(ins[self.start : self.start + n])
        again = attrs.evolve(self, start=0)
        *parts, b = sections(operands, consts)
        given: list[Any] = []
        for name, own in zip(consts._fields, parts, strict=True):
            given += [*before, *own]
            p = programs[name]
            if p is not None:
                types = [*map(typeof, before), *p.in_types]
                programs[name] = stage(
                    lambda *v, p=p: again(v[:n], p.run, *v[n:]), types, p.name
                ).program
        counts = Counts(*(k + n for k in consts))
        results: list[Any] = linear_solve(*given, *b, consts=counts, **programs)
        return results

    @property
    def stateful(self) -> bool:
        """Whether there is a state."""
        return bool(self.like.state_types(self.state))


def _plain(inner: Lifting, function: Callable[..., Any], *args: Any) -> Any:
    """Return the results of a function as values: of the handler's own, their value leaves."""
    pair = function(*args)
    if type(pair) is not tuple:
        return [_value(inner, x) for x in pair]
    return tuple([_value(inner, x) for x in part] for part in pair)


def _value(inner: Lifting, x: Any) -> Any:
    mode = inner.mode(x)
    at = None if mode is None else inner.value_leaf(mode)
    if mode is None:
        return x
    if at is None:
        raise UnsupportedDerivativeError(
            f"{type(inner).__name__}: a custom rule needs to know which leaf is the value itself; "
            "declare that leaf, `value: Leaf(primal=True)`"
        )
    return inner.leaves(x, mode)[at]


class _Answered:
    """A rule under a handler, for all inputs of a lifted body, of which `at` are the values."""

    __slots__ = ("answering", "at", "name", "rule", "types")

    def __init__(
        self,
        rule: Any,
        answering: Answering,
        at: Sequence[int],
        types: Sequence[ShapedArray],
        name: str,
    ) -> None:
        self.rule = rule
        self.answering = answering
        self.at = at
        self.types = types
        self.name = name

    def values(self, ins: Sequence[Any]) -> list[Any]:
        """Of all inputs, those of the rule."""
        return [ins[i] for i in self.at]

    def only_values_move(self, moving: Sequence[bool]) -> None:
        """Raise `UnsupportedDerivativeError` where a state is differentiated: the values depend on
        it in a way that the rule does not say."""
        if any(m for i, m in enumerate(moving) if i not in self.at):
            raise UnsupportedDerivativeError(
                f"the rule of {self.name} says nothing of the state of "
                f"{type(self.answering.like).__name__}, which answers effects in it and is "
                "being differentiated"
            )


class AnsweredJvp(_Answered):
    """A forward rule."""

    __slots__ = ()

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Results and tangents."""
        self.only_values_move([t is not None for t in tangents])
        return self.answering(primals, self.rule, self.values(primals), self.values(tangents))


class AnsweredVjp(_Answered):
    """A reverse rule."""

    __slots__ = ()

    @property
    def optimize_remat(self) -> bool:
        """Whether the program may stand for the forward function where no residuals are wanted."""
        return bool(self.rule.optimize_remat)

    def forward(
        self, primals: Sequence[Any], moving: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        """Results and residuals."""
        self.only_values_move(moving)
        found = self.answering(
            primals, self.rule.forward, self.values(primals), self.values(moving)
        )
        return found

    def backward_of(self, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> Any:
        """The backward function between the results and all inputs that move."""
        return AnsweredBackward(self, moving, wanted)


class AnsweredBackward:
    """A backward function, with zeros for inputs that no derivative reaches.

    A state is gone by the time it runs: what it performs is the handler's only without one.
    """

    __slots__ = ("inner", "memo", "owner", "wanted")

    def __init__(
        self, owner: AnsweredVjp, moving: tuple[int, ...], wanted: tuple[bool, ...]
    ) -> None:
        self.owner = owner
        self.wanted = wanted
        self.inner = owner.rule.backward_of(moving, tuple(wanted[i] for i in owner.at))
        self.memo: dict[Any, Any] = {}

    @property
    def symbolic(self) -> bool:
        """Whether the rule takes None for cotangents that are zero."""
        return bool(self.inner.symbolic)

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of all inputs that move."""
        answering = self.owner.answering
        if answering.stateful:
            given = self.inner(residuals, cotangents)
        else:
            given = answering((), self.inner, residuals, cotangents)
        rest = iter(given)
        return [
            next(rest) if i in self.owner.at else shape.full(t.shape, 0, tangent_dtype(t.dtype))
            for i, (t, w) in enumerate(zip(self.owner.types, self.wanted, strict=True))
            if w and tangent_dtype(t.dtype) != float0
        ]


class AnsweredVmap(_Answered):
    """A batching rule."""

    __slots__ = ()

    def __call__(self, size: int, batched: Sequence[bool], ins: Sequence[Any]) -> Any:
        """Results of the whole batch, and which of them are batched.

        Raises `UnsupportedDerivativeError` where each lane has a state of its own.
        """
        if any(b for i, b in enumerate(batched) if i not in self.at):
            raise UnsupportedDerivativeError(
                f"the batching rule of {self.name} takes the whole batch, but each lane has a "
                f"state of {type(self.answering.like).__name__}, which answers effects in it"
            )
        return self.answering(ins, self._rule, size, self.values(batched), self.values(ins))

    def _rule(self, size: int, batched: Sequence[bool], values: Sequence[Any]) -> Any:
        results, flags = self.rule(size, batched, values)
        return list(results), list(flags)


answered: Final[dict[Effect, Any]] = {
    custom.custom_jvp_call: AnsweredJvp,
    custom.custom_vjp_call: AnsweredVjp,
    custom.custom_vmap_call: AnsweredVmap,
}
