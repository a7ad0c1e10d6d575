"""`jax.experimental.hijax`: its classes can be defined (flax does), its values are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F")


def _refuse(what: str) -> None:
    raise NotImplementedError(
        f"{what}: effax has no hijax types; use carriers for your own kinds of values "
        "(docs/extending.md); in flax, leave hijax=False"
    )


class HiPrimitive:
    """An operation over such types: it has a name, and can't be used."""

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Raise `NotImplementedError`."""
        _refuse(self.name)


class MutableHiType:
    """A type of one's own."""


class AbstractValue:
    """A type, of whichever kind."""


class AvalQDD:
    """A type with what is known of it at one place of the program."""

    def __init__(self, *given: Any) -> None:
        _refuse("AvalQDD")


class AvalMutableQDD(AvalQDD):
    """The same, of a value that can be written to."""


class Zero:
    """No tangent; none is made here."""


class _Kinds:
    """A set that is written, and never asked."""

    def add_type(self, kind: type) -> None:
        """Let a kind of effect pass control flow: no effect of this kind is ever performed."""


control_flow_allowed_effects = _Kinds()
aval_property = property


def aval_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a type."""
    return function


def register_hitype(kind: type, aval: Callable[..., Any]) -> None:
    """Take note of a class and of the type of its values; making one is refused later."""


def instantiate_zeros(x: F) -> F:
    """The value itself: there are no symbolic zeros of such types."""
    return x


def is_undefined_primal(x: Any) -> bool:
    """Whether a value is to be found by transposition: never of these."""
    return False
