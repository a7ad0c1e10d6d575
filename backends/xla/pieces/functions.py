"""Stretches of equations as calls of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from effax.backends.xla.pieces.cutting import Flow, Stretch
from effax.backends.xla.pieces.letters import exact
from effax.backends.xla.pieces.runs import Run
from effax.effects.program import Atom, Equation, Literal, Program, Variable
from effax.effects.provenance import tagged, tags_of
from effax.effects.rows.control import call


def in_functions(flow: Flow, runs: Sequence[Run], name: str) -> list[Equation]:
    """The equations, with stretches of them as calls of functions."""
    calls: dict[Stretch, Equation] = {}
    for group in flow.groups(runs):
        calls |= zip(group, _calls(flow, group, f"{name}_part"), strict=True)
    made: list[Equation] = []
    at = 0
    for start, stop in sorted(calls):
        made += [*flow.equations[at:start], calls[start, stop]]
        at = stop
    return [*made, *flow.equations[at:]]


def _calls(flow: Flow, group: Sequence[Stretch], name: str) -> Iterator[Equation]:
    """Calls of one function, whose inputs are what the stretches are given differently."""
    inputs: dict[Any, Variable] = {}
    operands: list[Sequence[Atom]] = []
    known: dict[Any, Variable] = {}
    body: list[Equation] = []
    rows = [flow.equations[start:stop] for start, stop in group]
    for e, *others in zip(*rows, strict=True):
        given: list[Atom] = []
        for x, *rest in zip(e.inputs, *(o.inputs for o in others), strict=True):
            if x in known:
                given.append(known[x])
                continue
            key = tuple(y if type(y) is Variable else exact(y.value) for y in (x, *rest))
            if type(x) is Literal and len({*key}) == 1:
                given.append(x)
                continue
            if (x.type, key) not in inputs:
                inputs[x.type, key] = Variable(None, x.type)
                operands.append((x, *rest))
            given.append(inputs[x.type, key])
        outs = [Variable(None, x.type) for x in e.outputs]
        known.update(zip(e.outputs, outs, strict=True))
        same = {o.scope for o in others} <= {e.scope}
        scope = e.scope if same else tagged("", tags_of(e.scope))  # which are the same in all
        body.append(Equation(e.effect, given, e.attributes, outs, e.frame, scope))
    outputs = flow.inside(*group[0])[1]
    results = [body[q].outputs[k] for q, k in outputs]
    function = Program([*inputs.values()], body, results, name)
    attributes = {"program": function, "name": name, "apart": True}
    for i, row in enumerate(rows):
        own = [row[q].outputs[k] for q, k in outputs]
        yield Equation(call, [column[i] for column in operands], attributes, own, row[0].frame)
