"""A walk over a program that adds up what its effects cost, and follows which arrays are alive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import attrs

from effax.effects.effect import Effect
from effax.effects.jax_primitives import params_of
from effax.effects.mesh import AbstractMesh, MeshShape
from effax.effects.program import Equation, Literal, Program, Variable, without_dead_code
from effax.effects.types import ShapedArray
from effax.experimental.roofline.collectives import sends, traffic
from effax.experimental.roofline.results import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
)
from effax.experimental.roofline.rows import row_of
from effax.extend.expansion import expanded
from effax.interpreters.functor.meanings import meanings
from effax.seeing.costs import runs

Rule = Callable[..., RooflineResult]

_log: Final = logging.getLogger("effax")
_rules: Final[dict[Effect, Rule]] = {}
"""Rules that users registered; they go before the library's rows."""


def register_roofline(prim: Effect) -> Callable[[Rule], Rule]:
    """Decorate the rule that says what an effect costs.

    The rule is called as `rule(ctx, *shapes, **attributes)`, with a `RooflineRuleContext` and a
    `RooflineShape` for each operand. It goes before effax's own count of the effect.

    Args:
      prim: the effect, or a `Primitive`.

    Returns:
      A decorator, which returns the rule.

    Raises:
      TypeError: if `prim` is not an effect.

    >>> import effax
    >>> from effax.experimental import roofline
    >>> thrice = effax.extend.core.Primitive("doctest_roofline_thrice")
    >>> shape = thrice.def_abstract_eval(lambda x: x)
    >>> @roofline.register_roofline(thrice)
    ... def three_for_each_element(ctx, x, **attributes):
    ...     return roofline.RooflineResult(unfused_flops=3 * x.size)
    >>> roofline.roofline(thrice.bind)(effax.numpy.ones(4))[1].unfused_flops
    12
    """
    _require_effect("register_roofline", prim)

    def register(rule: Rule) -> Rule:
        _rules[prim] = rule
        return rule

    return register


def register_standard_roofline(prim: Effect) -> None:
    """Count an effect as nothing, without a warning.

    Args:
      prim: the effect, or a `Primitive`.

    Raises:
      TypeError: if `prim` is not an effect.

    >>> import effax
    >>> from effax.experimental import roofline
    >>> mark = effax.extend.core.Primitive("doctest_roofline_mark")
    >>> shape = mark.def_abstract_eval(lambda x: x)
    >>> roofline.register_standard_roofline(mark)
    >>> roofline.roofline(mark.bind)(effax.numpy.ones(4))[1].unfused_flops
    0
    """
    _require_effect("register_standard_roofline", prim)
    _rules[prim] = lambda ctx, *shapes, **attributes: RooflineResult.zeros()


def _require_effect(name: str, prim: Any) -> None:
    if not isinstance(prim, Effect):
        raise TypeError(f"{name}: expected an effect or a Primitive, got {prim!r}")


@attrs.frozen
class Counter:
    """The surroundings of a walk: a mesh, names, and operands kept on the chip."""

    mesh: MeshShape | None
    name: str
    pin_lhs: bool
    pin_rhs: bool

    def program(self, program: Program) -> RooflineResult:
        """Return the cost of a program.

        An array is alive from the equation that makes it to the last one that uses it; inputs are
        alive from the start, results to the end.

        Args:
          program: the program.
        """
        last: dict[Any, int] = {}
        for i, e in enumerate(program.equations):
            last.update((x, i) for x in e.inputs)
        last.update((x, len(program.equations)) for x in program.outputs)
        alive = sum(_bytes_of(x) for x in program.inputs)
        result = RooflineResult(peak_hbm_bytes=alive)
        for i, e in enumerate(program.equations):
            used = tuple(x in last for x in e.outputs)
            result += self.equation(e, used)
            alive += sum(_bytes_of(x) for x, kept in zip(e.outputs, used, strict=True) if kept)
            ended = {x for x in e.inputs if type(x) is Variable and last[x] == i}
            alive -= sum(map(_bytes_of, ended))
            result += RooflineResult(peak_hbm_bytes=alive)
        return result

    def equation(self, e: Equation, used: tuple[bool, ...]) -> RooflineResult:
        """Return the cost of an equation, without its operands' and results' share of the peak.

        Args:
          e: the equation.
          used: which of its results something uses.
        """
        rule = _rules.get(e.effect)
        if rule is not None:
            return self._by_rule(e, rule)
        if sends(e.effect.name):
            return traffic(e.effect.name, [_type_of(x) for x in e.inputs], e.attributes, self.mesh)
        inside = [(self._inside(e).program(p), n) for p, n in _programs(e, used)]
        if not inside:
            return self._by_row(e)
        if e.effect.name == "cond":
            return max((one for one, _ in inside), key=_dearness)
        return sum((_times(one, n) for one, n in inside), RooflineResult.zeros())

    def _inside(self, e: Equation) -> Counter:
        """The surroundings of the programs inside an equation."""
        mesh = self.mesh
        if e.effect.name == "shard_map":
            mesh = e.attributes["mesh"]
        elif e.effect.name == "parallel":
            outer = () if mesh is None else mesh.shape_tuple
            axes = dict([*outer, *((name, e.attributes["size"]) for name in e.attributes["binds"])])
            mesh = AbstractMesh(tuple(axes.values()), tuple(axes))
        return attrs.evolve(self, mesh=mesh, name=f"{e.effect.name}({self.name})")

    def _by_rule(self, e: Equation, rule: Rule) -> RooflineResult:
        ins, outs = [_type_of(x) for x in e.inputs], [_type_of(x) for x in e.outputs]
        context = RooflineRuleContext(
            name_stack="/".join(filter(None, (f"roofline({self.name})", e.scope))),
            primitive=e.effect,
            avals_in=ins,
            avals_out=outs,
            jaxpr_eqn_ctx=e.ctx,
            mesh=self.mesh,
            pin_lhs_in_vmem=self.pin_lhs,
            pin_rhs_in_vmem=self.pin_rhs,
        )
        shapes = map(RooflineShape.from_aval, ins)
        return rule(context, *shapes, **params_of(e.effect.name, e.attributes))

    def _by_row(self, e: Equation) -> RooflineResult:
        row = row_of(e.effect)
        if row is None:
            _log.warning(
                "roofline: no rule for the effect %s, which counts as nothing; give it one with "
                "register_roofline. It is performed at %s",
                e.effect,
                e.place,
            )
            return RooflineResult.zeros()
        ins, outs = [_type_of(x) for x in e.inputs], [_type_of(x) for x in e.outputs]
        flops, moved = int(row.flops(e, ins, outs)), int(row.bytes(e, ins, outs))
        if not row.fused:
            return RooflineResult(unfused_flops=flops, unfused_hbm_bytes=moved)
        moved -= self._pinned(ins, outs)
        return RooflineResult(
            flops=flops, unfused_flops=flops, hbm_bytes=moved, unfused_hbm_bytes=moved
        )

    def _pinned(self, ins: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of a matrix product that stay on the chip; the result stays with the left."""
        kept = [*ins[:1], *outs] if self.pin_lhs else []
        return RooflineShape.total_bytes([*kept, *(ins[1:] if self.pin_rhs else [])])


def _programs(e: Equation, used: tuple[bool, ...]) -> list[tuple[Program, int]]:
    """The programs that an equation runs and how often, without what only unused results need."""
    if e.effect in meanings:  # a user's effect: what it is written out as
        types = [_type_of(x) for x in e.inputs]
        staged = expanded(meanings[e.effect], e.effect, types, e.attributes, e.effect.multiple)
        return [(staged.program, 1)]
    if e.effect.name in _OWN_RESULTS:
        return runs(e)
    return [(without_dead_code(p, used), n) for p, n in runs(e)]


_OWN_RESULTS: Final = frozenset({"kernel", "linear_solve", "scan", "while"})
"""Effects whose programs have other results than the effect, or need them for the next step."""


def _type_of(x: Any) -> ShapedArray:
    """The type of an atom: of a reference what it holds, of a number written down a scalar."""
    found: ShapedArray = getattr(x.type, "inner_aval", x.type)
    return found.update(shape=()) if type(x) is Literal else found


def _bytes_of(x: Any) -> int:
    return RooflineShape.from_aval(_type_of(x)).bytes


def _times(result: RooflineResult, times: int) -> RooflineResult:
    """The cost of a program that runs so many times, each time in the same memory."""
    return replace(times * result, peak_hbm_bytes=result.peak_hbm_bytes)


def _dearness(result: RooflineResult) -> tuple[int, ...]:
    return result.unfused_flops, result.unfused_hbm_bytes, sum(result.ici_bytes.values())
