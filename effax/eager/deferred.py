"""Un-jitted gradients: a program met often enough is differentiated and compiled whole.

What a function performs on values that move is deferred: recorded as equations (`DeferredJVP`).
When it returns, the same program may have been met before, often enough that its derivative is
compiled; then that is run. Else the equations are performed one by one, under forward mode and
recording, as they would have been at once.

Nobody can tell which of the two it was. What does not move (a comparison, `stop_gradient`) is
computed at once and is an array, so that Python may branch on it; whoever asks for the elements of
a value gets them; and before an effect that can be observed, or has a rule of the user's,
everything recorded is performed, and nothing is deferred from there on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from effax.backends.xla.array import Array, asarray
from effax.backends.xla.dispatch import compile_program
from effax.backends.xla.layout import layout_of
from effax.backends.xla.scalars import number
from effax.eager.calls import is_unseen
from effax.eager.whole import remembered
from effax.effects.config import trace_key
from effax.effects.contexts import put
from effax.effects.effect import Effect, distinct
from effax.effects.errors import UnexpectedTracerError
from effax.effects.frames import user_frame
from effax.effects.handler import Carrier, bottom, current, innermost
from effax.effects.program import Program, Variable, row_of
from effax.effects.provenance import source
from effax.effects.rows import control
from effax.effects.rows.conversion import convert_element_type
from effax.effects.rows.state import Ref
from effax.effects.types import snapshot, typeof
from effax.interpreters.functor.lifting import PLAIN, lift
from effax.interpreters.jvp.dual import DUAL, JVP, is_pure, moves, tangent_type
from effax.interpreters.residual import Record
from effax.interpreters.residual.partition import split
from effax.interpreters.residual.record import Tape
from effax.interpreters.stage import Stage, stage
from effax.interpreters.transpose.control import transpose_program

DEFERRED: Final = frozenset({control.call, control.cond, control.while_loop, control.scan})
"""Effects with programs that are recorded whole, where nothing in the programs is observed.

A call with a mesh is performed at once, as it alone runs on the devices of that mesh.
"""
_record: Final = Stage.perform
_LIMIT: Final = 256
_plans: Final[dict[Any, GradientPlan]] = remembered()


def may_defer() -> bool:
    """Whether gradients asked for here may be deferred: nobody watches what is performed."""
    settings = trace_key()
    return (
        innermost() is bottom
        and is_unseen()
        and not (settings.debug_nans or settings.debug_infs or settings.debug_key_reuse)
    )


class DeferredJVP(Stage):
    """Record effects on values that move, to perform them later, or at once where that matters.

    `inner` is forward mode over recording, once what was recorded had to be performed; then all
    effects go there, and `values` has what the variables stand for.
    """

    __slots__ = ("arguments", "elements", "inner", "recording", "unknowns", "values")

    owned = "a value that is differentiated"
    captures = False
    together = None  # type: ignore[assignment]

    def __init__(self, values: Sequence[Any]) -> None:
        super().__init__(bottom)
        self.arguments: list[Any] = []
        """The arguments of the function: variables, or values as they are that don't move."""
        self.elements: dict[Variable, Any] = {}
        """The arrays of variables, as far as they are known."""
        self.inner: JVP | None = None
        self.recording: Any = None
        self.unknowns: list[Any] = []
        self.values: dict[Variable, Any] = {}
        frame = user_frame()
        for x in values:
            type = typeof(x)
            if not moves(type):
                self.arguments.append(x)
                continue
            variable = Variable(self, type, frame)
            self.elements[variable] = x if x.__class__ is Array else asarray(x)
            self.inputs.append(variable)
            self.arguments.append(variable)

    # -- while the function runs

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Record an effect on a variable, or perform it where it can't be deferred."""
        own = [type(x) is Variable and x.handler is self for x in operands]
        if self.inner is None:
            if True not in own:
                return bottom.perform(effect, operands, attributes)
            if self._can_be_deferred(effect, attributes):
                before = len(self.equations)
                result = _record(self, effect, operands, attributes)
                if not effect.multiple:
                    if not effect.still and moves(result.type):
                        return result
                    del self.equations[before:]  # a result without a tangent is computed at once
                    ready = [
                        self._computed(x) if m else x for x, m in zip(operands, own, strict=True)
                    ]
                    return bottom.perform(effect, tuple(ready), attributes)
                if all([moves(x.type) for x in result]):
                    return result
                del self.equations[before:]
            self.catch_up()
        values = self.values
        operands = tuple([values[x] if mine else x for x, mine in zip(operands, own, strict=True)])
        token = put(current, self.inner)
        try:
            return effect(*operands, **attributes)
        finally:
            current.reset(token)

    @property
    def transform(self) -> str:
        """The transform as values show it."""
        return "grad"

    def holds(self, value: Any) -> bool:
        """Whether a value is a variable of this handler, or a dual number of `inner`."""
        return self.owns(value) or (self.inner is not None and self.inner.owns(value))

    def _can_be_deferred(self, effect: Effect, attributes: dict[str, Any]) -> bool:
        if effect.answerable:
            observed = row_of(effect, attributes)
            return effect in DEFERRED and "mesh" not in attributes and not observed
        return is_pure(effect, JVP.rules.get(effect))

    def atom(self, x: Any) -> Variable:
        """The variable that stands for a value; also for a number, which does not tell programs."""
        if type(x) is Variable and x.handler is self:
            return x
        x = snapshot(x, self.snapshots)
        known = self.captured.get(id(x))
        if known is None:
            if isinstance(x, (Carrier, Ref)):
                raise UnexpectedTracerError.escaped(x)
            known = self.captured[id(x)] = x, Variable(self, typeof(x))
        return known[1]

    def _known(self) -> dict[Variable, Any]:
        """The elements of variables as far as they are known: at least of those from outside."""
        elements = self.elements
        for x, variable in self.captured.values():
            if variable not in elements:
                if isinstance(x, np.generic):  # compiled code alone may use its buffer
                    constant = number(x)
                    elements[variable] = Array(constant.buffer, constant.spec)
                else:
                    elements[variable] = x if type(x) is Array else asarray(x)
        return elements

    def _computed(self, x: Variable) -> Any:
        """The elements of a variable; computes what was recorded so far, if need be."""
        if x not in self.elements:
            self._replay(bottom, self._known())
        return self.elements[x]

    def _replay(self, handler: Any, values: dict[Variable, Any]) -> None:
        """Perform what was recorded and has no value yet, under a handler."""
        token, before = put(current, handler), (source.at, source.top)
        source.top = handler
        try:
            for e in self.equations:
                if all([x in values for x in e.outputs]):
                    continue
                source.at = e
                operands = tuple([values[y] if type(y) is Variable else y.value for y in e.inputs])
                result = handler.perform(e.effect, operands, e.attributes)
                values.update(
                    zip(e.outputs, result if e.effect.multiple else (result,), strict=True)
                )
        finally:
            source.at, source.top = before
            current.reset(token)

    def concrete(self, variable: Variable) -> Any:
        """The elements of a variable, where someone asks for them."""
        if not self.live:
            return None
        if self.inner is None:
            return self._computed(variable)
        value = self.values[variable]
        return value.concrete() if isinstance(value, Carrier) else value

    def catch_up(self) -> None:
        """Perform what was recorded, under forward mode; defer nothing from here on."""
        self.recording = recording = Record(bottom)
        self.inner = inner = JVP(recording)
        elements = self._known()
        self.values = values = {
            x: asarray(given) if isinstance(given, np.generic) else elements[x]
            for given, x in self.captured.values()
        }
        for x in self.arguments:
            unknown = recording.unknown(tangent_type(x.type)) if self.owns(x) else None
            self.unknowns.append(unknown)
            if unknown is not None:
                values[x] = inner.dual(elements[x], unknown)
        self._replay(inner, values)

    # -- when it has returned

    def differentiated(self, results: Sequence[Any]) -> Differentiated | None:
        """Run what was compiled for the program; None where it is to be performed by effects."""
        if self.inner is not None or not self.equations:
            return None
        plan = self._plan(results)
        if plan is None:
            return None
        if plan.due(len(self.equations)):
            done = plan.call(self, results)
            if done is not None:
                return done
        start = time.perf_counter()
        self.catch_up()
        plan.spent += 2 * (time.perf_counter() - start)  # the backward pass takes as long
        return None

    def recorded(self, results: Sequence[Any]) -> tuple[list[Any], list[tuple[Any, Any]], Tape]:
        """Perform what was recorded: unknown inputs, results with their tangents, and the tape."""
        if self.inner is None:
            self.catch_up()
        inner: JVP = self.inner  # type: ignore[assignment]
        pairs = [inner.split(self.values[x] if self.owns(x) else x) for x in results]
        return self.unknowns, pairs, self.recording.finish()

    def _plan(self, results: Sequence[Any]) -> GradientPlan | None:
        """Find the plan of the program recorded; None where it can't be told from others."""
        elements = self._known()
        outside = [*self.inputs, *[x for _, x in self.captured.values()]]
        numbers: dict[Any, int] = {x: i for i, x in enumerate(outside)}
        parts: list[Any] = [trace_key(), len(self.inputs), *[elements[x].spec for x in outside]]
        for e in self.equations:
            parts.append(e.effect)
            for x in e.inputs:
                is_variable = type(x) is Variable
                parts.append(numbers[x] if is_variable else (type(x.value), distinct(x.value)))
            parts += e.attributes.items()
            for x in e.outputs:
                numbers[x] = len(numbers)
        parts.append(None)
        parts += [numbers[x] if self.owns(x) else None for x in results]
        key = tuple(parts)
        try:
            found = _plans.get(key)
        except TypeError:  # unhashable attributes
            return None
        if found is None:
            while len(_plans) >= _LIMIT:
                del _plans[next(iter(_plans))]
            found = _plans[key] = GradientPlan()
        elif len(_plans) > _LIMIT // 2:  # recently used plans stay
            _plans[key] = _plans.pop(key)
        return found

    def close(self) -> None:
        """Let go of what was recorded: variables know their handler, and would keep it all."""
        super().close()
        if self.inner is not None:
            self.inner.live = False
        self.elements, self.values = {}, {}
        self.arguments, self.unknowns = [], []


class GradientPlan:
    """A program's record: the time spent on its equations, and later its compiled form."""

    __slots__ = ("gives", "run", "spent")

    def __init__(self) -> None:
        self.spent = 0.0
        self.run: Any = None
        self.gives: list[bool] = []
        """For each value, whether it has a cotangent."""

    def due(self, size: int) -> bool:
        """Whether as much time was spent as compiling takes, about: then it can't cost twice."""
        return self.run is not None or self.spent > 0.05 + 0.01 * size

    def call(self, handler: DeferredJVP, results: Sequence[Any]) -> Differentiated | None:
        """Compute results and gradient from the handler's values; None where it can't be compiled.

        Values that don't move are results as they are.
        """
        variables = [x for _, x in handler.captured.values()]
        count = len(variables)
        variables += handler.inputs
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
            self.gives = [handler.owns(x) and next(have) for x in handler.arguments]
        outs = iter(self.run([x.buffer for x in operands]))
        primals = [next(outs) if handler.owns(x) else x for x in results]
        return Differentiated(primals, [next(outs) if given else None for given in self.gives])

    def _compile(self, program: Program, still_ones: int, first: bool, specs: list[Any]) -> None:
        """Compile a program's results, and the gradient of the `first` by all but `still_ones`."""
        moving = len(program.inputs) - still_ones
        lifted = lift(program, JVP(bottom), (PLAIN,) * still_ones + (DUAL,) * moving)
        parts = split(lifted.program, (False,) * still_ones + (False, True) * moving)
        # A user's rule that captures values may read others next time, so its plan can't be kept.
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
            self.run = compile_program(staged.program, layout).gather(specs, layout).launch(list)


class Differentiated:
    """Results, and the gradient of the first by each value (None: nothing depends on it)."""

    __slots__ = ("gradient", "primals")

    def __init__(self, primals: list[Any], gradient: list[Any]) -> None:
        self.primals = primals
        self.gradient = gradient
