"""Programs: staged terms, closed and typed."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from effax.effects.effect import LITERALS, Effect
from effax.effects.frames import describe
from effax.effects.handler import Carrier, innermost
from effax.effects.jaxpr import EquationNames, ProgramNames
from effax.effects.provenance import UNNAMED, inlined, source
from effax.effects.types import ShapedArray, typeof


class Variable(Carrier):
    """A typed name for a value not known yet; the carrier of the handlers that record.

    While its handler is live, effects performed on it are recorded. Afterwards it remains as a
    variable of the recorded program.
    """

    __slots__ = ("origin", "type")

    def __init__(self, handler: Any, type: ShapedArray, origin: Any = None) -> None:
        self.handler = handler
        self.type = type
        self.origin = origin

    def concrete(self) -> Any:
        """The elements, where the recorder has them."""
        return None if self.handler is None else self.handler.concrete(self)


class Literal:
    """A Python or NumPy number written into a program."""

    __slots__ = ("type", "value")

    def __init__(self, value: Any, type: ShapedArray) -> None:
        self.value = value
        self.type = type

    def __repr__(self) -> str:
        return f"{self.value}"

    @property
    def aval(self) -> ShapedArray:
        """The type, by its name in JAX."""
        return self.type

    @property
    def val(self) -> Any:
        """The number, by its name in JAX."""
        return self.value


Atom = Variable | Literal


class Equation(EquationNames):
    """One effect performed on atoms: `outputs = effect[attributes] inputs`.

    `frame` is where the user's code asked for it: a code object and an instruction offset, turned
    into text only when someone asks; `scope` are the names of the scopes around, by slashes.
    """

    __slots__ = ("attributes", "effect", "frame", "inputs", "outputs", "scope")

    def __init__(
        self,
        effect: Effect,
        inputs: Sequence[Any],
        attributes: dict[str, Any],
        outputs: Sequence[Variable],
        frame: Any = None,
        scope: str = "",
    ) -> None:
        self.effect = effect
        self.inputs = inputs
        self.attributes = attributes
        self.outputs = outputs
        self.frame = frame
        self.scope = scope

    def programs(self) -> Iterator[Program]:
        """The programs among the attributes, in order."""
        return programs_in(self.attributes)

    @property
    def row(self) -> frozenset[str]:
        """The row left to be answered after performing this equation."""
        return row_of(self.effect, self.attributes)

    @property
    def place(self) -> str:
        """The frame as text: file, line and function."""
        return describe(self.frame)


def row_of(effect: Effect, attributes: dict[str, Any]) -> frozenset[str]:
    """Return the row left to be answered after performing an effect with these attributes."""
    row = frozenset((effect.row,)) if effect.row else _EMPTY
    if effect.performs:
        row |= effect.performs
    if effect.collective:
        row |= {f"axis {name}" for name in attributes["axes"]}
    if effect.higher_order:
        for program in programs_in(attributes):
            row |= program.row
        if "binds" in attributes:
            row -= {f"axis {name}" for name in attributes["binds"]}
    return row


_EMPTY: Final[frozenset[str]] = frozenset()


class Row(frozenset[str]):
    """The effect row of a program, a set of names: the effects that remain to be answered.

    `asked` says who asks: each effect with its types and line, an `Asked`. `row - names` is the row
    of what is left where these are answered.

    >>> import effax
    >>> row = effax.make_program(lambda x: effax.debug.print("{}", x))(1.0).row
    >>> row
    {callback: debug_callback(f32[]) -> () at <...>:1 (<lambda>)}
    """

    __slots__ = ("asked",)

    asked: tuple[Any, ...]

    @classmethod
    def of(cls, names: Iterable[str], asked: tuple[Any, ...]) -> Row:
        """A row of these names, asked for by these."""
        self = cls(names)
        self.asked = asked
        return self

    def __sub__(self, other: Any) -> Row:
        names = frozenset.__sub__(self, frozenset(other))
        return Row.of(names, tuple(one for one in self.asked if one.name in names))

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{one.name}: {one}' for one in self.asked)}}}"


NOTHING: Final = Row.of((), ())
"""The row of a pure program."""


class Program(ProgramNames):
    """A staged term: typed inputs, equations in order, results. Closed: it mentions nothing else.

    Programs are compared by identity, and carry what is derived from them in `memo` (their
    liftings through handlers, their splits, their executables), so it lives as long as they do.
    """

    __slots__ = ("__weakref__", "_row", "consts", "equations", "inputs", "memo", "name", "outputs")

    def __init__(
        self,
        inputs: Sequence[Variable],
        equations: Sequence[Equation],
        outputs: Sequence[Atom],
        name: str = "program",
    ) -> None:
        self.inputs = tuple(inputs)
        self.equations = equations
        self.outputs = tuple(outputs)
        self.name = name
        self.memo: dict[Any, Any] = {}
        self.consts: tuple[Any, ...] = ()
        self._row: Row | None = None

    @property
    def in_types(self) -> tuple[ShapedArray, ...]:
        """The types of the inputs."""
        return tuple(x.type for x in self.inputs)

    @property
    def out_types(self) -> tuple[ShapedArray, ...]:
        """The types of the results."""
        return tuple(x.type for x in self.outputs)

    @property
    def row(self) -> Row:
        """The effect row: what remains unanswered when the program runs, and who asks for it."""
        if self._row is None:
            self._row = _row_of_all(self.equations)
        return self._row

    def run(self, *values: Any) -> list[Any]:
        """Perform the equations, in order, under the handlers now installed."""
        environment: dict[Variable, Any] = dict(zip(self.inputs, values, strict=True))
        if not LITERALS.isdisjoint(map(type, values)):
            environment = {x: _as_array(v, x.type) for x, v in environment.items()}
        handler = innermost()
        perform = handler.perform
        before = at, top = source.at, source.top
        around = at if at is not None and at.scope not in ("", UNNAMED) else None
        source.top = handler
        try:
            for e in self.equations:
                source.at = e if around is None else inlined(e, around, top)
                operands = tuple(
                    [environment[x] if type(x) is Variable else x.value for x in e.inputs]
                )
                if e.effect.answerable:
                    result = e.effect(*operands, **e.attributes)
                else:
                    result = perform(e.effect, operands, e.attributes)
                if e.effect.multiple:
                    environment.update(zip(e.outputs, result, strict=True))
                else:
                    environment[e.outputs[0]] = result
        finally:
            source.at, source.top = before
        return [environment[x] if type(x) is Variable else written_out(x) for x in self.outputs]

    def pretty_print(
        self,
        *,
        source_info: bool = False,
        print_shapes: bool = True,
        name_stack: bool = False,
        print_effects: bool = False,
    ) -> str:
        """The program as text, with more or less beside each equation than `str` shows.

        Args:
          source_info: the user's line that asked for it, `# file.py:3 (f)`.
          print_shapes: the types of variables and literals.
          name_stack: the scopes by name it is in, `# [a/b]`.
          print_effects: what performing it leaves to be answered, `# ! callback`; programs always
            say so of the whole.

        >>> import effax
        >>> program = effax.make_program(lambda x, y: x * y + 1.0)(2.0, 3.0)
        >>> print(program.pretty_print(print_shapes=False))
        { lambda a b .
          c = mul a b
          d = add c 1.0
          in (d) }
        """
        from effax.effects.printing import PrintOptions, program_text

        shown = PrintOptions(source_info, print_shapes, name_stack, print_effects)
        return program_text(self, shown=shown)

    def __str__(self) -> str:
        from effax.effects.printing import program_text

        return program_text(self)

    __repr__ = __str__


def _row_of_all(equations: Sequence[Equation]) -> Row:
    names = _EMPTY.union(*(e.row for e in equations)) if equations else _EMPTY
    if not names:
        return NOTHING
    from effax.effects.asked import asked_by

    return Row.of(names, asked_by(equations))


def _as_array(value: Any, type: ShapedArray) -> Any:
    """A value for an input: a Python number is an array of the input's type from here on."""
    if builtins.type(value) not in LITERALS:
        return value
    from effax.effects.rows.conversion import number

    return number(value, type)


def written_out(literal: Literal) -> Any:
    """A literal as a value of its own: of its type, whatever may stand around it."""
    from effax.effects.rows.shape import full

    value, type = literal.value, literal.type
    if type.shape:
        return full(type.shape, value, type.dtype)
    return value if typeof(value) is type else type.dtype.type(value)


def programs_in(attributes: dict[str, Any]) -> Iterator[Program]:
    """The programs among an effect's attributes, those inside tuples included."""
    for value in attributes.values():
        if type(value) is Program:
            yield value
        elif type(value) is tuple:
            yield from (x for x in value if type(x) is Program)


def count_equations(program: Program) -> int:
    """Count the equations of a program, those of inner programs included.

    This is the size of its text, not the number of steps it takes: a loop's body counts once.
    """
    return sum(1 + sum(map(count_equations, e.programs())) for e in program.equations)


def without_dead_code(program: Program, keep_outputs: Sequence[bool] | None = None) -> Program:
    """The program without the pure equations whose results nothing uses.

    `keep_outputs`, when given, first drops the results marked False. Inputs stay as they are.
    Equations with a non-empty effect row stay: they may be observed.
    """
    outputs = program.outputs
    if keep_outputs is not None:
        outputs = tuple(x for x, keep in zip(outputs, keep_outputs, strict=True) if keep)
    live: set[Any] = set(outputs)
    kept = []
    for e in reversed(program.equations):
        for x in e.outputs:
            if x in live:
                break
        else:
            if not e.row:
                continue
        kept.append(e)
        live.update(e.inputs)  # this adds literals too, which does no harm
    kept.reverse()
    if len(kept) == len(program.equations) and keep_outputs is None:
        return program
    return Program(program.inputs, kept, outputs, program.name)


def used_inputs(program: Program) -> tuple[bool, ...]:
    """Return the inputs that some equation or result mentions."""
    used: set[Any] = set(program.outputs)
    for e in program.equations:
        used.update(e.inputs)
    return tuple(x in used for x in program.inputs)
