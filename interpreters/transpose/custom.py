"""The transpose of a linear map that is given by its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects import custom
from effax.interpreters.transpose.linear import instantiate, rule


@rule(custom.custom_linear)
def transpose_custom_linear(
    cts: Sequence[Any], *operands: Any, residuals: int, out_types: Any, backward: Any
) -> list[Any]:
    given = cts
    if not backward.symbolic:
        given = [instantiate(ct, t) for ct, t in zip(cts, out_types, strict=True)]
    given = backward(operands[:residuals], given)
    return [*(None for _ in range(residuals)), *given]
