"""A policy's verdicts on what is kept for the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from effax.effects.errors import JAXTypeError
from effax.effects.program import Equation

Policy = Callable[..., Any]


@attrs.frozen(slots=True)
class Offloadable:
    """A policy's verdict on results to be stored in another memory meanwhile."""

    src: str
    dst: str


class SavingVerdict:
    """A policy's verdict on results, as a value: kept, or computed again."""

    __slots__ = ("kept", "name")

    def __init__(self, name: str, kept: bool) -> None:
        self.name = name
        self.kept = kept

    def __bool__(self) -> bool:
        return self.kept

    def __repr__(self) -> str:
        return self.name


Saveable: Final = SavingVerdict("Saveable", True)
Recompute: Final = SavingVerdict("Recompute", False)

Verdict = bool | SavingVerdict | Offloadable


def verdict_on(e: Equation, policy: Policy) -> Verdict:
    """Return a policy's verdict on the results of an equation.

    Raises:
      TypeError: for what is no verdict, such as another policy: one that makes policies was given.
    """
    name = getattr(policy, "__name__", repr(policy))
    try:
        found = policy(e.effect, *[x.type for x in e.inputs], **e.params)
    except TypeError as error:
        raise _refusal(name, f"fails on {e.effect} with {error}") from error
    if getattr(found, "shape", None) == ():
        found = found.item()  # NumPy's bool is no bool of Python's
    if not isinstance(found, Verdict):
        raise _refusal(name, f"returned {found!r} for {e.effect}")
    return found


def _refusal(name: str, what: str) -> JAXTypeError:
    return JAXTypeError(
        f"checkpoint: the policy {name} {what}. A policy takes an operation and its operands' "
        "types, with attributes as keywords, and returns a bool, Saveable, Recompute or "
        "Offloadable(...) of effax.ad_checkpoint; those of checkpoint_policies that take names or "
        f"policies make one when they are called: policy={name}(...)"
    )
