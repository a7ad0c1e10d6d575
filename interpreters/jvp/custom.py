"""Forward mode through programs that bring their own derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.handler import bottom, innermost
from effax.effects.program import Program
from effax.effects.rows import custom
from effax.effects.rows.shape import repeat
from effax.effects.types import typeof
from effax.interpreters.custom_linear import Coupled, closed, decided, forward, taking
from effax.interpreters.functor.lifting import PLAIN, lift
from effax.interpreters.jvp.dual import (
    DUAL,
    JVP,
    moves,
    rule,
    tangent_type,
    total,
    zeros,
    zeros_like,
)
from effax.interpreters.residual.custom import dependent
from effax.interpreters.stage import stage


@rule(custom.custom_jvp_call, pure=True)
def custom_jvp_call_jvp(
    primals: list[Any], tangents: list[Any], *, program: Program, rule: Any, name: str
) -> Any:
    return rule(primals, tangents)


@rule(custom.custom_vjp_call, pure=True)
def custom_vjp_call_jvp(
    primals: list[Any], tangents: list[Any], *, program: Program, rule: Any, name: str
) -> Any:
    moved = [t is not None for t in tangents]
    if rule.optimize_remat:
        results, residuals = _forward(primals, program, rule, moved, name)
    else:
        results, residuals = rule.forward(primals, moved)
    types = [typeof(x) for x in results]
    moving = [i for i, t in enumerate(types) if moves(t)]
    directions = [
        (zeros_like(p) if t is None else t)
        for p, t in zip(primals, tangents, strict=True)
        if moves(typeof(p))
    ]
    operands: Any = (*residuals, *directions)
    attributes = {
        "residuals": len(residuals),
        "out_types": tuple(tangent_type(types[i]) for i in moving),
        "backward": rule.backward_of(tuple(moving), tuple(moves(typeof(p)) for p in primals)),
    }
    top = innermost()
    if decided(residuals) if top is bottom else not top.linear:
        operands, attributes = closed(operands, attributes)
    out = custom.custom_linear(*operands, **attributes)
    found: list[Any] = [None] * len(results)
    for i, t in zip(moving, out, strict=True):
        found[i] = t
    return results, found


def _forward(
    primals: list[Any], program: Program, rule: Any, moved: list[bool], name: str
) -> tuple[list[Any], list[Any]]:
    """Results and residuals, of one effect that may do without the latter."""

    def flat(*values: Any) -> list[Any]:
        results, residuals = rule.forward(values, moved)
        return [*results, *residuals]

    staged = stage(flat, [typeof(p) for p in primals], name)
    count = len(program.outputs)
    found = custom.custom_vjp_forward(
        *staged.captured,
        *primals,
        program=taking(program, staged.captured),
        forward=staged.program,
        name=name,
    )
    return found[:count], found[count:]


@rule(custom.custom_linear, pure=True)
def custom_linear_jvp(
    primals: list[Any], tangents: list[Any], *, residuals: int, out_types: Any, backward: Any
) -> Any:
    attributes = {"residuals": residuals, "out_types": out_types, "backward": backward}
    still = all(t is None for t in tangents[:residuals])
    pushed: list[Any] = [None] * len(out_types)
    apart = type(backward) is Coupled and any(t is not None for t in tangents[residuals:])
    if still or apart:
        directions = [
            zeros(typeof(p)) if t is None else t
            for p, t in zip(primals[residuals:], tangents[residuals:], strict=True)
        ]
        pushed = custom.custom_linear(*primals[:residuals], *directions, **attributes)
    if still:
        return custom.custom_linear(*primals, **attributes), pushed
    if apart:
        tangents = [*tangents[:residuals], *(None for _ in tangents[residuals:])]
    found = forward(residuals, out_types, backward, [typeof(p) for p in primals])
    handler = JVP()
    duals = [handler.dual(p, t) for p, t in zip(primals, tangents, strict=True)]
    pairs = [handler.split(x) for x in handler.run(found.program.run, *found.captured, *duals)]
    moved = [total([t, own]) for (_, t), own in zip(pairs, pushed, strict=True)]
    return [p for p, _ in pairs], moved


class _BatchingOfDuals:
    """A user's batching rule for the forward derivative of its function: the rule's derivative."""

    __slots__ = ("in_modes", "lifted", "name", "program", "rule")

    def __init__(
        self, rule: Any, program: Program, in_modes: Sequence[Any], lifted: Any, name: str
    ) -> None:
        self.rule = rule
        self.name = name
        self.program = program
        self.in_modes = in_modes
        self.lifted = lifted

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        handler = JVP()
        n = len(self.lifted.captured)
        given = zip(values[n:], batched[n:], strict=True)
        pairs = [[next(given) for _ in range(1 if m is PLAIN else 2)] for m in self.in_modes]
        flags = [any(b for _, b in pair) for pair in pairs]
        duals = []
        for mode, pair, many in zip(self.in_modes, pairs, flags, strict=True):
            leaves = [x if b or not many else repeat(x, size) for x, b in pair]
            duals.append(leaves[0] if mode is PLAIN else handler.dual(*leaves))
        results, marks = handler.run(self.rule, size, flags, duals)
        out: list[Any] = []
        out_batched: list[bool] = []
        primals = self._primals(size, [pair[0] for pair in pairs], flags)
        modes = self.lifted.out_modes
        for i, (x, many, mode) in enumerate(zip(results, marks, modes, strict=True)):
            if mode is PLAIN and handler.owns(x):
                raise dependent(self.name)
            primal, tangent = handler.leaves(x, DUAL)
            found = [primals[i] if primals else (primal, many), (tangent, many)]
            for leaf, b in found[: 1 if mode is PLAIN else 2]:
                out.append(leaf)
                out_batched.append(b)
        return out, out_batched

    def _primals(
        self, size: int, pairs: Sequence[tuple[Any, bool]], flags: Sequence[bool]
    ) -> list[tuple[Any, bool]]:
        """The primal results by themselves, where fewer operands are batched in their primals than
        in their tangents: then fewer results are. Empty where there is no such operand."""
        values, batched = [x for x, _ in pairs], [b for _, b in pairs]
        if batched == list(flags):
            return []
        if not any(batched):
            return [(x, False) for x in self.program.run(*values)]
        results, marks = self.rule(size, batched, values)
        return list(zip(results, marks, strict=True))


@rule(custom.custom_vmap_call, pure=True)
def custom_vmap_call_jvp(
    primals: list[Any], tangents: list[Any], *, program: Program, rule: Any, name: str
) -> Any:
    """The call of the program's derivative, whose batching is the derivative of the rule."""
    handler = JVP()
    modes = tuple(PLAIN if t is None else DUAL for t in tangents)
    lifted = lift(program, handler, modes)
    pairs = zip(primals, tangents, strict=True)
    found = iter(
        custom.custom_vmap_call(
            *lifted.captured,
            *(x for pair in pairs for x in pair if x is not None),
            program=lifted.program,
            rule=_BatchingOfDuals(rule, program, modes, lifted, name),
            name=name,
        )
    )
    results = [(next(found), None if m is PLAIN else next(found)) for m in lifted.out_modes]
    return [p for p, _ in results], [t for _, t in results]
