"""Programs with their own derivative, for handlers that thread state and own no values.

Such a handler changes nothing that a derivative is taken of: the state passes beside the program's
results, without a tangent, and the derivative stays what its author gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects import custom, shape
from effax.effects.effect import Effect
from effax.effects.handler import innermost
from effax.effects.program import Program
from effax.effects.types import tangent_dtype
from effax.interpreters.lifting import Lifted, Lifting, lift, rebuild


def lift_custom_with_state(
    handler: Lifting,
    effect: Effect,
    operands: tuple[Any, ...],
    attributes: dict[str, Any],
    answering: Lifting | None = None,
) -> list[Any]:
    """A call with its own derivative, its program lifted, its rule the same beside the state.

    The leaves of the state must be of types without tangents: integers and Booleans. What the rule
    performs is answered by a copy of `answering`, if given, whose state is dropped.
    """
    program: Program = attributes["program"]
    state = handler.state_mode()
    modes = tuple(map(handler.mode, operands))
    lifted = lift(program, handler, modes, state)
    before = handler.state_leaves(state)
    ins = len(lifted.captured) + len(before)
    outs = len(handler.state_types(lifted.state_mode))
    results = effect(
        *lifted.captured,
        *before,
        *operands,
        **{
            **attributes,
            "program": lifted.program,
            "rule": _rule(effect, attributes["rule"], lifted, ins, outs, answering),
        },
    )
    return rebuild(handler, results, lifted.out_modes, program.out_types, lifted.state_mode)


def _rule(
    effect: Effect, rule: Any, lifted: Lifted, ins: int, outs: int, answering: Lifting | None
) -> Any:
    key = "beside state", rule, ins, outs
    memo = lifted.program.memo
    found = memo.get(key)
    if found is None:
        kind = JvpBesideState if effect is custom.custom_jvp_call else VjpBesideState
        found = memo[key] = kind(rule, lifted.program, ins, outs, answering)
    return found


class _BesideState:
    """A rule of a program, for that program with `ins` more inputs and `outs` more results."""

    __slots__ = ("answering", "ins", "outs", "program", "rule")

    def __init__(
        self, rule: Any, program: Program, ins: int, outs: int, answering: Lifting | None
    ) -> None:
        self.answering = answering
        self.rule = rule
        self.program = program
        self.ins = ins
        self.outs = outs

    def state(self, primals: Sequence[Any]) -> list[Any]:
        """The state that the program leaves."""
        return self.program.run(*primals)[: self.outs]


class JvpBesideState(_BesideState):
    """A custom forward rule beside state."""

    __slots__ = ()

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """State, results, and their tangents."""
        results, moved = _answered(
            self.answering, self.rule, primals[self.ins :], tangents[self.ins :]
        )
        return [*self.state(primals), *results], [*(None,) * self.outs, *moved]


class VjpBesideState(_BesideState):
    """A custom reverse rule beside state."""

    __slots__ = ()

    @property
    def optimize_remat(self) -> bool:
        """Whether the program may stand for the forward function where no residuals are wanted."""
        return bool(self.rule.optimize_remat)

    def forward(
        self, primals: Sequence[Any], moving: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        """State and results, and the residuals."""
        results, residuals = _answered(
            self.answering, self.rule.forward, primals[self.ins :], moving[self.ins :]
        )
        return [*self.state(primals), *results], list(residuals)

    def backward_of(self, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> Any:
        """The backward function between the results and operands that move: no state is among
        them, but captured values may be, on which nothing depends but the state."""
        inner = self.rule.backward_of(tuple(i - self.outs for i in moving), wanted[self.ins :])
        extra = [x.type for x in self.program.inputs[: self.ins]]
        extra = [t for t, w in zip(extra, wanted, strict=False) if w]
        return Backward(inner, extra, self.answering)


class Backward:
    """A backward function, with zeros for inputs that no derivative reaches."""

    __slots__ = ("answering", "extra", "inner", "memo")

    def __init__(self, inner: Any, extra: Sequence[Any], answering: Lifting | None) -> None:
        self.answering = answering
        self.inner = inner
        self.extra = extra
        self.memo: dict[Any, Any] = {}

    @property
    def symbolic(self) -> bool:
        """Whether the rule takes None for cotangents that are zero."""
        return bool(self.inner.symbolic)

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of all inputs."""
        zeros = [shape.full(t.shape, 0, tangent_dtype(t.dtype)) for t in self.extra]
        return [*zeros, *_answered(self.answering, self.inner, residuals, cotangents)]


def _answered(answering: Lifting | None, function: Callable[..., Any], *args: Any) -> Any:
    if answering is None:
        return function(*args)
    return answering.fresh(innermost()).run(function, *args)
