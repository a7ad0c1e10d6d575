"""Programs that bring a rule of their own, carried through any handler with the rule.

A rule (`custom_jvp`, `custom_vjp`, `custom_vmap`, a solver's) speaks of the values of a program. Of
a handler's leaves it concerns those that are these values: the ones of `Lifting.value_leaf`, and
plain values. There the effect is performed unchanged, so whoever differentiates or batches outside
meets the rule. All other leaves, and the handler's state, are what the lifted body says, and are
differentiated through it.

Where an operand or a result has no leaf that is its value, nothing can be asked of the rule: then
the body is opened if the handler says so (`opens_rules`), or else the result can be used, but not
differentiated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import attrs

from effax.effects.effect import Effect
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.handler import bottom, innermost
from effax.effects.program import Program
from effax.effects.rows import custom, solving
from effax.effects.rows.shape import move_axis
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.custom.ruled import Answering, answered
from effax.interpreters.functor.lifting import (
    PLAIN,
    Lifted,
    Lifting,
    Mode,
    functor,
    leaf_count,
    leaves_of,
    lift,
    rebuild,
    reopen,
    take_log,
)
from effax.interpreters.stage import stage


def lift_forward(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """The forward half of a rule: a program like any other, since its rule was applied already."""
    return reopen(handler, attributes["forward"], operands)


def lift_ruled(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Perform an effect that has its own rule, on a handler's values."""
    body = _body(effect, operands, attributes)
    modes = tuple(map(handler.mode, operands))
    state = handler.state_mode()
    lifted = lift(body, handler, modes, state)
    before = handler.state_leaves(state)
    leaves = [leaves_of(handler, x, m) for x, m in zip(operands, modes, strict=True)]
    ins = [*lifted.captured, *before, *(x for part in leaves for x in part)]
    own = Ruled(
        effect,
        attributes,
        lifted,
        _values(handler, modes, body.in_types, len(lifted.captured) + len(before)),
        _values(
            handler,
            lifted.out_modes,
            body.out_types,
            len(handler.state_types(lifted.state_mode)),
        ),
        _answering(handler, effect, attributes, state, len(lifted.captured)),
        handler.static,
        type(handler),
    )
    if handler.opens_rules and not own.known:
        return reopen(handler, body, operands)
    if own.is_the_effect():
        results = effect(*own.operands(ins), **attributes)
    else:
        results = own.performed(ins, _Batching(handler, attributes, modes, lifted, body))
    results = take_log(handler, lifted, results)
    return rebuild(handler, results, lifted.out_modes, body.out_types, lifted.state_mode)


def _body(effect: Effect, operands: Sequence[Any], attributes: dict[str, Any]) -> Program:
    """Return the effect's body as a program of its operands, for handlers that ignore the rule."""
    if effect is not solving.linear_solve:
        program: Program = attributes["program"]
        return program
    solve, consts = attributes["solve"], attributes["consts"]
    types = tuple(map(typeof, operands))
    key = "whole solve", types, consts
    found: Program | None = solve.memo.get(key)
    if found is None:

        def whole(*values: Any) -> list[Any]:
            parts = solving.sections(values, consts)
            return solve.run(*parts[2], *parts[4])

        found = solve.memo[key] = stage(whole, types, solve.name).program
    return found


def _values(
    handler: Lifting, modes: Sequence[Mode], types: Sequence[ShapedArray], start: int
) -> tuple[int | None, ...]:
    """The places of the leaves that are values, None where a value has none."""
    found: list[int | None] = []
    for mode, type in zip(modes, types, strict=True):
        at = 0 if mode is PLAIN else handler.value_leaf(mode)
        found.append(None if at is None else start + at)
        start += leaf_count(handler, mode, type)
    return tuple(found)


def _answering(
    handler: Lifting, effect: Effect, attributes: dict[str, Any], state: Mode, captured: int
) -> Answering | None:
    if not handler.interprets(effect, attributes):
        return None
    return Answering(handler.fresh(bottom), state, captured)


@attrs.frozen(slots=True, eq=False)
class Ruled:
    """One effect with a rule, lifted: its leaves that are values, and who answers its effects.

    `ins` and `outs` are places among the inputs and results of the lifted body.
    """

    effect: Effect
    attributes: dict[str, Any]
    lifted: Lifted
    ins: tuple[int | None, ...]
    outs: tuple[int | None, ...]
    answering: Answering | None
    static: Any
    kind: type[Lifting]

    @property
    def known(self) -> bool:
        """Whether every operand and result has a leaf that is its value."""
        return None not in self.ins and None not in self.outs

    @property
    def name(self) -> str:
        """The name of the program in messages."""
        return str(self.attributes.get("name", self.effect.name))

    def is_the_effect(self) -> bool:
        """Whether values are all there is."""
        total = len(self.lifted.program.outputs)
        return self.known and self.answering is None and len(self.outs) == total

    def operands(self, ins: Sequence[Any]) -> list[Any]:
        """The operands of the effect itself."""
        return [ins[i] for i in self.ins if i is not None]

    def performed(self, ins: Sequence[Any], batching: _Batching) -> list[Any]:
        """The lifted body as one effect, whose rule is made of the author's."""
        program, memo = self.lifted.program, self.lifted.program.memo
        key = "ruled", self.effect, self.kind, self.static, *self.attributes.items()
        rule = memo.get(key)
        batched = self.effect is custom.custom_vmap_call
        if rule is None:
            if batched:
                rule = batching if batching.possible else SplitBatching(self)
            else:
                rule = SplitJvp(self)
            memo[key] = rule
        effect = custom.custom_vmap_call if batched else custom.custom_jvp_call
        results: list[Any] = effect(*ins, program=program, rule=rule, name=program.name)
        return results

    def others(self) -> Program | None:
        """The lifted body without values, and without what nothing of the rest depends on.

        None where nothing is left. Raises `UnsupportedDerivativeError` where what is left is to
        happen once, and happens beside the rule already.
        """
        places = set(self.outs)
        keep = [i not in places for i in range(len(self.lifted.program.outputs))]
        if not any(keep):
            return None
        found = _needed(self.lifted.program, keep)
        if found.row:
            kind = self.kind.__name__
            raise UnsupportedDerivativeError(
                f"{kind}: the function {self.name} has its own rule, and performs "
                f"{sorted(found.row)}, on which other leaves or states of {kind} depend: the "
                "effect would be performed twice, by the rule and beside it. Perform it outside "
                f"of {self.name}, and pass its result as an argument"
            )
        return found

    def split(self, ins: Sequence[Any]) -> list[Any]:
        """The effect itself on values, and the rest of the lifted body on all leaves."""
        if not self.known:
            self.refuse("differentiated")
        others = self.others()
        if self.answering is None:
            values = self.effect(*self.operands(ins), **self.attributes)
        else:
            values = self._answered(ins)
        rest = iter(others.run(*ins) if others is not None else ())
        placed = dict(zip(self.outs, values, strict=True))
        count = len(self.lifted.program.outputs)
        return [placed[i] if i in placed else next(rest) for i in range(count)]

    def _answered(self, ins: Sequence[Any]) -> list[Any]:
        """The effect on values where the handler answers its effects: those of its rule, too."""
        assert self.answering is not None
        if self.effect is solving.linear_solve:
            return self.answering.solved(ins, self.operands(ins), **self.attributes)
        program = self.lifted.program
        chosen = Program(
            program.inputs,
            program.equations,
            [program.outputs[i] for i in self.outs if i is not None],
            program.name,
        )
        kind = answered[self.effect]
        rule = kind(self.attributes["rule"], self.answering, self.ins, chosen.in_types, self.name)
        results: list[Any] = self.effect(*ins, program=chosen, rule=rule, name=self.name)
        return results

    def refuse(self, what: str) -> NoReturn:
        """Raise the error that explains why a rule can't be applied, and what to write.

        Raises `UnsupportedDerivativeError`.
        """
        kind = self.kind.__name__
        raise UnsupportedDerivativeError(
            f"the function {self.name} has its own rule, and can't be {what} under {kind}: no "
            f"leaf of {kind} is declared as the value that the rule is for. Declare it, `value: "
            f"Leaf(primal=True)`, or say that {kind} opens such functions and drops their rules, "
            f"`class {kind}(..., open_rules=True)`"
        )


def _needed(program: Program, keep: Sequence[bool]) -> Program:
    """The program for some of its results: without what may be observed, if they don't need it."""
    key = "needed", tuple(keep)
    found: Program | None = program.memo.get(key)
    if found is None:
        outputs = [x for x, k in zip(program.outputs, keep, strict=True) if k]
        live: set[Any] = set(outputs)
        equations = []
        for e in reversed(program.equations):
            if e.effect.references or not live.isdisjoint(e.outputs):
                equations.append(e)
                live.update(e.inputs)
        equations.reverse()
        found = program.memo[key] = Program(program.inputs, equations, outputs, program.name)
    return found


class SplitJvp:
    """A forward rule for a lifted body: that of its values beside the derivative of the rest."""

    __slots__ = ("own",)

    def __init__(self, own: Ruled) -> None:
        self.own = own

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Results and tangents."""
        from effax.interpreters.jvp.dual import JVP

        handler = JVP()
        duals = [handler.dual(p, t) for p, t in zip(primals, tangents, strict=True)]
        pairs = [handler.split(x) for x in handler.run(self.own.split, duals)]
        return [p for p, _ in pairs], [t for _, t in pairs]


class SplitBatching:
    """A batching rule for a lifted body: that of its values beside a batch of the rest."""

    __slots__ = ("own",)

    def __init__(self, own: Ruled) -> None:
        self.own = own

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        """Results, and which of them are batched."""
        from effax.interpreters.batch.batched import Batch, Batched

        if not self.own.known:
            self.own.refuse("batched")
        handler = Batch(None, size)
        given = [Batched(handler, x) if b else x for x, b in zip(values, batched, strict=True)]
        results = handler.run(self.own.split, given)
        return (
            [x.many if handler.owns(x) else x for x in results],
            [handler.owns(x) for x in results],
        )


class _Batching:
    """A user's batching rule, lifted: what it does to values, a handler does to its own."""

    __slots__ = ("captured", "like", "modes", "out_modes", "out_types", "rule", "types", "writes")

    def __init__(
        self,
        handler: Lifting,
        attributes: dict[str, Any],
        modes: Sequence[Mode],
        lifted: Lifted,
        body: Program,
    ) -> None:
        self.like = handler.fresh(bottom)
        self.rule: Any = attributes.get("rule")
        self.modes = modes
        self.types = body.in_types
        self.captured = len(lifted.captured)
        self.out_modes = lifted.out_modes
        self.out_types = body.out_types
        self.writes = bool(lifted.log or handler.state_types(lifted.state_mode))

    @property
    def possible(self) -> bool:
        """Whether values are all that the handler carries: a state is one for all lanes."""
        return not self.writes

    def __call__(
        self, size: int, batched: Sequence[bool], values: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        """The leaves of the results, and which of them have the batch axis in front."""
        rest = list(zip(values, batched, strict=True))[self.captured :]
        inner = self.like.fresh(innermost())
        given, which = [], []
        for mode, type in zip(self.modes, self.types, strict=True):
            n = leaf_count(inner, mode, type)
            leaves, rest = rest[:n], rest[n:]
            many = any(b for _, b in leaves)
            which.append(many)
            given.append(
                self._value(inner, mode, leaves, size) if many else _one(inner, mode, leaves)
            )
        results, flags = inner.run(self.rule, size, which, given)
        return self._leaves(inner, results, flags)

    def _value(self, inner: Lifting, mode: Mode, leaves: Sequence[Any], size: int) -> Any:
        from effax.interpreters.batch.batched import repeat

        full = [x if b else repeat(x, size) for x, b in leaves]
        if mode is PLAIN:
            return full[0]
        axes = inner.leaf_axes(mode) or (0,) * len(full)
        return inner.value(mode, [move_axis(x, 0, k) for x, k in zip(full, axes, strict=True)])

    def _leaves(
        self, inner: Lifting, results: Sequence[Any], flags: Sequence[bool]
    ) -> tuple[list[Any], list[bool]]:
        found: list[Any] = []
        batched: list[bool] = []
        for x, mode, many in zip(results, self.out_modes, flags, strict=True):
            leaves = leaves_of(inner, x, mode)
            if many and mode is not PLAIN:
                axes = inner.leaf_axes(mode) or (0,) * len(leaves)
                leaves = [move_axis(y, k, 0) for y, k in zip(leaves, axes, strict=True)]
            found += leaves
            batched += [many] * len(leaves)
        return found, batched


def _one(inner: Lifting, mode: Mode, leaves: Sequence[Any]) -> Any:
    return leaves[0][0] if mode is PLAIN else inner.value(mode, [x for x, _ in leaves])


_ruled: Final[tuple[Effect, ...]] = (
    custom.custom_jvp_call,
    custom.custom_vjp_call,
    custom.custom_vmap_call,
    solving.linear_solve,
)
functor.update(dict.fromkeys(_ruled, lift_ruled))
functor[custom.custom_vjp_forward] = lift_forward
