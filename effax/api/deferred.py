"""Un-jitted gradients: a program met often enough is differentiated and compiled whole.

What a function performs on values that move is put off: noted as equations (`DeferredJVP`). When it
returns, the same program may have been met before, often enough that its derivative is compiled;
then that is run. Else the equations are performed one by one, under forward mode and recording, as
they would have been at once.

Nobody can tell which of the two it was. What does not move (a comparison, `stop_gradient`) is
computed at once and is an array, so that Python may branch on it; whoever asks for the elements of
a value gets them; and before an effect that can be observed, or has a rule of the user's,
everything noted is performed, and nothing is put off from there on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from effax.api.differentiable import plain_aux, refuse_references
from effax.api.forward import Linearized
from effax.backends.xla.array import Array, asarray
from effax.backends.xla.dispatch import compile_program, evaluate
from effax.backends.xla.layout import layout_of
from effax.backends.xla.scalars import number
from effax.effects import control
from effax.effects.config import trace_key
from effax.effects.contexts import put
from effax.effects.conversion import convert_element_type
from effax.effects.effect import LITERALS, Effect, distinct
from effax.effects.errors import UnexpectedTracerError
from effax.effects.frames import user_frame
from effax.effects.handler import Carrier, Handler, bottom, current, innermost
from effax.effects.program import Equation, Literal, Program, Variable, row_of
from effax.effects.provenance import scope_of, source
from effax.effects.state import Ref
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import snapshot, typeof
from effax.interpreters.jvp.dual import DUAL, JVP, is_pure, moves, still, tangent_type
from effax.interpreters.lifting import PLAIN, lift
from effax.interpreters.residual import Record
from effax.interpreters.residual.partition import split
from effax.interpreters.stage import stage
from effax.interpreters.transpose.control import transpose_program
from effax.whole import remembered

PUT_OFF: Final = frozenset({control.call, control.cond, control.while_loop, control.scan})
"""Effects with programs that are noted whole, where nothing in the programs is observed."""
_LIMIT: Final = 256
_plans: Final[dict[Any, Plan]] = remembered()


def linearized(
    function: Callable[..., Sequence[Any]], values: Sequence[Any], aux: list[Any]
) -> Linearized | Differentiated:
    """A function linearized at values, or its first result differentiated, which is all one asks.

    `aux` is empty, or holds after the call what else the function computed.
    """
    if not _may_put_off():
        return Linearized(function, values)
    refuse_references(values)
    handler = DeferredJVP(values)
    try:
        token = put(current, handler)
        try:
            results = function(*handler.arguments)
        finally:
            current.reset(token)
        leaves, tree = tree_flatten(plain_aux(aux) if aux else aux)
        done = handler.finish([*results, *leaves])
    finally:
        handler.close()
    aux[:] = tree_unflatten(tree, done.primals[len(results) :])
    del done.primals[len(results) :]
    if isinstance(done, Linearized):
        del done.tangents[len(results) :]
    return done


def _may_put_off() -> bool:
    settings = trace_key()
    return (
        innermost() is bottom
        and bottom.perform is evaluate  # else someone watches, or another back-end computes
        and settings.fast_paths != "none"
        and not (settings.debug_nans or settings.debug_infs or settings.debug_key_reuse)
        and not (settings.disable_jit or settings.check_tracer_leaks)
    )


class DeferredJVP(Handler):
    """Note effects on values that move, to perform them later, or at once where that matters.

    `inner` is forward mode over recording, once what was noted had to be performed; then all
    effects go there, and `values` has what the variables stand for.
    """

    __slots__ = (
        *("arguments", "captured", "elements", "equations", "inputs", "key", "numbers"),
        *("inner", "recording", "scope", "scoped", "snapshots", "unknowns", "values"),
    )

    carrier = Variable
    records = True

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__(bottom)
        self.scope = ""
        self.scoped: Any = None
        self.equations: list[Equation] = []
        self.key: list[Any] = []
        self.numbers: dict[Variable, int] = {}
        self.captured: dict[int, tuple[Any, Variable]] = {}
        self.snapshots: dict[int, tuple[Any, Any]] = {}
        self.elements: dict[Variable, Any] = {}
        self.inputs: list[Variable | None] = []
        self.arguments: list[Any] = []
        self.inner: JVP | None = None
        self.recording: Any = None
        self.unknowns: list[Any] = []
        self.values: dict[Variable, Any] = {}
        frame = user_frame()
        for x in values:
            type = typeof(x)
            if not moves(type):
                self.inputs.append(None)
                self.arguments.append(x)
                continue
            variable = self._named(type, frame)
            self.elements[variable] = x if x.__class__ is Array else asarray(x)
            self.inputs.append(variable)
            self.arguments.append(variable)

    def _named(self, type: Any, frame: Any = None) -> Variable:
        variable = Variable(self, type, frame)
        self.numbers[variable] = len(self.numbers)
        return variable

    # -- while the function runs

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Note an effect on a value of ours, or do it where it can't be put off."""
        own = [type(x) is Variable and x.handler is self for x in operands]
        if self.inner is None:
            if not any(own):
                return bottom.perform(effect, operands, attributes)
            if self._can_be_noted(effect, attributes):
                return self._note(effect, operands, own, attributes)
            self.catch_up()
        values = self.values
        operands = tuple([values[x] if mine else x for x, mine in zip(operands, own, strict=True)])
        token = put(current, self.inner)
        try:
            return effect(*operands, **attributes)
        finally:
            current.reset(token)

    def holds(self, value: Any) -> bool:
        """Whether a value is a variable of ours, or a dual number of `inner`."""
        return self.owns(value) or (self.inner is not None and self.inner.owns(value))

    def answers(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        """Nothing without an operand of ours."""
        return False

    def _can_be_noted(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        if effect.answerable:
            return effect in PUT_OFF and not row_of(effect, attributes)
        rule = JVP.rules.get(effect)
        return rule is not None and is_pure(effect, rule)

    def _note(
        self, effect: Effect, operands: tuple[Any, ...], own: list[bool], attributes: dict[str, Any]
    ) -> Any:
        inputs: list[Any] = []
        codes: list[Any] = []
        types: list[Any] = []
        literal = False
        for x, mine in zip(operands, own, strict=True):
            if not mine:
                if effect.literals and type(x) in LITERALS:
                    literal = True
                    inputs.append(x)
                    codes.append((type(x), distinct(x)))
                    types.append(None)
                    continue
                x = self._captured(x)
            inputs.append(x)
            codes.append(self.numbers[x])
            types.append(x.type)
        given = tuple(types)
        result = effect.infer(given, attributes)
        if effect.multiple:
            if not all(map(moves, result)):
                self.catch_up()
                return self.perform(effect, operands, attributes)
        elif effect in still or not moves(result):
            ready = [self._computed(x) if m else x for x, m in zip(operands, own, strict=True)]
            return bottom.perform(effect, tuple(ready), attributes)
        if literal:
            for i, t in enumerate(given):
                if t is None:
                    inputs[i] = Literal(inputs[i], effect.literal_type(inputs[i], given))
        at = source.at
        frame = user_frame() if at is None else at.frame or user_frame()
        scope = self.scope if at is None or not at.scope else scope_of(self)
        self.key.append((effect, *codes, *attributes.items()))
        outputs = [self._named(t, frame) for t in (result if effect.multiple else (result,))]
        self.equations.append(Equation(effect, inputs, attributes, outputs, frame, scope))
        return outputs if effect.multiple else outputs[0]

    def _captured(self, x: Any) -> Variable:
        """What stands for a value from outside."""
        x = snapshot(x, self.snapshots)
        known = self.captured.get(id(x))
        if known is None:
            if isinstance(x, (Carrier, Ref)):
                raise UnexpectedTracerError.escaped(x)
            known = x, self._named(typeof(x))
            self.captured[id(x)] = known
            if isinstance(x, np.generic):  # its buffer is shared: for what is compiled alone
                constant = number(x)
                self.elements[known[1]] = Array(constant.buffer, constant.spec)
            else:
                self.elements[known[1]] = x if type(x) is Array else asarray(x)
        return known[1]

    def _computed(self, x: Variable) -> Any:
        """The elements of a value of ours; computes what was noted so far, if need be."""
        elements = self.elements
        if x not in elements:
            token = put(current, bottom)
            try:
                for e in self.equations:
                    if e.outputs[0] not in elements:
                        operands = tuple(
                            [elements[y] if type(y) is Variable else y.value for y in e.inputs]
                        )
                        result = bottom.perform(e.effect, operands, e.attributes)
                        results = result if e.effect.multiple else (result,)
                        elements.update(zip(e.outputs, results, strict=True))
            finally:
                current.reset(token)
        return elements[x]

    def concrete(self, variable: Variable) -> Any:
        """The elements of a value of ours, for who asks."""
        if not self.live:
            return None
        if self.inner is None:
            return self._computed(variable)
        value = self.values[variable]
        return value.concrete() if isinstance(value, Carrier) else value

    def catch_up(self) -> None:
        """Perform what was noted, under forward mode and recording; put nothing off from here."""
        self.recording = recording = Record(bottom)
        self.inner = inner = JVP(recording)
        values = {
            x: asarray(given) if isinstance(given, np.generic) else self.elements[x]
            for given, x in self.captured.values()
        }
        self.values = values
        for x in self.inputs:
            unknown = None if x is None else recording.unknown(tangent_type(x.type))
            self.unknowns.append(unknown)
            if x is not None:
                values[x] = inner.dual(self.elements[x], unknown)
        token, before = put(current, inner), (source.at, source.top)
        source.top = inner
        try:
            for e in self.equations:
                source.at = e
                operands = tuple([values[y] if type(y) is Variable else y.value for y in e.inputs])
                result = inner.perform(e.effect, operands, e.attributes)
                values.update(
                    zip(e.outputs, result if e.effect.multiple else (result,), strict=True)
                )
        finally:
            source.at, source.top = before
            current.reset(token)

    # -- when it has returned

    def finish(self, results: Sequence[Any]) -> Linearized | Differentiated:
        """What was compiled for the program, run; or the function linearized, effect by effect."""
        if self.inner is None:
            if self.equations:
                plan = self._plan(results)
                if plan is not None:
                    if plan.due(len(self.equations)):
                        done = plan.call(self, results)
                        if done is not None:
                            return done
                    start = time.perf_counter()
                    self.catch_up()
                    plan.spent += 2 * (time.perf_counter() - start)  # backwards takes as long
            if self.inner is None:
                self.catch_up()
        inner: JVP = self.inner  # type: ignore[assignment]
        pairs = [inner.split(self.values[x] if self.owns(x) else x) for x in results]
        tape = self.recording.finish()
        return Linearized.of(self.unknowns, pairs, tape)

    def _plan(self, results: Sequence[Any]) -> Plan | None:
        """What is known of the program noted; None where it can't be told from others."""
        numbers, elements = self.numbers, self.elements
        named = [x for x in self.inputs if x is not None]
        captured = [x for _, x in self.captured.values()]
        key = (
            trace_key(),
            tuple([x.type for x in named]),
            tuple([elements[x].spec for x in (*named, *captured)]),
            tuple(self.key),
            tuple([numbers[x] if self.owns(x) else None for x in results]),
        )
        try:
            found = _plans.get(key)
        except TypeError:  # attributes that can't be hashed
            return None
        if found is None:
            while len(_plans) >= _LIMIT:
                del _plans[next(iter(_plans))]
            found = _plans[key] = Plan()
        elif len(_plans) > _LIMIT // 2:  # what is used stays
            _plans[key] = _plans.pop(key)
        return found

    def close(self) -> None:
        """Let go of what was noted: variables know their handler, and would keep it all."""
        self.live = False
        if self.inner is not None:
            self.inner.live = False
        self.equations, self.key, self.captured = [], [], {}
        self.numbers, self.elements, self.values = {}, {}, {}
        self.inputs, self.arguments, self.unknowns = [], [], []


class Plan:
    """What is known of a program: the time spent on its equations, and then what was compiled."""

    __slots__ = ("gives", "run", "spent")

    def __init__(self) -> None:
        self.spent = 0.0
        self.run: Any = None
        self.gives: list[bool] = []
        """Which of the values have a cotangent."""

    def due(self, size: int) -> bool:
        """Whether as much time was spent as compiling takes, about: then it can't cost twice."""
        return self.run is not None or self.spent > 0.05 + 0.01 * size

    def call(self, handler: DeferredJVP, results: Sequence[Any]) -> Differentiated | None:
        """Compute results and gradient from the handler's values; None where it can't be compiled.

        Values that don't move are results as they are.
        """
        variables = [x for _, x in handler.captured.values()]
        count = len(variables)
        variables += [x for x in handler.inputs if x is not None]
        operands = [handler.elements[x] for x in variables]
        if self.run is None:
            own = [x for x in results if handler.owns(x)]
            first = bool(own) and own[0] is results[0]
            program = Program(variables, handler.equations, own)
            self._compile(program, count, first, [x.spec for x in operands])
            if self.run is None:
                self.spent = float("-inf")
                return None
            have = iter(self.gives)
            self.gives = [x is not None and next(have) for x in handler.inputs]
        outs = iter(self.run([x.buffer for x in operands]))
        primals = [next(outs) if handler.owns(x) else x for x in results]
        return Differentiated(primals, [next(outs) if given else None for given in self.gives])

    def _compile(self, program: Program, still_ones: int, first: bool, specs: list[Any]) -> None:
        """Compile a program's results, and the gradient of the `first` by all but `still_ones`."""
        moving = len(program.inputs) - still_ones
        lifted = lift(program, JVP(bottom), (PLAIN,) * still_ones + (DUAL,) * moving)
        parts = split(lifted.program, (False,) * still_ones + (False, True) * moving)
        # A rule of the user's that captures may read another thing next time.
        if lifted.captured or not first or program.out_types[0].shape:
            return
        unknown, known, primals, at = iter(parts.unknown_outputs), 0, [], []
        for mode in lifted.out_modes:
            next(unknown)
            primals.append(known)
            known += 1
            moves = mode is not PLAIN and next(unknown)
            known += mode is not PLAIN and not moves
            at.append(moves)
        mask = tuple([i == 0 for i in range(sum(at))])
        if not at[0]:
            return
        residuals = len(parts.forwarded) + parts.made
        back = transpose_program(parts.linear, (False,) * residuals + (True,) * moving, mask)
        type = program.out_types[0]

        def both(*values: Any) -> list[Any]:
            outs = parts.known.run(*values)
            kept = [*(values[i] for i in parts.forwarded), *outs[len(outs) - parts.made :]]
            one = convert_element_type(1, dtype=type.dtype, weak_type=type.weak_type)
            gradient = back.program.run(*back.captured, *kept, one)
            return [*(outs[i] for i in primals), *gradient]

        staged = stage(both, program.in_types, program.name)
        layout = layout_of(specs, staged.program)
        if layout.is_single and not staged.captured:
            self.gives = list(back.given)
            self.run = compile_program(staged.program, layout).gather(specs, layout)


class Differentiated:
    """Results, and the gradient of the first by each value (None: nothing depends on it)."""

    __slots__ = ("gradient", "primals")

    def __init__(self, primals: list[Any], gradient: list[Any]) -> None:
        self.primals = primals
        self.gradient = gradient
