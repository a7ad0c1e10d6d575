"""Batching programs that bring their own derivative: the derivative is batched with them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final

from effax.effects.contexts import put, put_back
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.handler import current, innermost
from effax.effects.program import Program
from effax.effects.rows import custom, reduction
from effax.effects.types import float0, tangent_dtype, typeof
from effax.interpreters.batch.batched import BATCHED, Batch, Batched, repeat, rule
from effax.interpreters.custom_linear import Coupled, forward
from effax.interpreters.functor.lifting import PLAIN, Lifted, lift
from effax.interpreters.stage import stage


class Lanes:
    """The batch that a rule was met in, to run parts of the rule under, later."""

    __slots__ = ("met", "static")

    def __init__(self, handler: Batch) -> None:
        self.static = handler.static
        self.met = weakref.ref(handler)

    def handler(self) -> Batch:
        """The very batch while its function runs, as the rule may close over values of that; else
        another one like it."""
        met = self.met()
        return met if met is not None and met.live else Batch(None, *self.static)

    def run(self, handler: Batch, function: Any, *args: Any) -> Any:
        """Call a function under the batch, installed on top of the present handlers."""
        outer, handler.outer = handler.outer, innermost()
        token = put(current, handler)
        try:
            return function(*args)
        finally:
            put_back(token)
            handler.outer = outer


class BatchedJvp:
    """A custom forward rule, for a batch: the rule run under the batch.

    The first `held` operands are what the program of the batch closes over, such as an array that a
    batching rule inside mentions; the rule, which the author gave, knows nothing of them.
    """

    __slots__ = ("batched", "held", "lanes", "name", "outs", "rule")

    def __init__(
        self, rule: Any, handler: Batch, batched: tuple[bool, ...], done: Lifted, name: str
    ) -> None:
        self.rule = rule
        self.name = name
        self.lanes = Lanes(handler)
        self.batched = batched
        self.held = len(done.captured)
        self.outs = _which(done)

    @property
    def captured(self) -> int:
        """The number of operands that the function captured."""
        return self.held + getattr(self.rule, "captured", 0)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Results and tangents of the batch."""
        _refuse_moving(self.name, tangents[: self.held])
        handler = self.lanes.handler()
        values = _wrap(handler, primals[self.held :], self.batched)
        directions = [
            None if t is None else (Batched(handler, t) if b else t)
            for t, b in zip(tangents[self.held :], self.batched, strict=True)
        ]
        results, moved = self.lanes.run(handler, self.rule, values, directions)
        return (
            [_unwrap(handler, x, b) for x, b in zip(results, self.outs, strict=True)],
            [
                None if t is None else _unwrap(handler, t, b)
                for t, b in zip(moved, self.outs, strict=True)
            ],
        )


class BatchedVjp:
    """A custom reverse rule, for a batch; cotangents of operands it shares are summed over it.

    The first `held` operands are what the program of the batch closes over; see `BatchedJvp`.
    """

    __slots__ = ("batched", "held", "lanes", "name", "outs", "residual_modes", "rule")

    def __init__(
        self, rule: Any, handler: Batch, batched: tuple[bool, ...], done: Lifted, name: str
    ) -> None:
        self.rule = rule
        self.name = name
        self.lanes = Lanes(handler)
        self.batched = batched
        self.held = len(done.captured)
        self.outs = _which(done)
        self.residual_modes: tuple[bool, ...] = ()

    @property
    def captured(self) -> int:
        """The number of operands that the function captured."""
        return self.held + getattr(self.rule, "captured", 0)

    @property
    def optimize_remat(self) -> bool:
        """Whether the program may stand for the forward function where no residuals are wanted."""
        return bool(self.rule.optimize_remat)

    def forward(
        self, primals: Sequence[Any], moving: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        """Results and residuals of the batch."""
        _refuse_moving(self.name, [m or None for m in moving[: self.held]])
        handler = self.lanes.handler()
        values = _wrap(handler, primals[self.held :], self.batched)
        results, residuals = self.lanes.run(handler, self.rule.forward, values, moving[self.held :])
        self.residual_modes = tuple(handler.owns(x) for x in residuals)
        return (
            [_unwrap(handler, x, b) for x, b in zip(results, self.outs, strict=True)],
            [x.many if handler.owns(x) else x for x in residuals],
        )

    def backward_of(self, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> Any:
        """The backward function between the results and operands that move."""
        inner = self.rule.backward_of(moving, wanted[self.held :])
        return BatchedBackward(self, inner, moving, wanted)


def _which(done: Lifted) -> tuple[bool, ...]:
    """Find the results of a program for a batch that are batched."""
    return tuple(m is not PLAIN for m in done.out_modes)


def _refuse_moving(name: str, tangents: Sequence[Any]) -> None:
    """Raise `UnsupportedDerivativeError` where a value that a batching rule mentions moves."""
    if any(t is not None for t in tangents):
        raise UnsupportedDerivativeError(
            f"{name} has a derivative rule of its own, and a batching rule inside of it closes "
            f"over a value that is differentiated; pass that value to {name} as an argument"
        )


class BatchedBackward:
    """A backward function for a batch."""

    __slots__ = ("inner", "memo", "none", "outs", "owner", "wanted")

    def __init__(
        self, owner: BatchedVjp, inner: Any, moving: tuple[int, ...], wanted: tuple[bool, ...]
    ) -> None:
        self.owner = owner
        self.inner = inner
        self.outs = [owner.outs[i] for i in moving]
        self.none = sum(wanted[: owner.held])
        self.wanted = [b for b, w in zip(owner.batched, wanted[owner.held :], strict=True) if w]
        self.memo: dict[Any, Any] = {}

    @property
    def symbolic(self) -> bool:
        """Whether the rule takes None for cotangents that are zero."""
        return bool(self.inner.symbolic)

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the operands of the batch."""
        lanes = self.owner.lanes
        handler = lanes.handler()
        given = lanes.run(
            handler,
            self.inner,
            _wrap(handler, residuals, self.owner.residual_modes),
            _wrap(handler, cotangents, self.outs),
        )
        summed = [
            None if ct is None else _summed(handler, ct, batched)
            for ct, batched in zip(given, self.wanted, strict=True)
        ]
        return [None] * self.none + summed


def _wrap(handler: Batch, values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    return [
        Batched(handler, x) if b and x is not None else x
        for x, b in zip(values, batched, strict=True)
    ]


def _unwrap(handler: Batch, value: Any, batched: bool) -> Any:
    if handler.owns(value):
        if not batched:
            raise UnsupportedDerivativeError(
                "a derivative rule under vmap returned a result that differs between lanes, while "
                "the function's own result does not, and the rule could not be tried beforehand, "
                "as it raises an error when all operands are differentiated; let the function "
                "itself depend on the mapped argument"
            )
        return value.many
    return repeat(value, handler.size) if batched else value


def _summed(handler: Batch, ct: Any, batched: bool) -> Any:
    if batched:
        return _unwrap(handler, ct, True)
    return reduction.reduce_sum(_unwrap(handler, ct, True), axes=(0,))


def _lifted(
    handler: Batch, values: Sequence[Any], batched: Sequence[bool], program: Program, answer: Any
) -> Lifted:
    """The program for a batch.

    What the rule makes batched is, be it a tangent of a result that by itself is not. The rule is
    traced to see it only where there is such a result.
    """
    modes = tuple(BATCHED if b else PLAIN for b in batched)
    done = lift(program, handler, modes)
    movable = [tangent_dtype(t.dtype) != float0 for t in program.out_types]
    plain = any(m is PLAIN and moves for m, moves in zip(done.out_modes, movable, strict=True))
    if plain and not _asking.get():
        try:
            found = _batched_by(handler, values, batched, answer)
        except UnsupportedDerivativeError:
            # The rule refuses to have some operands differentiated, such as an interpreter's state.
            # Without it the batched results are not known, so all count as batched.
            found = [True] * len(program.outputs)
        except Exception:
            # Nobody has taken a derivative yet, and the rule may refuse to have one taken. An error
            # that it raises here it will raise again when its derivative is needed.
            found = [False] * len(program.outputs)
        raised = tuple(
            BATCHED if many and moves else mode
            for mode, many, moves in zip(done.out_modes, found, movable, strict=True)
        )
        if raised != done.out_modes:
            done = lift(program, handler, modes, out_modes=raised)
    return done


def _batched_by(
    handler: Batch, values: Sequence[Any], batched: Sequence[bool], answer: Any
) -> list[bool]:
    """Find the batched results of a rule; `answer(operands)` gives what belongs to each."""
    found: list[bool] = []

    def flat(*operands: Any) -> list[Any]:
        lanes = Lanes(handler)
        inner = lanes.handler()
        results = lanes.run(inner, answer, _wrap(inner, operands, batched))
        found[:] = [any(map(inner.owns, belonging)) for belonging in results]
        return []

    token = put(_asking, True)
    try:
        stage(flat, [typeof(x) for x in values], "rule")
    finally:
        put_back(token)
    return found


_asking: Final[ContextVar[bool]] = ContextVar("effax.asking_a_rule", default=False)
"""Set while a rule is traced for what it makes batched: it may call its own function."""


def _moving(rule: Any, operands: Sequence[Any]) -> list[bool]:
    """Find the operands that a rule may be asked to move: not those that the function captured."""
    captured = getattr(rule, "captured", 0)
    return [
        i >= captured and tangent_dtype(typeof(x).dtype) != float0 for i, x in enumerate(operands)
    ]


@rule(custom.custom_jvp_call)
def custom_jvp_call_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    program: Program,
    rule: Any,
    name: str,
) -> Any:
    def answer(operands: Sequence[Any]) -> Any:
        directions = zip(operands, _moving(rule, operands), strict=True)
        return zip(*rule(operands, [x if m else None for x, m in directions]), strict=True)

    done = _lifted(handler, values, batched, program, answer)
    inner = BatchedJvp(rule, handler, tuple(batched), done, name)
    operands = *done.captured, *values
    found = custom.custom_jvp_call(*operands, program=done.program, rule=inner, name=name)
    return found, inner.outs


@rule(custom.custom_vjp_call)
def custom_vjp_call_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    program: Program,
    rule: Any,
    name: str,
) -> Any:
    def answer(operands: Sequence[Any]) -> Any:
        return zip(rule.forward(operands, _moving(rule, operands))[0], strict=True)

    done = _lifted(handler, values, batched, program, answer)
    inner = BatchedVjp(rule, handler, tuple(batched), done, name)
    operands = *done.captured, *values
    found = custom.custom_vjp_call(*operands, program=done.program, rule=inner, name=name)
    return found, inner.outs


@rule(custom.custom_vmap_call)
def custom_vmap_call_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    program: Program,
    rule: Any,
    name: str,
) -> Any:
    """The user's rule takes the whole batch."""
    return rule(handler.size, batched, values)


@rule(custom.custom_linear)
def custom_linear_batch(
    handler: Batch,
    values: list[Any],
    batched: list[bool],
    *,
    residuals: int,
    out_types: Any,
    backward: Any,
) -> Any:
    if type(backward) is Coupled:
        return _batched_both_ways(handler, values, batched, backward)
    inner = Batch(None, *handler.static)
    wrapped = _wrap(inner, values, batched)
    found = forward(residuals, out_types, backward, [typeof(x) for x in wrapped])
    results = inner.run(found.program.run, *found.captured, *wrapped)
    return [x.many if inner.owns(x) else x for x in results], [inner.owns(x) for x in results]


def _batched_both_ways(
    handler: Batch, values: Sequence[Any], batched: Sequence[bool], backward: Coupled
) -> tuple[list[Any], list[bool]]:
    """The map for a batch, coupled with its transpose for the batch."""
    n = backward.residuals
    modes = tuple(BATCHED if b else PLAIN for b in batched[:n])
    linear = [
        x if b else repeat(x, handler.size) for x, b in zip(values[n:], batched[n:], strict=True)
    ]

    def lifted(program: Program, back: Program) -> Lifted:
        ins, outs = len(program.inputs) - n, len(back.inputs) - n
        return lift(program, handler, (*modes, *(BATCHED,) * ins), out_modes=(BATCHED,) * outs)

    forward = lifted(backward.program, backward.transposed)
    back = lifted(backward.transposed, backward.program)
    both = Coupled.of(forward, back, n)
    results = both.perform([*forward.captured, *back.captured, *values[:n], *linear])
    return results, [True] * len(results)
