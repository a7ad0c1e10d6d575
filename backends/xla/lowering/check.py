"""Checks in StableHLO: XLA can't answer them; what nobody need answer vanishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.writer import Name, Writer, rule
from effax.effects.check import check, debug_check
from effax.effects.errors import UnhandledEffectError
from effax.effects.frames import describe
from effax.effects.types import ShapedArray


@rule(check)
def lower_check(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, site: Any
) -> list[Name]:
    raise UnhandledEffectError(
        f"the check at {describe(site.frame)} can't be compiled as it is: wrap the function in "
        "checkify.checkify, which answers it, before jit"
    )


@rule(debug_check)
def lower_debug_check(
    w: Writer, types: Sequence[ShapedArray], *operands: Name, site: Any
) -> list[Name]:
    return []
