"""Accuracy in StableHLO: an attribute of the operations that have one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from effax.backends.xla.lowering.writer import Name, Writer, rule, rule_of
from effax.effects.effect import find_effect
from effax.effects.rows.accuracy import Tolerance, accurate
from effax.effects.types import ShapedArray, is_complex

_OPERATIONS: Final = {
    "cbrt": "cbrt",
    "cos": "cosine",
    "exp": "exponential",
    "exp2": "exponential",
    "expm1": "exponential_minus_one",
    "log": "log",
    "log1p": "log_plus_one",
    "logistic": "logistic",
    "rsqrt": "rsqrt",
    "sin": "sine",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
}


@rule(accurate)
def lower_accurate(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, function: str, accuracy: Any
) -> Name:
    """As asked for real numbers; functions of complex numbers are several operations as it is."""
    name = _OPERATIONS.get(function)
    if is_complex(x.dtype) or name is None:
        plain = rule_of(find_effect(function))
        assert plain is not None, function
        return plain(w, types, x)
    if function == "exp2":
        x = w.simple("multiply", [x, w.constant(math.log(2.0), x.type)], x.type)
    attribute = f"result_accuracy = #stablehlo.result_accuracy<{_asked(accuracy)}>"
    return w.op(f"stablehlo.{name} {x} {{{attribute}}} : {x.text}", types[0])


def _asked(accuracy: Any) -> str:
    if not isinstance(accuracy, Tolerance):
        return f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    limits = {"atol": accuracy.atol, "rtol": accuracy.rtol}
    parts = [f"{name} = {value:.17e}" for name, value in limits.items() if value]
    if accuracy.ulps:
        parts.append(f"ulps = {accuracy.ulps}")
    return ", ".join([*parts, "mode = #stablehlo.result_accuracy_mode<TOLERANCE>"])
