"""Names under jvp: of the primal only. Tangents are where primals are."""

from __future__ import annotations

from typing import Any

from effax.effects.rows import naming
from effax.interpreters.jvp.dual import rule


@rule(naming.named, pure=True)
def named_jvp(primals: list[Any], tangents: list[Any], *, name: str) -> Any:
    return naming.named(primals[0], name=name), tangents[0]


@rule(naming.sink, pure=True)
def sink_jvp(primals: list[Any], tangents: list[Any], *, prevent: bool) -> Any:
    return naming.sink(*primals, prevent=prevent), []
