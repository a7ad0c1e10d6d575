"""Names under transposition: a cotangent has none, and is moved back."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import naming
from effax.interpreters.transpose.linear import rule, unary


@unary(naming.named)
def named_transpose(ct: Any, x: Any, *, name: str) -> Any:
    return ct


@unary(naming.annotated)
def annotated_transpose(ct: Any, x: Any, *, metadata: Any) -> Any:
    return ct


@unary(naming.moved)
def moved_transpose(ct: Any, x: Any, *, src: str, dst: str) -> Any:
    return naming.moved(ct, src=dst, dst=src)


@rule(naming.sink)
def sink_transpose(cts: list[Any], *operands: Any, prevent: bool) -> list[Any]:
    return [None for _ in operands]
