"""Stage: the handler that records, and evaluates nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from effax.effects.config import trace_key
from effax.effects.contexts import put
from effax.effects.dtypes import ExtendedDType
from effax.effects.effect import LITERALS, SCALARS, Effect
from effax.effects.errors import (
    ConcretizationTypeError,
    RefError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from effax.effects.frames import TracedFunction, place, user_frame
from effax.effects.handler import Carrier, Handler, current
from effax.effects.interning import keep
from effax.effects.leaks import look
from effax.effects.program import (
    Equation,
    Literal,
    Program,
    Variable,
    used_inputs,
    without_dead_code,
)
from effax.effects.provenance import scope_of, source, tagged
from effax.effects.rows.shape import dimension_as_value
from effax.effects.rows.state import AbstractRef, Given, OwnedRef, Ref
from effax.effects.types import ShapedArray, snapshot, typeof
from effax.effects.value import is_symbolic_length


class Stage(Handler):
    """Record every effect as an equation, whoever owns its operands.

    A program's text depends on types only. Values from outside (arrays, carriers of outer
    handlers) become inputs, listed in `captured`: the program is closed.
    """

    __slots__ = ("captured", "equations", "inputs", "scope", "scoped", "snapshots", "traced")

    carrier = Variable
    owned = "a traced value"
    records = True
    captures = True

    def __init__(self, outer: Any = None, traced: TracedFunction | None = None) -> None:
        super().__init__(outer)
        self.traced = traced
        self.equations: list[Equation] = []
        self.inputs: list[Variable] = []
        self.captured: dict[int, tuple[Any, Variable]] = {}
        self.snapshots: dict[int, tuple[Any, Any]] = {}
        self.scope = ""
        self.scoped: Any = None

    def input(self, type: ShapedArray) -> Any:
        """A fresh input of the program: a variable, or a reference that stands for one."""
        variable = Variable(self, type, source.frame or user_frame())
        self.inputs.append(variable)
        return Given(self, variable) if isinstance(type, AbstractRef) else variable

    def new_arg(self, aval: ShapedArray, source_info: Any = None) -> Any:
        """A further input of the program, after all others: `input` by JAX's name (brainstate).

        One of keys is over the input of their words.
        """
        dtype: Any = aval.dtype
        if not isinstance(dtype, ExtendedDType):
            return self.input(aval)
        return dtype.around(self.input(ShapedArray(*dtype.inside(aval.shape))))

    def perform(self, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Record an equation; the result is its variables."""
        inputs: list[Any] = []
        types: list[ShapedArray | None] = []
        literal = False
        for x in operands:
            if type(x) is not Variable or x.handler is not self:
                if effect.literals and type(x) in LITERALS:
                    literal = True
                    inputs.append(x)
                    types.append(None)
                    continue
                x = self.atom(x)
            inputs.append(x)
            types.append(x.type)
        operand_types = tuple(types)
        result = effect.infer(operand_types, attributes)
        if literal:
            for i, t in enumerate(operand_types):
                if t is None:
                    value = inputs[i]
                    inputs[i] = Literal(value, effect.literal_type(value, operand_types))
        at = source.at
        frame = user_frame(2) if at is None else at.frame or user_frame(2)
        scope = self.scope if at is None or not at.scope else scope_of(self)
        if effect.multiple:
            outputs = [Variable(self, t, frame) for t in result]
            self.equations.append(Equation(effect, inputs, attributes, outputs, frame, scope))
            return outputs
        output = Variable(self, result, frame)
        self.equations.append(Equation(effect, inputs, attributes, (output,), frame, scope))
        return output

    def together(
        self, key: Any, function: Callable[..., Any], values: Sequence[Any]
    ) -> tuple[list[Any], Any] | None:
        """Record what a function performs as it was recorded before; see `Handler`.

        From the second time for a key and types, equations are copied, with the variables of the
        values in them. All come from the user's line that asked. None the first time, and where
        equations are not all there is to it: the function returns None, asks for elements, uses
        arrays, variables, references or scopes of its own, or performs what can be observed.
        """
        if self.__class__.perform is not _perform:  # a subclass watches, or records in another way
            return None
        types = [x.type if type(x) is Variable else typeof(x) for x in values]
        full = trace_key(), key, *types
        found = _written.get(full, _NEW)
        if found is _NEW:
            keep(_written, full, _MET, _LIMIT)
            return None
        if found is _MET:
            found = _written[full] = self._template(function, types)
        if found is None:
            return None
        used, steps, outputs, beside = found
        known = list(values)
        for i in used:  # in the order in which the function itself would capture them
            x = values[i]
            if type(x) is not Variable or x.handler is not self:
                known[i] = self.atom(x)
        at = source.at
        frame = user_frame() if at is None else at.frame or user_frame()
        scope = self.scope if at is None or not at.scope else scope_of(self)
        for effect, inputs, attributes, out_types in steps:
            given = [known[x] if x.__class__ is int else x for x in inputs]
            made = [Variable(self, t, frame) for t in out_types]
            self.equations.append(Equation(effect, given, attributes, made, frame, scope))
            known += made
        n = len(values)  # a value that is passed on unchanged keeps its elements too
        return [values[i] if i < n else known[i] for i in outputs], beside

    def _template(self, function: Callable[..., Any], types: Sequence[ShapedArray]) -> Any:
        """Record a function for values of these types, with numbers for the variables.

        The numbers of the values that are used, the equations, the numbers of the results, and what
        the function returns beside them. It is called with variables of its own, so that no array
        is taken for what every value is; what it records is taken off the program again.
        """
        inputs = [Variable(self, t) for t in types]
        start, before, captured = len(self.equations), source.at, dict(self.captured)
        source.at = None  # equations inside programs that a rule makes have the rule's own lines
        try:
            found = function(*inputs)
        except ELEMENTS_ASKED:
            found = None
        finally:
            source.at = before
            equations = self.equations[start:]
            del self.equations[start:]
            self.captured = captured
        if found is None:
            return None
        results, beside = found
        places: dict[Any, int] = {x: i for i, x in enumerate(inputs)}
        used: dict[int, None] = {}
        steps: list[Any] = []
        for e in without_dead_code(Program(inputs, equations, results)).equations:
            given = [x if type(x) is Literal else places.get(x) for x in e.inputs]
            own = e.effect.references or e.scope != self.scope or (e.effect.answerable and e.row)
            if own or None in given:
                return None
            for i in given:
                if type(i) is int and i < len(inputs):
                    used[i] = None
            steps.append((e.effect, given, e.attributes, [x.type for x in e.outputs]))
            for x in e.outputs:
                places[x] = len(places)
        outputs = [places.get(x) if type(x) is Variable else None for x in results]
        return None if None in outputs else ([*used], steps, outputs, beside)

    def close(self) -> None:
        """Drop the recording: variables refer to their handler, and would keep all of it alive."""
        self.live = False
        self.traced = None  # the function may hold values, and the handler
        self.equations = []
        self.inputs = []
        self.captured = {}
        self.snapshots = {}

    def atom(self, x: Any) -> Variable | Literal:
        """Return a value's atom in the program: itself, a literal, or an input for a capture."""
        if type(x) is Variable and x.handler is self:
            return x
        if type(x) in LITERALS or isinstance(x, SCALARS):  # 0-d NumPy values are written out
            return Literal(x, typeof(x))
        if is_symbolic_length(x):
            attributes = {"length": x, "dtype": typeof(x).dtype, "weak_type": True}
            made: Variable = self.perform(dimension_as_value, (), attributes)
            return made
        x = snapshot(x, self.snapshots)
        known = self.captured.get(id(x))
        if known is None:
            if type(x) is Given and x.handler is self:
                return x.variable
            if isinstance(x, (Carrier, Ref)) and not x.handler.live:
                raise UnexpectedTracerError.escaped(x)
            known = x, Variable(self, typeof(x))
            self.captured[id(x)] = known
        return known[1]

    def finish(self, results: Sequence[Any], name: str = "program") -> Staged:
        """Close the program over its captures, which become its first inputs."""
        refuse_returned(results, name)
        try:
            outputs = [self.atom(x) for x in results]
        except TypeError as error:
            if type(error) is not TypeError:
                raise
            raise TypeError(f"a result of function {name}: {error}") from None
        captured = list(self.captured.values())
        inputs = [variable for _, variable in captured] + self.inputs
        program = without_dead_code(Program(inputs, self.equations, outputs, name))
        used = used_inputs(program) if captured else ()
        kept = [i for i in range(len(captured)) if used[i]]
        program = Program(
            [captured[i][1] for i in kept] + self.inputs, program.equations, outputs, name
        )
        self.live = False
        return Staged(program, tuple(captured[i][0] for i in kept))


_perform: Final = Stage.perform
_LIMIT: Final = 8192
_NEW: Final[Any] = object()
_MET: Final[Any] = object()
ELEMENTS_ASKED: Final = (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerIntegerConversionError,
)
"""The errors of a function that asks for elements which are not known."""
_written: Final[dict[Any, Any]] = {}
"""The equations that `Stage.together` copies."""


@attrs.frozen(slots=True, eq=False)
class Staged:
    """A program, and the outer values it closes over: its first inputs."""

    program: Program
    captured: tuple[Any, ...]


def stage(
    function: Callable[..., Sequence[Any]],
    types: Sequence[ShapedArray],
    name: str = "program",
    traced: TracedFunction | None = None,
) -> Staged:
    """Record what a function of flat arguments of these types performs.

    Args:
      function: a function of values that returns a flat sequence of values.
      types: the types of its arguments.
      name: the program's name.
      traced: the user's function and the names of its arguments, for messages.
    """
    handler = Stage(None, traced)
    handler.scope = tagged("", trace_key().xla_metadata)
    arguments = [handler.input(t) for t in types]
    token = put(current, handler)
    try:
        results = function(*arguments)
        staged = handler.finish(results, name)
    finally:
        current.reset(token)
        handler.close()
    if trace_key().check_tracer_leaks:
        del results, arguments
        program = staged.program
        equations = [c for e in program.equations for c in (e.inputs, e.outputs)]
        look(handler, f"the trace of {name}", [program.inputs, program.outputs, *equations])
    return staged


def clear() -> None:
    """Forget what functions recorded."""
    _written.clear()


def refuse_returned(
    results: Sequence[Any],
    name: str,
    asked: str = "a transformation",
    arguments: Sequence[Any] = (),
    names: Callable[[], Sequence[str]] | None = None,
) -> None:
    """Raise `RefError` if a reference is among the results of a transformed function.

    `arguments` are what the function was given, of which `names` has the names.
    """
    for x in results:
        if not isinstance(x, Ref):
            continue
        origin = ""
        at = next((i for i, given in enumerate(arguments) if given is x), None)
        if at is not None and names is not None:
            origin = f"\n\nThe reference was passed in as the argument {names()[at]}."
        elif isinstance(x, OwnedRef) and (found := place(x.frame)) is not None:
            origin = f"\n\nThe reference was created on line {found.line} of {found.file}."
        raise RefError(
            f"function {name} traced for {asked} returned a mutable array reference of type "
            f"{x.type!r}, but mutable array references cannot be returned; return its contents, "
            f"ref[...], or close over the reference{origin}"
        )
