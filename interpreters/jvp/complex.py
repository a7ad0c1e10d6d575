"""Complex parts under jvp: all are linear over the reals."""

from __future__ import annotations

from typing import Any

from effax.effects.rows.complex import complex
from effax.interpreters.jvp.dual import rule


@rule(complex, pure=True)
def complex_jvp(primals: list[Any], tangents: list[Any]) -> Any:
    """Each part has a tangent of its own; a missing one is a literal zero."""
    ans = complex(*primals)
    if tangents[0] is None and tangents[1] is None:
        return ans, None
    return ans, complex(*(0.0 if t is None else t for t in tangents))
