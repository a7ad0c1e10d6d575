"""Programs as text: let-form, with types, the effect row, and what is known of each equation."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from effax.effects.frames import describe
from effax.effects.program import Equation, Literal, Program, Variable

_WIDEST: Final = 60
_PLAIN: Final = re.compile(r"(?!(?:None|True|False|inf|nan)$)[A-Za-z_<][\w.<>]*")
"""Strings that need no quotes."""


class PrintOptions(NamedTuple):
    """Options of `Program.pretty_print`: the notes beside equations."""

    source: bool = False
    types: bool = True
    scopes: bool = False
    rows: bool = False


def program_text(program: Program, indent: str = "", shown: PrintOptions = PrintOptions()) -> str:  # noqa: B008
    """The program in let-form.

    One line an equation, `name:type = effect[attributes] operands`; programs inside attributes
    are indented below the equation that holds them.
    """
    return Printer(shown).program(program, indent)


def name_of_index(index: int) -> str:
    """The name of the variable of that number: a to z, then aa, ab, ..."""
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        letters = chr(97 + digit) + letters
    return letters


class Printer:
    """Writes programs; variables are named in the order in which they are met."""

    def __init__(self, shown: PrintOptions = PrintOptions()) -> None:  # noqa: B008
        self.names: dict[Variable, str] = {}
        self.shown = shown

    def atom(self, x: Any) -> str:
        """A variable's name, a literal with its type."""
        if type(x) is Variable:
            if x not in self.names:
                self.names[x] = name_of_index(len(self.names))
            return self.names[x]
        if isinstance(x, Literal):
            return f"{x.value}:{x.type.str_short()}" if self.shown.types else f"{x.value}"
        return f"<{type(x).__name__}>"

    def typed(self, x: Variable) -> str:
        """A variable's name where it is bound."""
        return f"{self.atom(x)}:{x.type.str_short()}" if self.shown.types else self.atom(x)

    def head(self, program: Program) -> str:
        """The line of the inputs, and the row."""
        head = " ".join(map(self.typed, program.inputs))
        row = f" ! {', '.join(sorted(program.row))}" if program.row else ""
        return f"{{ lambda {head} .{row}" if head else f"{{ lambda .{row}"

    def results(self, program: Program) -> str:
        """The line of the results."""
        return f"in ({', '.join(map(self.atom, program.outputs))}) }}"

    def program(self, program: Program, indent: str) -> str:
        """The whole program; all lines but the first are indented."""
        head = self.head(program)  # before the equations, so that inputs have the first names
        equations = [self.equation(e, indent + "  ") for e in program.equations]
        notes = [self.note(e) for e in program.equations]
        if any(notes):
            equations = _beside(equations, notes)
        return "\n".join([head, *equations, f"{indent}  {self.results(program)}"])

    def equation(self, e: Equation, indent: str) -> str:
        """One equation, on one line but for the programs inside."""
        left = " ".join(map(self.typed, e.outputs)) or "_"
        attributes = []
        for name, value in e.attributes.items():
            attributes.append(f"{name}={self.attribute(value, indent + '  ')}")
        listed = f"[{' '.join(attributes)}]" if attributes else ""
        operands = " ".join(map(self.atom, e.inputs))
        return f"{indent}{left} = {e.effect.name}{listed} {operands}".rstrip()

    def note(self, e: Equation) -> str:
        """Return the note printed beside an equation."""
        parts = []
        if self.shown.source:
            parts.append(describe(e.frame))
        scopes = [e.scope] if str(e.scope) else []  # one with metadata only has no name
        if "again" in e.attributes:  # a checkpointed function's backward pass has this attribute
            scopes.append("rematted_computation")
        if self.shown.scopes and scopes:
            parts.append(f"[{'/'.join(scopes)}]")
        if self.shown.rows and e.row:
            parts.append(f"! {', '.join(sorted(e.row))}")
        return "  ".join(parts)

    def attribute(self, value: Any, indent: str) -> str:
        """An attribute's value; programs in full, functions by name."""
        if type(value) is Program:
            return self.program(value, indent)
        if type(value) is tuple and any(type(x) is Program for x in value):
            return "(" + ", ".join(self.attribute(x, indent) for x in value) + ")"
        if callable(value) and hasattr(value, "__name__"):
            return str(value.__name__)
        if type(value) is str and not _PLAIN.fullmatch(value):
            return repr(value)
        return str(value)


def _beside(equations: list[str], notes: list[str]) -> list[str]:
    """Equations with their notes, in a column where lines are not too long for it."""
    firsts = [text.partition("\n") for text in equations]
    widths = [len(first) for first, _, _ in firsts]
    column = max([n for n in widths if n <= _WIDEST], default=0)
    return [
        f"{first:<{column}}  # {note}{newline}{rest}" if note else first + newline + rest
        for (first, newline, rest), note in zip(firsts, notes, strict=True)
    ]
