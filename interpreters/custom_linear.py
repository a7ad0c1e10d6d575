"""A linear map given by its transpose, computed forwards: the transpose of the transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects import custom
from effax.effects.effect import Effect
from effax.effects.errors import MissingRuleError, UnsupportedDerivativeError
from effax.effects.program import Program
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.lifting import Lifting, functor, reopen
from effax.interpreters.stage import stage
from effax.interpreters.transpose.control import transpose_program
from effax.interpreters.transpose.linear import instantiate


def forward(
    residuals: int, out_types: tuple[ShapedArray, ...], backward: Any, types: Sequence[ShapedArray]
) -> Program:
    """The program from residuals and tangents to tangents of the results.

    Raises `UnsupportedDerivativeError` when the backward function is not linear in the
    cotangents, naming the effect that isn't.
    """
    memo = backward.memo
    key = tuple(types)
    found: Program | None = memo.get(key)
    if found is None:
        residual_types = list(types[:residuals])

        def flat(*values: Any) -> list[Any]:
            given = backward(values[:residuals], values[residuals:])
            return [instantiate(ct, t) for ct, t in zip(given, types[residuals:], strict=True)]

        back = stage(flat, [*residual_types, *out_types], "backward")
        if back.captured:
            raise UnsupportedDerivativeError(
                "forward mode through custom_vjp: the backward function uses a value that is "
                "neither a residual nor a cotangent; return it as a residual from the forward "
                "function"
            )
        linear = (*(False,) * residuals, *(True,) * len(out_types))
        try:
            done = transpose_program(back.program, linear, (True,) * (len(types) - residuals), True)
        except (MissingRuleError, UnsupportedDerivativeError) as error:
            raise UnsupportedDerivativeError(
                "forward mode through custom_vjp transposes its backward function, which must be "
                f"linear in the cotangent, but {getattr(error, 'reason', error)}"
            ) from None
        found = memo[key] = done.program
    return found


def lift_custom_linear(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Any other handler sees the map's forward program."""
    program = forward(**attributes, types=[typeof(x) for x in operands])
    return reopen(handler, program, operands)


functor[custom.custom_linear] = lift_custom_linear
