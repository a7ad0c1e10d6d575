"""Accuracy under jvp: of the value; its tangent is that of the plain effect."""

from __future__ import annotations

from typing import Any

from effax.effects.effect import find_effect
from effax.effects.rows.accuracy import accurate
from effax.interpreters.jvp.dual import JVP, rule


@rule(accurate, pure=True)
def accurate_jvp(
    primals: list[Any], tangents: list[Any], *, function: str, accuracy: Any
) -> tuple[Any, Any]:
    _, tangent = JVP.rules[find_effect(function)](primals, tangents)
    return accurate(*primals, function=function, accuracy=accuracy), tangent
