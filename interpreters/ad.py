"""Derivatives of effects, as programs written for JAX give them: by tables, with symbolic zeros.

    primitive_jvps[effect] = rule        # rule(primals, tangents, **attributes) -> out, tangent
    primitive_transposes[effect] = rule  # rule(cotangent, *operands, **attributes) -> cotangents

Each entry fills the effect's cell of the jvp or the transpose column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.effect import Effect
from effax.effects.jax_primitives import also, unnamed
from effax.effects.rows import elementwise
from effax.effects.tree import register_pytree_node
from effax.effects.types import ShapedArray, tangent_type, typeof
from effax.interpreters.jvp import dual
from effax.interpreters.transpose import linear
from effax.interpreters.transpose.linear import Linear, add_cotangents

__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_jaxvals_p",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]

JVPTrace = dual.JVP
JVPTracer = dual.Dual
zeros_like_aval = dual.zeros
add_jaxvals = add_cotangents
add_jaxvals_p = also("add_any", elementwise.add)


@attrs.frozen(slots=True)
class Zero:
    """A tangent or cotangent known to be zero, of that type."""

    aval: ShapedArray

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """The zero tangent of a value."""
        return Zero(tangent_type(typeof(value)))


@attrs.frozen(slots=True)
class UndefinedPrimal:
    """An operand of which only the type is known: the one that is transposed."""

    aval: ShapedArray


# Neither has leaves in trees, so functions of trees skip values that are absent.
for _kind in (Zero, UndefinedPrimal):
    register_pytree_node(_kind, lambda held: ((), held), lambda held, _: held)


def is_undefined_primal(x: Any) -> bool:
    """Whether a transpose rule is asked for the cotangent of this operand.

    >>> is_undefined_primal(1.0)
    False
    """
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: Any) -> Any:
    """The tangent, as an array of zeros where it is a `Zero`.

    >>> instantiate_zeros(Zero(ShapedArray((2,), "float32")))
    Array([0., 0.], dtype=float32)
    """
    return dual.zeros(tangent.aval) if type(tangent) is Zero else tangent


def add_tangents(x: Any, y: Any) -> Any:
    """The sum, with symbolic zeros left out.

    >>> add_tangents(Zero(ShapedArray((), "float32")), 2.0)
    2.0
    """
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_cotangents(x, y)


def _none(tangent: Any) -> Any:
    return None if type(tangent) is Zero else tangent


class _JVPs(dict[Effect, Callable[..., Any]]):
    """`primitive_jvps[effect] = rule`."""

    def __setitem__(self, effect: Effect, function: Callable[..., Any]) -> None:
        effect = unnamed(effect)
        super().__setitem__(effect, function)

        def jvp_from_table(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
            given = tuple(
                Zero.from_primal_value(p) if t is None else t
                for p, t in zip(primals, tangents, strict=True)
            )
            out, tangent = function(tuple(primals), given, **attributes)
            return out, ([_none(t) for t in tangent] if effect.multiple else _none(tangent))

        dual.rule(effect)(jvp_from_table)


class _Transposes(dict[Effect, Callable[..., Any]]):
    """`primitive_transposes[effect] = rule`."""

    def __setitem__(self, effect: Effect, function: Callable[..., Any]) -> None:
        effect = unnamed(effect)
        super().__setitem__(effect, function)

        def transpose_from_table(cotangent: Any, *operands: Any, **attributes: Any) -> Any:
            if effect.multiple:
                types = effect.infer(tuple(map(_type, operands)), attributes)
                cotangent = [
                    Zero(t) if c is None else c for c, t in zip(cotangent, types, strict=True)
                ]
            given = [UndefinedPrimal(x.type) if type(x) is Linear else x for x in operands]
            found = function(cotangent, *given, **attributes)
            return [_none(c) if type(x) is Linear else None for c, x in zip(found, operands)]  # noqa: B905

        linear.rule(effect)(transpose_from_table)


def _type(operand: Any) -> ShapedArray:
    return operand.type if type(operand) is Linear else typeof(operand)


primitive_jvps: dict[Effect, Callable[..., Any]] = _JVPs()
primitive_transposes: dict[Effect, Callable[..., Any]] = _Transposes()


def get_primitive_transpose(primitive: Effect) -> Callable[..., Any]:
    """The transpose rule that was given for it; raises NotImplementedError where none was."""
    try:
        return primitive_transposes[primitive]
    except KeyError:
        raise NotImplementedError(f"Transpose rule (for '{primitive}') not implemented") from None


def defjvp(primitive: Effect, *jvprules: Callable[..., Any] | None) -> None:
    """A rule for each operand: `rule(tangent, *primals, **attributes)` is its part of the tangent.

    None for an operand that the result does not move with.
    """
    with_result = [
        None if r is None else (lambda t, _, *primals, r=r, **a: r(t, *primals, **a))
        for r in jvprules
    ]
    defjvp2(primitive, *with_result)


def defjvp2(primitive: Effect, *jvprules: Callable[..., Any] | None) -> None:
    """The same, for rules that are also given the result: `rule(tangent, out, *primals)`."""

    def jvp_by_operand(
        primals: Sequence[Any], tangents: Sequence[Any], **attributes: Any
    ) -> tuple[Any, Any]:
        out = primitive(*primals, **attributes)
        total: Any = Zero.from_primal_value(out)
        for rule, tangent in zip(jvprules, tangents, strict=True):
            if rule is not None and type(tangent) is not Zero:
                total = add_tangents(total, rule(tangent, out, *primals, **attributes))
        return out, total

    primitive_jvps[primitive] = jvp_by_operand


def deflinear2(primitive: Effect, transpose_rule: Callable[..., Any]) -> None:
    """Say that it is linear in all operands together, and how its transpose is computed."""
    dual.linear(primitive)
    primitive_transposes[primitive] = transpose_rule


def deflinear(primitive: Effect, transpose_rule: Callable[..., Any]) -> None:
    """The same, for a rule that does not look at the operands: `rule(cotangent, **attributes)`."""
    deflinear2(primitive, lambda ct, *_, **attributes: transpose_rule(ct, **attributes))


def defbilinear(
    primitive: Effect, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
) -> None:
    """Say that it is linear in each of two operands.

    `lhs_rule(ct, lhs, rhs)` is the cotangent of the left operand, `rhs_rule` that of the right.
    """
    dual.bilinear(primitive)

    def transpose_either(ct: Any, lhs: Any, rhs: Any, **attributes: Any) -> list[Any]:
        if is_undefined_primal(lhs):
            return [lhs_rule(ct, lhs, rhs, **attributes), None]
        return [None, rhs_rule(ct, lhs, rhs, **attributes)]

    primitive_transposes[primitive] = transpose_either
