"""The functions that users give as rules, and the extra arguments that each asks for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from effax.effects.effect import Effect
from effax.effects.errors import ResumptionError, describe, user_frame
from effax.effects.provenance import source
from effax.interpreters.interpreter.states import States

if TYPE_CHECKING:
    from effax.interpreters.interpreter.handler import Interpretation


_EFFECT: Final = {"effect"}


class Rule:
    """A user's rule, and which of the arguments `effect`, `state`, `run` and `place` it takes."""

    __slots__ = ("function", "lift", "pure", "wants")

    def __init__(self, function: Callable[..., Any], lift: bool, pure: bool = False) -> None:
        self.function = function
        self.lift = lift
        parameters = inspect.signature(function).parameters.keys()
        if "resume" in parameters:
            raise ResumptionError(
                f"the rule {function.__name__} asks for `resume`: a rule of an interpreter answers "
                "in place, and the program goes on with its result; effax.extend.handle gives "
                "clauses the rest of the program"
            )
        self.wants = {"effect", "state", "run", "place"} & parameters
        self.pure = pure and self.wants <= {"effect"}

    def __call__(
        self, effect: Effect, operands: Sequence[Any], attributes: Any, handler: Interpretation
    ) -> Any:
        """Call the user's function with the data, the arguments it takes, and the attributes."""
        wants = self.wants
        try:
            if not wants:
                return self.function(*operands, **attributes)
            if wants == _EFFECT:
                return self.function(*operands, effect=effect, **attributes)
            told = self.told(handler)
            if "effect" in wants:
                told["effect"] = effect
            return self.function(*operands, **told, **attributes)
        except TypeError:
            self.refuse_parameters(
                effect, operands, {**attributes, **dict.fromkeys(wants)}, handler
            )
            raise

    def refuse_parameters(
        self, effect: Effect, operands: Sequence[Any], keywords: dict[str, Any], handler: Any
    ) -> None:
        """Raise `TypeError` if the function's parameters do not fit the effect."""
        parameters = inspect.signature(self.function)
        try:
            parameters.bind(*operands, **keywords)
        except TypeError as error:
            name = self.function.__name__
            positions = ["effect" if x is effect else "operand" for x in operands]
            given = ", ".join([*positions, *(f"{n}=..." for n in keywords)])
            raise TypeError(
                f"{name}, the rule of {type(handler).__name__} for '{effect.name}', is called as "
                f"{name}({given}), but its parameters are {parameters}: {error}"
            ) from None

    def told(self, handler: Interpretation) -> dict[str, Any]:
        """Return the keywords that the function asks for beside operands and attributes."""
        told: dict[str, Any] = {}
        if not self.wants:
            return told
        if "state" in self.wants:
            told["state"] = States(handler)
        if "run" in self.wants:
            told["run"] = handler.run_program
        if "place" in self.wants:
            told["place"] = describe(source.frame or user_frame())
        return told


class CatchAll(Rule):
    """A rule for any effect: the effect is its first argument."""

    __slots__ = ()

    def __call__(
        self, effect: Effect, operands: Sequence[Any], attributes: Any, handler: Interpretation
    ) -> Any:
        """Call the user's function, the effect first."""
        told = self.told(handler)
        try:
            return self.function(effect, *operands, **told, **attributes)
        except TypeError:
            self.refuse_parameters(effect, (effect, *operands), attributes | told, handler)
            raise
