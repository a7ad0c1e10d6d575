"""A linear map given by its transpose, computed forwards: the transpose of the transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.errors import MissingRuleError, UnsupportedDerivativeError
from effax.effects.handler import Carrier
from effax.effects.program import Program, Variable
from effax.effects.rows import custom
from effax.effects.rows.state import Ref
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.functor.lifting import Lifted, Lifting, functor, reopen
from effax.interpreters.stage import Staged, stage
from effax.interpreters.transpose.control import transpose_program
from effax.interpreters.transpose.linear import instantiate


def forward(
    residuals: int, out_types: tuple[ShapedArray, ...], backward: Any, types: Sequence[ShapedArray]
) -> Staged:
    """The program from residuals and tangents to tangents of the results.

    Its first inputs are what the backward function closes over: arrays, or traced values.

    Raises `UnsupportedDerivativeError` when the backward function is not linear in the
    cotangents, naming the effect that isn't.
    """
    if type(backward) is Coupled:
        return Staged(backward.program, ())
    memo = backward.memo
    key = tuple(types)
    found: Staged | None = memo.get(key)
    if found is None:
        back = _staged(backward, types[:residuals], out_types, types[residuals:])
        known = len(back.captured) + residuals
        linear = (*(False,) * known, *(True,) * len(out_types))
        try:
            done = transpose_program(back.program, linear, (True,) * (len(types) - residuals), True)
        except (MissingRuleError, UnsupportedDerivativeError) as error:
            raise UnsupportedDerivativeError(
                "forward mode through custom_vjp transposes its backward function, which must be "
                f"linear in the cotangent, but {getattr(error, 'reason', error)}"
            ) from None
        found = Staged(done.program, back.captured)
        if _is_closed(back):
            memo[key] = found
    return found


def _staged(
    backward: Any,
    residuals: Sequence[ShapedArray],
    out_types: Sequence[ShapedArray],
    types: Sequence[ShapedArray],
    known: tuple[tuple[int, Any], ...] = (),
) -> Staged:
    """The backward function as a program of residuals and cotangents, zeros written out.

    `known` are places and values of residuals that it is told: it may branch on them.
    """
    n = len(residuals)
    key = "staged", n, known, *residuals, *out_types, *types
    found: Staged | None = backward.memo.get(key)
    if found is not None:
        return found

    def flat(*values: Any) -> list[Any]:
        told = list(values[:n])
        for i, x in known:
            told[i] = x
        given = backward(told, values[n:])
        return [instantiate(ct, t) for ct, t in zip(given, types, strict=True)]

    found = stage(flat, [*residuals, *out_types], "backward")
    if _is_closed(found):
        backward.memo[key] = found
    return found


def _is_closed(staged: Staged) -> bool:
    """Whether it closes over arrays alone, which may be kept, and over no traced values."""
    return not any(isinstance(x, (Carrier, Ref)) for x in staged.captured)


def decided(residuals: Sequence[Any]) -> tuple[tuple[int, bool], ...]:
    """Places and values of the residuals that are Python's Booleans."""
    return tuple([(i, x) for i, x in enumerate(residuals) if x is True or x is False])


def closed(operands: Sequence[Any], attributes: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Operands and attributes of a `custom_linear` that closes over nothing which is traced.

    Handlers see the operands of an effect only: traced values that the backward function closes
    over, those of a batch for one, become residuals. Residuals that are Python's Booleans stay what
    they are: the function may branch on them.
    """
    if type(attributes["backward"]) is Coupled:
        return operands, attributes
    n, out_types = attributes["residuals"], attributes["out_types"]
    types = list(map(typeof, operands))
    known = decided(operands[:n])
    back = _staged(attributes["backward"], types[:n], out_types, types[n:], known)
    if _is_closed(back) and not known:
        return operands, attributes
    # A reference can't be a residual, as it outlives the trace.
    if any(isinstance(x, Ref) for x in back.captured):
        return operands, attributes
    told = {"residuals": len(back.captured) + n, "backward": ClosedBackward(back.program)}
    return (*back.captured, *operands), {**attributes, **told}


class ClosedBackward:
    """A backward function as a program, which mentions nothing but residuals and cotangents."""

    __slots__ = ("memo", "program")

    symbolic = False
    """It takes no None for a cotangent that is zero."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memo: dict[Any, Any] = {}

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the operands."""
        return self.program.run(*residuals, *cotangents)


class Coupled:
    """The backward function of a linear map that is given both ways, by programs.

    Each takes the residuals, then what it is linear in; each stays the other's transpose.
    """

    __slots__ = ("program", "residuals", "transposed")

    symbolic = False

    def __init__(self, program: Program, transposed: Program, residuals: int) -> None:
        self.program = program
        self.transposed = transposed
        self.residuals = residuals

    @classmethod
    def of(cls, forward: Staged | Lifted, back: Staged | Lifted, residuals: int) -> Coupled:
        """Couple two programs; what each closes over becomes residuals, before the others."""
        count = len(forward.captured)
        program = taking(forward.program, back.captured, count)
        transposed = taking(back.program, forward.captured)
        return cls(program, transposed, count + len(back.captured) + residuals)

    def perform(self, operands: Sequence[Any]) -> list[Any]:
        """Perform the map, of residuals and what it is linear in."""
        out_types = tuple(self.program.out_types)
        return custom.custom_linear(
            *operands, residuals=self.residuals, out_types=out_types, backward=self
        )

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents of the operands, by the map the other way round."""
        turned = Coupled(self.transposed, self.program, self.residuals)
        return turned.perform([*residuals, *cotangents])


def taking(program: Program, values: Sequence[Any], at: int = 0) -> Program:
    """Return a program that takes values too, from place `at` on, and makes no use of them."""
    spare = [Variable(None, typeof(x)) for x in values]
    inputs = [*program.inputs[:at], *spare, *program.inputs[at:]]
    return Program(inputs, program.equations, program.outputs, program.name)


def lift_custom_linear(
    handler: Lifting, effect: Effect, operands: tuple[Any, ...], attributes: dict[str, Any]
) -> list[Any]:
    """Any other handler sees the map's forward program."""
    found = forward(**attributes, types=[typeof(x) for x in operands])
    return reopen(handler, found.program, [*found.captured, *operands])


functor[custom.custom_linear] = lift_custom_linear
