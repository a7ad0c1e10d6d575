"""Sketches: programs as data, that can be called, printed as Python, and made smaller.

A sketch is a list of steps, each an effect on numbers of earlier values. Calling it performs the
effects under whatever handlers are installed, so it is a function of the object language like any
other. Loops and branches hold sketches, which are staged when the effect is performed.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.types import ShapedArray
from effax.interpreters.stage import stage


@attrs.frozen
class Value:
    """An operand or a result of a step: the number of a value, inputs first."""

    number: int


Operand = Value | int | float | bool | np.generic


@attrs.frozen(eq=False)
class Step:
    """One effect on earlier values and on literals; attributes may hold sketches."""

    effect: Effect
    operands: tuple[Operand, ...]
    attributes: dict[str, Any]
    results: int


@attrs.frozen(eq=False)
class Sketch:
    """A function of arrays of the given types, giving a tuple of arrays."""

    types: tuple[ShapedArray, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Value, ...]
    name: str = "f"
    _programs: dict[Any, Program] = attrs.field(factory=dict, init=False, repr=False)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Perform the effects."""
        values = list(arguments)
        for step in self.steps:
            operands = [values[x.number] if type(x) is Value else x for x in step.operands]
            attributes = {k: _staged(v) for k, v in step.attributes.items()}
            result = step.effect(*operands, **attributes)
            values += result if step.effect.multiple else [result]
        return tuple(values[x.number] for x in self.outputs)

    def program(self) -> Program:
        """The sketch as a closed program."""
        found = self._programs.get("program")
        if found is None:
            found = self._programs["program"] = program(self, *self.types, name=self.name)
        return found

    @property
    def size(self) -> int:
        """How many steps there are, those of sketches inside included."""
        return sum(1 + sum(s.size for s in _inside(step)) for step in self.steps)

    def effects(self) -> set[Effect]:
        """Every effect in the sketch."""
        inner: set[Effect] = set()
        for step in self.steps:
            inner.add(step.effect)
            for s in _inside(step):
                inner |= s.effects()
        return inner

    def without_dead_steps(self) -> Sketch:
        """The sketch without the steps that its outputs do not need."""
        starts, n = [], len(self.types)
        for step in self.steps:
            starts.append(n)
            n += step.results
        live = {x.number for x in self.outputs}
        kept = []
        for start, step in zip(reversed(starts), reversed(self.steps), strict=True):
            if live.intersection(range(start, start + step.results)):
                kept.append((start, step))
                live.update(x.number for x in step.operands if type(x) is Value)
        numbers = {i: i for i in range(len(self.types))}
        steps = []
        for start, step in reversed(kept):
            operands = tuple(
                Value(numbers[x.number]) if type(x) is Value else x for x in step.operands
            )
            for i in range(step.results):
                numbers[start + i] = len(numbers)
            steps.append(attrs.evolve(step, operands=operands))
        outputs = tuple(Value(numbers[x.number]) for x in self.outputs)
        return Sketch(self.types, tuple(steps), outputs, self.name)

    def text(self) -> str:
        """The sketch as Python that runs."""
        writer = _Writer()
        body = writer.function(self, self.name, "")
        modules = ", ".join(sorted(writer.modules))
        lines = ["import numpy as np"]
        if modules:
            lines.append(f"from effax.effects import {modules}")
        if writer.programs:
            lines.append("from effax.laws import program")
        if writer.finds:
            lines.append("from effax.effects.effect import find_effect")
        return "\n".join([*lines, "", "", *body])

    def __repr__(self) -> str:
        types = ", ".join(t.str_short() for t in self.types)
        return f"<a sketch of {self.size} steps on {types}>\n{self.text()}"


def program(function: Any, *types: ShapedArray | str, name: str = "program") -> Program:
    """A function of arrays of these types ("f64[2,3]"), staged as a closed program.

    Raises `ValueError` where it captures values from outside.
    """
    staged = stage(lambda *xs: list(function(*xs)), [_type(t) for t in types], name)
    if staged.captured:
        raise ValueError(f"{function} must be closed, but it captures {staged.captured}")
    return staged.program


_SHORT = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


def _type(text: ShapedArray | str) -> ShapedArray:
    if isinstance(text, ShapedArray):
        return text
    name, _, lengths = text.rstrip("]").partition("[")
    dtype = name if name in ("bool", "bf16") else f"{_SHORT[name[0]]}{name[1:]}"
    dtype = "bfloat16" if dtype == "bf16" else dtype
    return ShapedArray(tuple(int(n) for n in lengths.split(",") if n), dtype)


def _staged(value: Any) -> Any:
    if isinstance(value, Sketch):
        return value.program()
    if type(value) is tuple and any(isinstance(v, Sketch) for v in value):
        return tuple(_staged(v) for v in value)
    return value


def _inside(step: Step) -> list[Sketch]:
    found = []
    for value in step.attributes.values():
        values = value if type(value) is tuple else (value,)
        found += [v for v in values if isinstance(v, Sketch)]
    return found


class _Writer:
    """Writes sketches as functions, and keeps what they need to be imported."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.programs = False
        self.finds = False
        self.count = 0

    def function(self, sketch: Sketch, name: str, indent: str) -> list[str]:
        names = [_name(i) for i in range(len(sketch.types))]
        types = ", ".join(t.str_short() for t in sketch.types)
        lines = [f"{indent}def {name}({', '.join(names)}):  # {types}"]
        inner = indent + "    "
        for step in sketch.steps:
            attributes = []
            for key, value in step.attributes.items():
                attributes.append(f"{key}={self.attribute(value, lines, inner)}")
            operands = [names[x.number] if type(x) is Value else repr(x) for x in step.operands]
            made = [_name(len(names) + i) for i in range(step.results)]
            left = ", ".join(made) + ("," if step.effect.multiple and len(made) == 1 else "")
            call = f"{self.spelling(step.effect)}({', '.join([*operands, *attributes])})"
            lines.append(f"{inner}{left} = {call}" if made else f"{inner}{call}")
            names += made
        results = ", ".join(names[x.number] for x in sketch.outputs)
        lines.append(f"{inner}return ({results},)")
        return lines

    def attribute(self, value: Any, lines: list[str], indent: str) -> str:
        if isinstance(value, Sketch):
            self.programs = True
            self.count += 1
            name = f"body{self.count}"
            lines += self.function(value, name, indent)
            types = "".join(f', "{t.str_short()}"' for t in value.types)
            return f"program({name}{types})"
        if type(value) is tuple:
            parts = [self.attribute(v, lines, indent) for v in value]
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if isinstance(value, np.dtype):
            return f'np.dtype("{value.name}")'
        if isinstance(value, enum.Enum):
            self.modules.add(type(value).__module__.rpartition(".")[2])
            return f"{type(value).__module__.rpartition('.')[2]}.{value}"
        if hasattr(value, "_fields"):
            module = type(value).__module__.rpartition(".")[2]
            self.modules.add(module)
            return f"{module}.{value!r}"
        return repr(value)

    def spelling(self, effect: Effect) -> str:
        found = _spelling(effect)
        if found is None:
            self.finds = True
            return f'find_effect("{effect.name}")'
        self.modules.add(found.partition(".")[0])
        return found


def _spelling(effect: Effect) -> str | None:
    """How the effect is called in the module of its family: `elementwise.add`."""
    for name in (effect.family, *_families()):
        module = sys.modules.get(f"effax.effects.{name}")
        for attribute, value in vars(module).items() if module else ():
            if value is effect:
                return f"{name}.{attribute}"
    return None


def _families() -> Sequence[str]:
    prefix = "effax.effects."
    return sorted(name[len(prefix) :] for name in sys.modules if name.startswith(prefix))


def _name(index: int) -> str:
    letters = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        letters = chr(97 + digit) + letters
    return f"{letters}_" if letters in ("as", "if", "in", "is", "or", "np") else letters
