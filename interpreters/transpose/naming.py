"""Names under transposition: of a cotangent there is none."""

from __future__ import annotations

from typing import Any

from effax.effects import naming
from effax.interpreters.transpose.linear import unary


@unary(naming.named)
def named_transpose(ct: Any, x: Any, *, name: str) -> Any:
    return ct
