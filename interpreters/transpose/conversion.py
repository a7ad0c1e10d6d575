"""Transposes of conversions: the way back."""

from __future__ import annotations

from typing import Any

from effax.effects.errors import MissingRuleError
from effax.effects.rows.conversion import convert_element_type, reduce_precision
from effax.effects.types import is_inexact
from effax.interpreters.transpose.linear import unary


@unary(convert_element_type)
def convert_element_type_transpose(ct: Any, x: Any, **attributes: Any) -> Any:
    """The cotangent in the operand's dtype."""
    if not is_inexact(attributes["dtype"]):
        raise MissingRuleError(
            f"convert_element_type to {attributes['dtype']} is not linear, and a reverse-mode "
            "derivative goes through it"
        )
    return convert_element_type(ct, dtype=x.type.dtype, weak_type=x.type.weak_type)


@unary(reduce_precision)
def reduce_precision_transpose(ct: Any, x: Any, **attributes: Any) -> Any:
    """The cotangent, rounded in the same way."""
    return reduce_precision(ct, **attributes)
