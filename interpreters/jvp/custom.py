"""Forward mode through programs that bring their own derivative."""

from __future__ import annotations

from typing import Any

from effax.effects import custom
from effax.effects.program import Program, Variable
from effax.effects.types import typeof
from effax.interpreters.custom_linear import forward
from effax.interpreters.jvp.dual import moves, rule, tangent_type, zeros, zeros_like
from effax.interpreters.stage import stage


@rule(custom.custom_jvp_call)
def custom_jvp_call_jvp(
    primals: list[Any], tangents: list[Any], *, program: Program, rule: Any, name: str
) -> Any:
    return rule(primals, tangents)


@rule(custom.custom_vjp_call)
def custom_vjp_call_jvp(
    primals: list[Any], tangents: list[Any], *, program: Program, rule: Any, name: str
) -> Any:
    moved = [t is not None for t in tangents]
    if rule.optimize_remat:
        results, residuals = _forward(primals, program, rule, moved, name)
    else:
        results, residuals = rule.forward(primals, moved)
    types = [typeof(x) for x in results]
    moving = [i for i, t in enumerate(types) if moves(t)]
    directions = [
        (zeros_like(p) if t is None else t)
        for p, t in zip(primals, tangents, strict=True)
        if moves(typeof(p))
    ]
    out = custom.custom_linear(
        *residuals,
        *directions,
        residuals=len(residuals),
        out_types=tuple(tangent_type(types[i]) for i in moving),
        backward=rule.backward_of(tuple(moving), tuple(moves(typeof(p)) for p in primals)),
    )
    found: list[Any] = [None] * len(results)
    for i, t in zip(moving, out, strict=True):
        found[i] = t
    return results, found


def _forward(
    primals: list[Any], program: Program, rule: Any, moved: list[bool], name: str
) -> tuple[list[Any], list[Any]]:
    """Results and residuals, of one effect that may do without the latter."""

    def flat(*values: Any) -> list[Any]:
        results, residuals = rule.forward(values, moved)
        return [*results, *residuals]

    staged = stage(flat, [typeof(p) for p in primals], name)
    extra = [Variable(None, typeof(x)) for x in staged.captured]
    count = len(program.outputs)
    found = custom.custom_vjp_forward(
        *staged.captured,
        *primals,
        program=Program([*extra, *program.inputs], program.equations, program.outputs, name),
        forward=staged.program,
        name=name,
    )
    return found[:count], found[count:]


@rule(custom.custom_linear)
def custom_linear_jvp(
    primals: list[Any], tangents: list[Any], *, residuals: int, out_types: Any, backward: Any
) -> Any:
    if all(t is None for t in tangents[:residuals]):
        attributes = {"residuals": residuals, "out_types": out_types, "backward": backward}
        results = custom.custom_linear(*primals, **attributes)
        directions = [
            zeros(typeof(p)) if t is None else t
            for p, t in zip(primals[residuals:], tangents[residuals:], strict=True)
        ]
        return results, custom.custom_linear(*primals[:residuals], *directions, **attributes)
    from effax.interpreters.jvp.dual import JVP

    program = forward(residuals, out_types, backward, [typeof(p) for p in primals])
    handler = JVP()
    duals = [handler.dual(p, t) for p, t in zip(primals, tangents, strict=True)]
    pairs = [handler.split(x) for x in handler.run(program.run, *duals)]
    return [p for p, _ in pairs], [t for _, t in pairs]
