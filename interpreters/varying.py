"""Programs whose types no longer say along which axes of a mesh values may differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from effax.effects.collective import pvary
from effax.effects.program import Equation, Literal, Program, Variable


def forgotten(program: Program, axes: frozenset[Any]) -> Program:
    """The program without these axes in its types, and in those of programs inside.

    Types say it while a function is staged, for the derivatives that are taken inside of it. From
    outside, a program over a mesh is transposed place by place.
    """
    names: dict[Variable, Any] = {}

    def fresh(x: Variable) -> Variable:
        names[x] = made = Variable(x.handler, x.type.vary(x.type.varying - axes), x.origin)
        return made

    inputs = [fresh(x) for x in program.inputs]
    equations = []
    for e in program.equations:
        operands = [names[x] if type(x) is Variable else _literal(x, axes) for x in e.inputs]
        attributes = _attributes(e.attributes, axes)
        if e.effect is pvary:
            left = tuple(name for name in attributes["axes"] if name not in axes)
            if not left:
                names[e.outputs[0]] = operands[0]
                continue
            attributes = {"axes": left}
        outputs = [fresh(x) for x in e.outputs]
        equations.append(Equation(e.effect, operands, attributes, outputs, e.frame, e.scope))
    results = [names[x] if type(x) is Variable else _literal(x, axes) for x in program.outputs]
    return Program(inputs, equations, results, program.name)


def _literal(x: Literal, axes: frozenset[Any]) -> Literal:
    return Literal(x.value, x.type.vary(x.type.varying - axes)) if x.type.varying else x


def _attributes(attributes: Mapping[str, Any], axes: frozenset[Any]) -> dict[str, Any]:
    return {name: _attribute(value, axes) for name, value in attributes.items()}


def _attribute(value: Any, axes: frozenset[Any]) -> Any:
    if type(value) is Program:
        return forgotten(value, axes)
    if type(value) is tuple and any(type(x) is Program for x in value):
        return tuple(_attribute(x, axes) for x in value)
    return value
