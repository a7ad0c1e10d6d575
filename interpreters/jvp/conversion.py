"""Conversions under jvp: linear between inexact dtypes; to and from integers nothing moves."""

from __future__ import annotations

from typing import Any

from effax.effects.rows.conversion import (
    convert_element_type,
)
from effax.effects.types import is_inexact, typeof
from effax.interpreters.jvp.dual import rule


@rule(convert_element_type, pure=True)
def convert_element_type_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """The tangent is converted too, unless the result is an integer."""
    ans = convert_element_type(*primals, **attributes)
    if tangents[0] is None or not is_inexact(typeof(ans).dtype):
        return ans, None
    return ans, convert_element_type(*tangents, **attributes)
