"""Programs that are computed again: none of their effects is performed a second time.

`remat` and a `while` with checkpoints keep little and compute the rest again on the way back. An
effect that a handler answers (a draw, a tick, a question to the host) was performed on the way
forward. Where its answer was kept, it is an operand of what is computed again. Where it gives no
answer (a check, an `io_callback` without results), it is left out. Where its answer is needed and
could not be kept, `unstored` stands in its place: whoever comes to perform that is refused.

`debug_callback` is the exception, as in JAX: it watches a computation, and is called again where
what it watches is computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from effax.effects.effect import Effect
from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.program import Equation, Program, programs_in, without_dead_code
from effax.effects.rows.callback import debug_callback
from effax.effects.rows.naming import unstored


def gives_answers(effect: Effect, attributes: dict[str, Any], results: int) -> bool:
    """Whether performing an effect again could give other answers than it gave before.

    Collectives are pure: they give the same again. So does `debug_callback`, which gives nothing.
    """
    if effect.higher_order:
        return any(map(asks, programs_in(attributes)))
    return bool((effect.row or effect.performs) and results)


def asks(program: Program) -> bool:
    """Whether a program performs an effect whose answers it would have to keep."""
    found = program.memo.get("asks")
    if found is None:
        found = program.memo["asks"] = bool(program.row) and any(
            gives_answers(e.effect, e.attributes, len(e.outputs)) for e in program.equations
        )
    return bool(found)


def again(e: Equation) -> Equation | None:
    """An equation as `remat` computes it again; None for an effect that gives nothing.

    Effects that give answers stay: the caller has seen to it that theirs are kept.
    """
    return _again(e, strict=False)


def replayed(program: Program) -> Program:
    """A program as a loop computes it again: `unstored` stands for answers."""
    return _replayed(program, strict=True)


def _replayed(program: Program, strict: bool) -> Program:
    if not program.row:
        return program
    key = "replayed", strict
    found: Program | None = program.memo.get(key)
    if found is None:
        equations = [a for e in program.equations if (a := _again(e, strict)) is not None]
        whole = Program(program.inputs, equations, program.outputs, program.name)
        found = program.memo[key] = without_dead_code(whole)
    return found


def _again(e: Equation, strict: bool) -> Equation | None:
    if e.effect.higher_order:
        if not e.row:
            return e
        attributes = {k: _replayed_in(x, strict) for k, x in e.attributes.items()}
        return Equation(e.effect, e.inputs, attributes, e.outputs, e.frame, e.scope)
    if not e.row or e.effect is debug_callback:
        return e
    if not e.outputs:
        return None
    if not strict:
        return e
    told = {
        "effect": e.effect.name,
        "place": e.place,
        "result_types": tuple(x.type for x in e.outputs),
    }
    return Equation(unstored, (), told, e.outputs, e.frame, e.scope)


def _replayed_in(attribute: Any, strict: bool) -> Any:
    if type(attribute) is Program:
        return _replayed(attribute, strict)
    if type(attribute) is tuple:
        return tuple(_replayed_in(x, strict) for x in attribute)
    return attribute


def _unstored_in(program: Program) -> Iterator[Equation]:
    for e in program.equations:
        if e.effect is unstored:
            yield e
        for inner in e.programs():
            yield from _unstored_in(inner)


def refuse_unstored(program: Program) -> None:
    """Raise `UnsupportedDerivativeError` where a program needs an answer that was not kept."""
    found = next(_unstored_in(program), None)
    if found is not None:
        raise UnsupportedDerivativeError(unkept(**found.attributes))


def unkept(effect: str, place: str, result_types: Any) -> str:
    """The message for an effect whose answers were not kept."""
    return (
        f"the effect '{effect}', performed at {place}, is in a while loop whose steps a "
        "derivative computes again. An effect is performed once, and as the number of steps is "
        "not known, its answers can't be stored. Answer it inside of the derivative, "
        "grad(handler(f)) in place of handler(grad(f)); or perform it before the loop; or use "
        "scan or fori_loop with bounds that are Python numbers, which store the answers; or "
        "forward mode (jvp, jacfwd)"
    )
