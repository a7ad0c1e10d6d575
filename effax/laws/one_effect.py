"""Laws that are asked about programs of one effect only: of whole programs they say little."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import effax
from effax.effects.effect import Effect
from effax.effects.rows import elementwise
from effax.effects.tree import tree_leaves
from effax.interpreters.interpreter import Interpreter
from effax.laws.failures import FAILURES
from effax.laws.law import LAWS, SAME, Case, Law, dot

_NEEDS: Final = frozenset({"no while", "mixed", "text"})
"""The needs of laws that a program of one effect can meet."""


def transposed_by_itself(c: Case) -> Any:
    """Not by way of a derivative, whose effects may be others: that of `sub` is an `add`."""
    args, w = c.args, c.cotangents()
    back = tree_leaves(effax.linear_transpose(lambda *xs: tuple(c.f(*xs)), *args)(tuple(w)))
    at, start = c.f(*args), c.f(*(elementwise.mul(x, 0.0) for x in args))
    moved = [elementwise.sub(x, y) for x, y in zip(at, start, strict=True)]
    return dot(list(w), moved), dot(back, args)


LINEAR: Final = Law("<w, f x - f 0> = <f' w, x>, f linear", transposed_by_itself)


class Heard(Interpreter, every=True):
    """Owns no value; notes the effects that it is asked about, and passes them on."""


_heard: Final[set[Effect]] = set()


@Heard.default
def hear(effect: Effect, *operands: Any, **attributes: Any) -> Any:
    _heard.add(effect)
    return effect(*operands, **attributes)


def asked_outside_of_jvp(c: Case) -> Any:
    """Compare the effects of f with those that are asked outside of its forward mode."""
    args, u = c.args, tuple(c.directions())
    _heard.clear()
    Heard.transform(lambda *xs: effax.jvp(lambda *ys: tuple(c.f(*ys)), xs, u))(*args)
    asked = [step.effect in _heard for step in c.f.steps]
    return np.array(asked), np.ones(len(asked), bool)


ASKED: Final = Law("T (jvp f) asks T about the effects of f", asked_outside_of_jvp, SAME)


def laws_of_one_effect() -> list[Law]:
    """The library's laws that are asked about programs of one effect."""
    return [*(x for x in LAWS.values() if x.needs <= _NEEDS), LINEAR, ASKED, FAILURES]
