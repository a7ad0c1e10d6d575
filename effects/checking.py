"""Whether a program that somebody put together is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.effects.effect import LITERALS, Effect
from effax.effects.errors import EffaxError, JaxprTypeError
from effax.effects.program import Literal, Program
from effax.effects.types import ShapedArray

_REFUSES: Final = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, EffaxError)
"""The errors of typing rules for operands and attributes that nobody may write."""


def result_types(
    effect: Effect, atoms: Sequence[Any], attributes: dict[str, Any]
) -> tuple[ShapedArray, ...]:
    """The types of the results of an effect on variables and literals.

    Raises:
      JaxprTypeError: for operands or attributes that the effect does not have.
    """
    types = tuple(
        None if isinstance(x, Literal) and effect.literals and type(x.value) in LITERALS else x.type
        for x in atoms
    )
    try:
        found = effect.infer(types, attributes)
    except _REFUSES as error:
        raise JaxprTypeError(
            f"operands and attributes of {effect} ({type(error).__name__}: {error})"
        ) from None
    return found if effect.multiple else (found,)


def check_jaxpr(jaxpr: Program) -> None:
    """Check that a program's variables are made before they are used, once, and of what type.

    The programs in it are checked too.

    Args:
      jaxpr: the program.

    Raises:
      JaxprTypeError: where a variable is used that no equation before has made, or is made twice,
        or where an equation's results are not of the types that its effect gives.

    >>> import effax
    >>> from effax.extend.core import new_jaxpr_eqn
    >>> program = effax.make_jaxpr(lambda x: effax.lax.sin(x))(0.0)
    >>> check_jaxpr(program)
    >>> check_jaxpr(program.replace(eqns=[]))
    Traceback (most recent call last):
    ...
    effax.errors.JaxprTypeError: program <lambda> has a variable of type f32[] ...
    """
    made: set[Any] = set()
    _make(made, jaxpr.inputs, f"program {jaxpr.name} takes")
    for i, e in enumerate(jaxpr.equations):
        where = f"equation {i} ({e.effect.name}) of program {jaxpr.name}"
        _use(made, e.inputs, where)
        types = result_types(e.effect, e.inputs, e.attributes)
        expected, found = [
            [t.str_short() for t in ts] for ts in (types, (x.type for x in e.outputs))
        ]
        if found != expected:
            raise JaxprTypeError(
                f"{where} has results of types {found}, but should have {expected}"
            )
        _make(made, e.outputs, f"{where} makes")
        for program in e.programs():
            check_jaxpr(program)
    _use(made, jaxpr.outputs, f"program {jaxpr.name}")


def _use(made: set[Any], atoms: Sequence[Any], where: str) -> None:
    for x in atoms:
        if not isinstance(x, Literal) and x not in made:
            raise JaxprTypeError(
                f"{where} has a variable of type {x.type.str_short()} that no equation before makes"
            )


def _make(made: set[Any], variables: Sequence[Any], where: str) -> None:
    for x in variables:
        if x in made:
            raise JaxprTypeError(f"{where} a variable of type {x.type.str_short()} twice")
        made.add(x)
