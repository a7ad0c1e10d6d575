"""A transform as laws ask about it: what its data are, what they stand for, which rules it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from effax.effects.effect import Effect, all_effects
from effax.interpreters.interpreter import Interpreter
from effax.laws.law import Law
from effax.laws.one_step import Kind


def same(*args: Any) -> tuple[Any, ...]:
    """The arguments as they are."""
    return args


def itself(result: Any) -> Any:
    """The result as it is."""
    return result


def _or_same(function: Callable[..., Any] | None) -> Callable[..., Any]:
    return function or same


def _or_itself(function: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return function or itself


@attrs.frozen
class Described:
    """A transform, and what is known of its data.

    Args:
      transform: the transformation of functions, `f -> T f`.
      embed: makes the arguments of `T f` from those of `f`; by default they are the same.
      project: makes arrays of its result, equal to those of `f`; by default the result itself. Give
        every leaf that is known where the arguments are exact, not only the value.
      interpreter: the class whose rules are asked one by one; by default the one that `transform`
        is a method of.
      sound: `sound(data, x)`: whether data stand for an array, a Boolean array or a `bool`. Asked
        of rules, and of whole programs.
      around: data that stand for the arguments without being them: `around(generator, *xs)`, of a
        NumPy generator. By default `embed`.
      oracle: computes what `project` makes of the result by other means: `oracle(f)(*xs)`. By
        default `f` itself.
      steps: kinds of steps of a generated program that perform effects of your own, each a function
        of a `Builder`.
      more: laws of your own, asked of each rule; those that need more than a program `f`, of whole
        programs.
    """

    transform: Callable[..., Any]
    embed: Callable[..., Any] = attrs.field(default=None, converter=_or_same)
    project: Callable[[Any], Any] = attrs.field(default=None, converter=_or_itself)
    interpreter: type[Interpreter] | None = None
    sound: Callable[[Any, Any], Any] | None = None
    around: Callable[..., Any] | None = None
    oracle: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
    steps: Sequence[Kind] = ()
    more: Sequence[Law] = ()

    def function(self, f: Callable[..., Any], mask: Sequence[bool] = ()) -> Callable[..., Any]:
        """`T f` as a function of arrays; arguments of which the mask says False stay plain."""

        def of_arrays(*xs: Any) -> Any:
            data = self.embed(*xs)
            if mask:
                data = [d if known else x for d, x, known in zip(data, xs, mask, strict=True)]
            return self.project(self.transform(f)(*data))

        return of_arrays

    def asked(self) -> type[Interpreter] | None:
        """The class whose rules are asked."""
        owner = self.interpreter or getattr(self.transform, "__self__", None)
        is_class = isinstance(owner, type) and issubclass(owner, Interpreter)
        return owner if is_class else None

    def effects(self) -> list[Effect]:
        """The first-order effects that the interpreter has rules for, or a default."""
        cls = self.asked()
        if cls is None:
            return []
        handler = cls._handler
        others = all_effects() if handler.catch_all is not None else ()
        return [e for e in dict.fromkeys((*handler.rules, *others)) if not e.higher_order]
