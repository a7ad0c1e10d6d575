"""Sketches: programs as data, that can be called, printed as Python, and made smaller.

A sketch is a list of steps, each an effect on numbers of earlier values. Calling it performs the
effects under whatever handlers are installed, so it is a function of the object language like any
other. Loops and branches hold sketches, which are staged when the effect is performed.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from effax.effects.effect import Effect
from effax.effects.program import Program
from effax.effects.rows.state import AbstractRef, new_ref
from effax.effects.types import ShapedArray
from effax.seeing.python_text import PythonText, program, variable_name


@attrs.frozen
class SketchValue:
    """An operand or a result of a step: the number of a value, inputs first."""

    number: int


Operand = SketchValue | int | float | bool | np.generic


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
    outputs: tuple[SketchValue, ...]
    name: str = "f"
    _programs: dict[Any, Program] = attrs.field(factory=dict, init=False, repr=False)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Perform the effects."""
        values = list(arguments)
        for step in self.steps:
            operands = [values[x.number] if type(x) is SketchValue else x for x in step.operands]
            attributes = {k: staged(v) for k, v in step.attributes.items()}
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
        """The number of steps, those of inner sketches included."""
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
        # A step that may write a reference is needed wherever the reference is used.
        refs = {i for i, t in enumerate(self.types) if isinstance(t, AbstractRef)}
        live = {x.number for x in self.outputs} | refs
        refs |= {at for at, e in zip(starts, self.steps, strict=True) if e.effect is new_ref}
        kept = []
        for start, step in zip(reversed(starts), reversed(self.steps), strict=True):
            given = {x.number for x in step.operands if type(x) is SketchValue}
            if live & (given & refs) or live.intersection(range(start, start + step.results)):
                kept.append((start, step))
                live.update(x.number for x in step.operands if type(x) is SketchValue)
        numbers = {i: i for i in range(len(self.types))}
        steps = []
        for start, step in reversed(kept):
            operands = tuple(
                SketchValue(numbers[x.number]) if type(x) is SketchValue else x
                for x in step.operands
            )
            for i in range(step.results):
                numbers[start + i] = len(numbers)
            steps.append(attrs.evolve(step, operands=operands))
        outputs = tuple(SketchValue(numbers[x.number]) for x in self.outputs)
        return Sketch(self.types, tuple(steps), outputs, self.name)

    def text(self) -> str:
        """The sketch as Python that runs."""
        writer = _Writer()
        body = writer.function(self, self.name, "")
        return "\n".join([*writer.header(), "", "", *body])

    def __repr__(self) -> str:
        types = ", ".join(t.str_short() for t in self.types)
        return f"<a sketch of {self.size} steps on {types}>\n{self.text()}"


@attrs.frozen(eq=False)
class Made:
    """The result of applying a function of `effax.laws.derived` to a sketch's program."""

    name: str
    sketch: Sketch | None = None
    arguments: tuple[Any, ...] = ()
    _found: list[Any] = attrs.field(factory=list, init=False, repr=False)

    def value(self) -> Any:
        """It is made once."""
        if not self._found:
            from effax.laws import derived

            program = () if self.sketch is None else (self.sketch.program(),)
            self._found.append(getattr(derived, self.name)(*program, *self.arguments))
        return self._found[0]


def staged(value: Any) -> Any:
    """An attribute as the effect takes it: sketches as programs."""
    if isinstance(value, Sketch):
        return value.program()
    if isinstance(value, Made):
        return value.value()
    if type(value) is tuple and any(isinstance(v, Sketch) for v in value):
        return tuple(staged(v) for v in value)
    return value


def _inside(step: Step) -> list[Sketch]:
    found = []
    for value in step.attributes.values():
        values = value if type(value) is tuple else (value,)
        found += [v for v in values if isinstance(v, Sketch)]
        found += [v.sketch for v in values if isinstance(v, Made) and v.sketch is not None]
    return found


class _Writer(PythonText):
    """Writes sketches as functions."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def function(self, sketch: Sketch, name: str, indent: str) -> list[str]:
        names = [variable_name(i) for i in range(len(sketch.types))]
        types = ", ".join(t.str_short() for t in sketch.types)
        lines = [f"{indent}def {name}({', '.join(names)}):  # {types}"]
        inner = indent + "    "
        for step in sketch.steps:
            attributes = []
            for key, value in step.attributes.items():
                attributes.append(f"{key}={self.attribute(value, lines, inner)}")
            operands = [
                names[x.number] if type(x) is SketchValue else repr(x) for x in step.operands
            ]
            made = [variable_name(len(names) + i) for i in range(step.results)]
            left = ", ".join(made) + ("," if step.effect.multiple and len(made) == 1 else "")
            call = f"{self.spelling(step.effect)}({', '.join([*operands, *attributes])})"
            lines.append(f"{inner}{left} = {call}" if made else f"{inner}{call}")
            names += made
        results = ", ".join(names[x.number] for x in sketch.outputs)
        lines.append(f"{inner}return ({results},)")
        return lines

    def nested(self, value: Any, lines: list[str], indent: str) -> str | None:
        """A sketch is a function written before, staged for its types."""
        if isinstance(value, Made):
            self.imports.add("from effax.laws import derived")
            sketch = () if value.sketch is None else (value.sketch,)
            parts = [self.attribute(v, lines, indent) for v in (*sketch, *value.arguments)]
            return f"derived.{value.name}({', '.join(parts)})"
        if not isinstance(value, Sketch):
            return None
        self.imports.add("from effax.laws import program")
        self.count += 1
        name = f"body{self.count}"
        lines += self.function(value, name, indent)
        types = "".join(f', "{t.str_short()}"' for t in value.types)
        return f"program({name}{types})"
