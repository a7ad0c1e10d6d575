"""Along which axes of a mesh values may differ, as types tell it under `shard_map`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from effax.effects.handler import bottom
from effax.effects.program import Equation, Literal, Program, Variable
from effax.effects.rows.collective import psum, pvary
from effax.effects.types import ShapedArray, typeof


def tracked(handler: Any) -> bool:
    """Whether types tell it under a handler and those outside of it."""
    while handler is not bottom:
        if getattr(handler, "tracks", False) is True:
            return True
        handler = handler.outer
    return False


def along(x: Any, type: ShapedArray) -> Any:
    """A cotangent, or None, that may differ along the same axes as its value, of that type.

    Places that share a value have parts of its cotangent, which are added up; and where a value may
    differ, each place has a cotangent of its own. Source: the transpose of `pvary` in JAX's
    `shard_map` with `check_vma`.
    """
    if x is None or (found := typeof(x).varying) == type.varying:
        return x
    if found - type.varying:
        x = psum(x, axes=tuple(found - type.varying))
    return widened(x, type)


def widened(x: Any, type: ShapedArray) -> Any:
    """A value that may differ at least along the axes that values of that type may."""
    missing = type.varying - typeof(x).varying
    return pvary(x, axes=tuple(missing)) if missing else x


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
    if type(value) is ShapedArray:
        return value.vary(value.varying - axes)
    if type(value) is tuple and any(type(x) in (Program, ShapedArray) for x in value):
        return tuple(_attribute(x, axes) for x in value)
    return value
