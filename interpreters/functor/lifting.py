"""The functor: any handler and any program make a program over the handler's leaves.

No interpreter writes rules for `call`, `cond`, `while` and `scan`. It describes its carrier as a
pair (mode, leaves), and the program is staged again under a fresh copy of the handler: at given
modes, at joined modes for branches, at the least fixpoint of the carry's modes for loops.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any, ClassVar, Final

import attrs

from effax.effects.columns import ready
from effax.effects.contexts import put
from effax.effects.effect import Effect
from effax.effects.errors import FixpointError, MissingRuleError
from effax.effects.handler import Handler, current
from effax.effects.program import Program
from effax.effects.provenance import labelled
from effax.effects.rows import control, shape
from effax.effects.types import ShapedArray
from effax.interpreters.functor.branches import align_captured, same_log
from effax.interpreters.stage import Stage

Mode = Hashable
PLAIN: Final = None
"""The least mode: a value that is not the handler's own."""


class Lifting(Handler):
    """A handler of first-order rules, carried through higher-order effects by the functor.

    What a subclass says of its carrier:

    - `mode(value)`: what is known about it, hashable; `PLAIN` for values of others;
    - `join(m1, m2)`: the least mode above both;
    - `leaves(value, mode)`: the outer values it is made of, raised to that mode;
    - `value(mode, leaves)`: the way back;
    - `leaf_types(mode, type)`: the types of those leaves;
    - `leaf_axes(mode)`: how many axes each leaf has before the value's own.

    A handler that threads state of its own describes it as one more value, by the methods whose
    names begin with `state`. `static` is all of the instance that a lifted program depends on.
    """

    __slots__ = ()

    def __init__(self, outer: Any = None) -> None:
        ready()
        super().__init__(outer)

    rules: ClassVar[dict[Effect, Callable[..., Any]]]
    overrides: ClassVar[dict[Effect, Callable[..., Any]]] = {}
    """Higher-order effects whose meaning differs from the functor's: called as its entries are."""
    keeps_unset: ClassVar[bool] = False
    """Whether elements of a kernel's arrays that nobody set may have leaves that nobody set."""
    opens_rules: ClassVar[bool] = False
    """Whether a program with its own rule becomes its equations here, without the rule."""

    @property
    def static(self) -> tuple[Hashable, ...]:
        """Return the part of this installation that effects' meanings depend on; by default
        nothing.
        """
        return ()

    def fresh(self, outer: Any) -> Lifting:
        """Another installation of the same interpreter, outside of which is `outer`."""
        return type(self)(outer)

    def mode(self, value: Any) -> Mode:
        """Return the mode of a value: the handler's static knowledge of it."""
        raise NotImplementedError(type(self).__name__)

    def join(self, one: Mode, other: Mode) -> Mode:
        """The least mode above both; by default there is one mode above `PLAIN`."""
        return other if one is PLAIN else one

    def widen(self, one: Mode, other: Mode) -> Mode:
        """A mode above both that later steps of a loop keep, asked for where joins go on growing.

        Raises `FixpointError` by default.
        """
        raise FixpointError(
            f"{self.label or type(self).__name__}: the mode of a loop's carry grows in each step, "
            f"last from {one!r} to {other!r}; define `widen`"
        )

    def leaves(self, value: Any, mode: Mode) -> Sequence[Any]:
        """The outer values that a value is made of, at that mode. Runs outside the handler."""
        raise NotImplementedError(type(self).__name__)

    def value(self, mode: Mode, leaves: Sequence[Any]) -> Any:
        """The value made of these leaves."""
        raise NotImplementedError(type(self).__name__)

    def leaf_types(self, mode: Mode, type: ShapedArray) -> Sequence[ShapedArray]:
        """The types of the leaves, for a value of that type."""
        raise NotImplementedError(self.__class__.__name__)

    def leaf_count(self, mode: Mode, type: ShapedArray) -> int:
        """Count the leaves of a value of that type; by default those of `leaf_types`."""
        return len(self.leaf_types(mode, type))

    def leaf_axes(self, mode: Mode) -> Sequence[int]:
        """Return the number of leading axes of each leaf that the value does not have."""
        return ()

    def value_leaf(self, mode: Mode) -> int | None:
        """The place of the leaf that is the value itself, if any: custom rules are for it."""
        return None

    def write_out(
        self, effect: Effect, operands: Any, attributes: dict[str, Any], function: Any
    ) -> Any:
        """Perform an effect that `function` defines. By default `written_out` does it instead."""
        return NotImplemented

    def interprets(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Whether a higher-order effect has a meaning of its own here even on plain values."""
        return self.answers(effect, attributes)

    def state_mode(self) -> Mode:
        """Return the mode of the handler's own state."""
        return ()

    def state_join(self, one: Mode, other: Mode) -> Mode:
        """The least mode of the state above both."""
        return one

    def state_leaves(self, mode: Mode) -> Sequence[Any]:
        """The outer values of the state, raised to that mode."""
        return ()

    def state_types(self, mode: Mode) -> Sequence[ShapedArray]:
        """The types of those."""
        return ()

    def state_set(self, mode: Mode, leaves: Sequence[Any]) -> None:
        """Replace the state by one made of these leaves."""

    def logged(self) -> tuple[tuple[Hashable, ...], Sequence[Any]]:
        """Return the entries written to the handler's logs, with a leaf for each."""
        return (), ()

    def log(self, entries: tuple[Hashable, ...], leaves: Sequence[Any], steps: bool) -> None:
        """Write the log entries of a lifted program; of all steps, stacked, if `steps` says so."""

    def handle(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Answer by the effect's rule, if any; else by the functor's, if it holds programs."""
        rule = self.rules.get(effect)
        if rule is not None:
            return self.apply(rule, effect, operands, attributes)
        lifting = self.overrides.get(effect) or functor.get(effect)
        if lifting is None:
            return self.missing(effect, operands, attributes)
        if effect.functions:  # its functions may run user code, which has its own name scopes
            return lifting(self, effect, operands, attributes)
        return labelled(self, lifting, effect, operands, attributes)

    def apply(
        self,
        rule: Callable[..., Any],
        effect: Effect,
        operands: tuple[Any, ...],
        attributes: dict[str, Any],
    ) -> Any:
        """Call a first-order rule; the interpreter decides in which form it sees its operands."""
        return rule(self, *operands, **attributes)

    def missing(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Refuse an effect that has no rule here."""
        from effax.interpreters.functor.meanings import no_rule

        raise MissingRuleError(no_rule(self.label or type(self).__name__, effect))


@attrs.frozen(slots=True, eq=False)
class Lifted:
    """A program over leaves, what it captured (its first inputs), and the modes of its results.

    Its last results are what it writes to the handler's logs.
    """

    program: Program
    captured: tuple[Any, ...]
    out_modes: tuple[Mode, ...]
    state_mode: Mode
    log: tuple[Hashable, ...]


def lift(
    program: Program,
    handler: Lifting,
    in_modes: tuple[Mode, ...],
    state_mode: Mode = (),
    out_modes: tuple[Mode, ...] | None = None,
    out_state: Mode = None,
    state_at: int = 0,
) -> Lifted:
    """Stage a program under a fresh copy of a handler, its inputs at the given modes.

    Inputs of the result are what was captured, then leaves, with the leaves of the handler's
    state before those of input `state_at`; results are the state's leaves, then the results',
    raised to `out_modes` (by default the modes they turn out to have).
    """
    key = type(handler), handler.static, in_modes, state_mode, out_modes, out_state, state_at
    found = program.memo.get(key)
    if found is not None:
        return found
    from effax.interpreters.functor.remembered import remembered

    return remembered(
        program,
        key,
        lambda: _lift(program, handler, in_modes, state_mode, out_modes, out_state, state_at),
    )


def raised(
    one: Lifted,
    out_modes: tuple[Mode, ...],
    out_state: Mode,
    program: Program,
    handler: Lifting,
    in_modes: tuple[Mode, ...],
    state_mode: Mode,
    state_at: int = 0,
) -> Lifted:
    """A program that was lifted as `one`, with its results raised to these modes.

    The last round of a fixpoint has mostly found these very modes: then it is not staged again.
    """
    if one.out_modes == out_modes and one.state_mode == out_state:
        return one
    return lift(program, handler, in_modes, state_mode, out_modes, out_state, state_at)


def _lift(
    program: Program,
    handler: Lifting,
    in_modes: tuple[Mode, ...],
    state_mode: Mode,
    out_modes: tuple[Mode, ...] | None,
    out_state: Mode,
    state_at: int,
) -> Lifted:
    recorder = Stage()
    token = put(current, recorder)
    try:
        inner = handler.fresh(recorder)
        recorder.scoped = inner  # records where the equation that holds the program is made
        values = []
        for i, (variable, mode) in enumerate(zip(program.inputs, in_modes, strict=True)):
            if i == state_at:
                _state_inputs(inner, recorder, state_mode)
            if mode is PLAIN:
                values.append(recorder.input(variable.type))
            else:
                types = inner.leaf_types(mode, variable.type)
                values.append(inner.value(mode, [recorder.input(t) for t in types]))
        if state_at >= len(program.inputs):
            _state_inputs(inner, recorder, state_mode)
        results = inner.run(program.run, *values)
        modes = tuple(map(inner.mode, results)) if out_modes is None else out_modes
        state = inner.state_mode() if out_state is None else out_state
        leaves = list(inner.state_leaves(state))
        for result, mode in zip(results, modes, strict=True):
            leaves += leaves_of(inner, result, mode)
        entries, written = inner.logged()
        staged = recorder.finish([*leaves, *written], program.name)
    finally:
        current.reset(token)
        recorder.close()
    return Lifted(staged.program, staged.captured, modes, state, entries)


def _state_inputs(inner: Lifting, recorder: Stage, mode: Mode) -> None:
    inner.state_set(mode, [recorder.input(t) for t in inner.state_types(mode)])


def leaves_of(handler: Lifting, value: Any, mode: Mode) -> Sequence[Any]:
    """The leaves of a value at a mode; a plain value is its own leaf."""
    if mode is PLAIN:
        if handler.owns(value):
            raise MissingRuleError(
                f"{type(handler).__name__}: the index of a `cond` and the result of a loop's "
                f"condition must be plain, got a {value.type!r} of the interpreter's own; give "
                "comparisons (extend.traits.comparing) a rule whose result is plain, as "
                "Interpreter.forward returns it, or give the higher-order effect a rule"
            )
        return (value,)
    return handler.leaves(value, mode)


def _flat(handler: Lifting, values: Sequence[Any], modes: Sequence[Mode]) -> list[Any]:
    return [leaf for v, m in zip(values, modes, strict=True) for leaf in leaves_of(handler, v, m)]


def leaf_count(handler: Lifting, mode: Mode, type: ShapedArray) -> int:
    """Count the leaves of a value of that type at that mode."""
    return 1 if mode is PLAIN else handler.leaf_count(mode, type)


def rebuild(
    handler: Lifting,
    leaves: Sequence[Any],
    modes: Sequence[Mode],
    types: Sequence[ShapedArray],
    state: Mode,
) -> list[Any]:
    """Values from the flat results of a lifted program, whose state is put back first."""
    rest = iter(leaves)
    handler.state_set(state, list(islice(rest, len(handler.state_types(state)))))
    values = []
    for mode, type in zip(modes, types, strict=True):
        own = list(islice(rest, leaf_count(handler, mode, type)))
        values.append(own[0] if mode is PLAIN else handler.value(mode, own))
    return values


def take_log(
    handler: Lifting, one: Lifted, results: Sequence[Any], steps: bool = False
) -> Sequence[Any]:
    """The results of a lifted program, without those that go to the handler's logs."""
    if not one.log:
        return results
    n = len(results) - len(one.log)
    handler.log(one.log, results[n:], steps)
    return results[:n]


def lift_call(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """`call` and its kin: lift the program, call that."""
    program: Program = attributes["program"]
    modes = tuple(map(handler.mode, operands))
    state = handler.state_mode()
    lifted = lift(program, handler, modes, state)
    results = effect(
        *lifted.captured,
        *handler.state_leaves(state),
        *_flat(handler, operands, modes),
        **{**attributes, "program": lifted.program},
    )
    results = take_log(handler, lifted, results)
    return rebuild(handler, results, lifted.out_modes, program.out_types, lifted.state_mode)


def lift_cond(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lift every branch, at the join of the modes their results turn out to have."""
    (index,), values = leaves_of(handler, operands[0], PLAIN), operands[1:]
    branches: tuple[Program, ...] = attributes["branches"]
    modes = tuple(map(handler.mode, values))
    state = handler.state_mode()
    first = [lift(b, handler, modes, state) for b in branches]
    out_modes, out_state = first[0].out_modes, first[0].state_mode
    for other in first[1:]:
        out_modes = _join_all(handler, out_modes, other.out_modes)
        out_state = handler.state_join(out_state, other.state_mode)
    lifted = [
        raised(one, out_modes, out_state, b, handler, modes, state)
        for one, b in zip(first, branches, strict=True)
    ]
    same_log(handler, lifted)
    results = effect(
        index,
        *(x for one in lifted for x in one.captured),
        *handler.state_leaves(state),
        *_flat(handler, values, modes),
        branches=align_captured(lifted),
    )
    results = take_log(handler, lifted[0], results)
    return rebuild(handler, results, out_modes, branches[0].out_types, out_state)


def _join_all(handler: Lifting, one: Sequence[Mode], other: Sequence[Mode]) -> tuple[Mode, ...]:
    return tuple(handler.join(a, b) for a, b in zip(one, other, strict=True))


def lift_while(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lift condition and body, at the least fixpoint of the carry's modes."""
    from effax.interpreters.functor.fixpoints import fixpoint

    condition: Program = attributes["cond"]
    body: Program = attributes["body"]
    n, m = attributes["cond_consts"], attributes["body_consts"]
    consts = operands[:n], operands[n : n + m]
    carry = operands[n + m :]
    cond_modes, body_modes = (tuple(map(handler.mode, c)) for c in consts)
    modes, state = tuple(map(handler.mode, carry)), handler.state_mode()
    step, modes, state = fixpoint(
        handler, lambda c, s: lift(body, handler, body_modes + c, s, state_at=m), modes, state
    )
    step = raised(step, modes, state, body, handler, body_modes + modes, state, m)
    if step.log:
        raise TypeError(
            f"{type(handler).__name__}: a while loop writes {step.log} in each step, and the "
            "number of steps is not known; use scan, or keep the data in a state"
        )
    test = lift(condition, handler, cond_modes + modes, state, (PLAIN,), (), state_at=n)
    results = effect(
        *test.captured,
        *_flat(handler, consts[0], cond_modes),
        *step.captured,
        *_flat(handler, consts[1], body_modes),
        *handler.state_leaves(state),
        *_flat(handler, carry, modes),
        **{
            **without_trail(attributes),
            "cond": without_state_results(test, handler),
            "body": step.program,
            "cond_consts": len(test.captured)
            + _leaf_total(handler, cond_modes, condition.in_types),
            "body_consts": len(step.captured) + _leaf_total(handler, body_modes, body.in_types),
        },
    )
    return rebuild(handler, results, modes, body.out_types, state)


def without_trail(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a `while` whose body or carry is another: checkpoints stored for the old
    one are of no use to it."""
    return {name: x for name, x in attributes.items() if name != "trail"}


def without_state_results(test: Lifted, handler: Lifting) -> Program:
    """A loop's condition gives its verdict only: the state passes through the body."""
    n = len(test.program.outputs) - 1
    if not n:
        return test.program
    p = test.program
    return Program(p.inputs, p.equations, p.outputs[n:], p.name)


def _leaf_total(handler: Lifting, modes: Sequence[Mode], types: Sequence[ShapedArray]) -> int:
    return sum(leaf_count(handler, m, t) for m, t in zip(modes, types, strict=False))


def lift_scan(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Lift the body at the least fixpoint of the carry's modes; scan leaves along their rows."""
    from effax.interpreters.functor.fixpoints import fixpoint

    body: Program = attributes["body"]
    n, m, length = attributes["consts"], attributes["carry"], attributes["length"]
    consts, carry, xs = operands[:n], operands[n : n + m], operands[n + m :]
    const_modes, x_modes = tuple(map(handler.mode, consts)), tuple(map(handler.mode, xs))
    modes, state = tuple(map(handler.mode, carry)), handler.state_mode()
    step, modes, state = fixpoint(
        handler,
        lambda c, s: lift(body, handler, const_modes + c + x_modes, s, state_at=n),
        modes,
        state,
    )
    y_modes = step.out_modes[m:]
    in_modes = const_modes + modes + x_modes
    step = raised(step, modes + y_modes, state, body, handler, in_modes, state, n)
    carried = [*handler.state_leaves(state), *_flat(handler, carry, modes)]
    results = effect(
        *step.captured,
        *_flat(handler, consts, const_modes),
        *carried,
        *(row for x, mode in zip(xs, x_modes, strict=True) for row in _rows(handler, x, mode)),
        **{
            **attributes,
            "body": step.program,
            "consts": len(step.captured) + _leaf_total(handler, const_modes, body.in_types),
            "carry": len(carried),
        },
    )
    results = take_log(handler, step, results, steps=True)
    return _unscan(handler, results, len(carried), modes, y_modes, body, length, state)


def _rows(handler: Lifting, x: Any, mode: Mode) -> list[Any]:
    """The leaves of a scanned value, the axis of the steps first in each."""
    leaves = leaves_of(handler, x, mode)
    axes = (0,) if mode is PLAIN else handler.leaf_axes(mode) or (0,) * len(leaves)
    return [shape.move_axis(leaf, k, 0) for leaf, k in zip(leaves, axes, strict=True)]


def _unscan(
    handler: Lifting,
    results: Sequence[Any],
    carried: int,
    modes: Sequence[Mode],
    y_modes: Sequence[Mode],
    body: Program,
    length: int,
    state: Mode,
) -> list[Any]:
    m = len(modes)
    values = rebuild(handler, results[:carried], modes, body.out_types[:m], state)
    rest = iter(results[carried:])
    for mode, type in zip(y_modes, body.out_types[m:], strict=True):
        leaves = list(islice(rest, leaf_count(handler, mode, type)))
        if mode is PLAIN:
            values += leaves
            continue
        axes = handler.leaf_axes(mode) or (0,) * len(leaves)
        moved = [shape.move_axis(leaf, 0, k) for leaf, k in zip(leaves, axes, strict=True)]
        values.append(handler.value(mode, moved))
    return values


def reopen(handler: Lifting, program: Program, operands: Sequence[Any]) -> list[Any]:
    """Run a program's equations under the handler itself, as if its call had been written out."""
    token = put(current, handler)
    try:
        return program.run(*operands)
    finally:
        current.reset(token)


functor: Final[dict[Effect, Callable[..., Any]]] = {
    control.call: lift_call,
    control.remat: lift_call,
    control.cond: lift_cond,
    control.while_loop: lift_while,
    control.scan: lift_scan,
}
