"""Work that is the same in every step of a loop, done before it.

XLA moves it out of the loops that it compiles. What it can't see is what a derivative stores: a
residual that is the same in every step would be stacked once for each.
"""

from __future__ import annotations

from typing import Any

import attrs

from effax.effects.frames import user_frame
from effax.effects.program import Equation, Program, Variable
from effax.effects.provenance import source
from effax.effects.rows import control
from effax.effects.value import surely
from effax.interpreters.residual.recomputing import STRUCTURAL


@attrs.frozen(slots=True, eq=False)
class Hoisted:
    """The equations of a body that depend on its constants alone, and the body without them.

    `values` are what the body needs of the former; they are inputs of it after its constants.
    """

    equations: list[Equation]
    values: list[Variable]
    body: Program


def hoist(body: Program, consts: int) -> Hoisted | None:
    """The body of a loop in two; None where all that could be moved are broadcasts and the like.

    What can be observed stays where it is, and so do effects that speak of places.
    """
    fixed = set(body.inputs[:consts])
    invariant = []
    for e in body.equations:
        variables = [x for x in e.inputs if type(x) is Variable]
        if not e.row and fixed.issuperset(variables):
            fixed.update(e.outputs)
            invariant.append(e)
    wanted: set[Variable] = set()
    moved: list[Equation] = []
    for e in reversed(invariant):
        if e.effect not in STRUCTURAL or not wanted.isdisjoint(e.outputs):
            moved.append(e)
            wanted.update(x for x in e.inputs if type(x) is Variable)
    if not moved:
        return None
    moved.reverse()
    gone = {id(e) for e in moved}
    rest = [e for e in body.equations if id(e) not in gone]
    made = {x: None for e in moved for x in e.outputs}
    used = {x for e in rest for x in e.inputs if type(x) is Variable}
    used.update(x for x in body.outputs if type(x) is Variable)
    values = [x for x in made if x in used]
    inputs = [*body.inputs[:consts], *values, *body.inputs[consts:]]
    return Hoisted(moved, values, Program(inputs, rest, body.outputs, body.name))


def hoisted_scan(attributes: dict[str, Any]) -> Program | None:
    """A scan as a program: what is the same in every step, then the scan; None if there is nothing.

    A scan that may have no steps is left alone: what it would have done may have no derivative.
    """
    body: Program = attributes["body"]
    n, m, length = attributes["consts"], attributes["carry"], attributes["length"]
    if not surely(lambda: length >= 1):
        return None
    key = "hoisted", tuple((k, v) for k, v in attributes.items() if k != "body")
    if key not in body.memo:
        found = hoist(body, n)
        body.memo[key] = None if found is None else _before(found, attributes, n, m, length)
    program: Program | None = body.memo[key]
    return program


def _before(found: Hoisted, attributes: dict[str, Any], n: int, m: int, length: int) -> Program:
    body: Program = attributes["body"]
    consts = body.inputs[:n]
    rows = [Variable(None, x.type.stacked(length)) for x in body.inputs[n + m :]]
    carry = [Variable(None, x.type) for x in body.inputs[n : n + m]]
    operands = [*consts, *found.values, *carry, *rows]
    inner = {**attributes, "body": found.body, "consts": n + len(found.values)}
    types = control.scan.infer(tuple(x.type for x in operands), inner)
    outputs = [Variable(None, t) for t in types]
    scan = Equation(control.scan, operands, inner, outputs, source.frame or user_frame())
    return Program([*consts, *carry, *rows], [*found.equations, scan], outputs, body.name)
