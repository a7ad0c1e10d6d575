"""Programs as text: let-form, with types and the effect row."""

from __future__ import annotations

from typing import Any

from effax.effects.program import Equation, Literal, Program, Variable


def program_text(program: Program, indent: str = "") -> str:
    """The program in let-form.

    One line an equation, `name:type = effect[attributes] operands`; programs inside attributes
    are indented below the equation that holds them.
    """
    return _Printer().program(program, indent)


def _name(index: int) -> str:
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        letters = chr(97 + digit) + letters
    return letters


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Variable, str] = {}

    def atom(self, x: Any) -> str:
        if type(x) is Variable:
            if x not in self.names:
                self.names[x] = _name(len(self.names))
            return self.names[x]
        if isinstance(x, Literal):
            return f"{x.value}:{x.type.str_short()}"
        return f"<{type(x).__name__}>"

    def typed(self, x: Variable) -> str:
        return f"{self.atom(x)}:{x.type.str_short()}"

    def program(self, program: Program, indent: str) -> str:
        head = " ".join(map(self.typed, program.inputs))
        row = f" ! {', '.join(sorted(program.row))}" if program.row else ""
        lines = [f"{{ lambda {head} .{row}" if head else f"{{ lambda .{row}"]
        lines += [self.equation(e, indent + "  ") for e in program.equations]
        results = ", ".join(map(self.atom, program.outputs))
        lines.append(f"{indent}  in ({results}) }}")
        return "\n".join(lines)

    def equation(self, e: Equation, indent: str) -> str:
        left = " ".join(map(self.typed, e.outputs)) or "_"
        attributes = []
        for name, value in e.attributes.items():
            attributes.append(f"{name}={self.attribute(value, indent + '  ')}")
        listed = f"[{' '.join(attributes)}]" if attributes else ""
        operands = " ".join(map(self.atom, e.inputs))
        return f"{indent}{left} = {e.effect.name}{listed} {operands}".rstrip()

    def attribute(self, value: Any, indent: str) -> str:
        if type(value) is Program:
            return self.program(value, indent)
        if type(value) is tuple and any(type(x) is Program for x in value):
            return "(" + ", ".join(self.attribute(x, indent) for x in value) + ")"
        if callable(value) and hasattr(value, "__name__"):
            return str(value.__name__)
        return str(value)
