"""Checks: claims about values, which some handler answers when they do not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.effect import Effect
from effax.effects.failures import Site
from effax.effects.types import ShapedArray, bool_, is_bool, is_float

FAMILY = "check"


def _check_type(
    holds: ShapedArray, *payload: ShapedArray, site: Site
) -> Sequence[ShapedArray]:
    lanes = holds.shape
    if not is_bool(holds.dtype):
        raise TypeError(f"check: whether it holds is a Boolean, not {holds.str_short()}")
    given = [(x.shape, x.dtype) for x in payload]
    wanted = [((*lanes, *t.shape), t.dtype) for t in site.types]
    if given != wanted:
        raise TypeError(
            f"check: values of types {', '.join(t.str_short() for t in site.types)} were announced "
            f"for its message, but it has {', '.join(t.str_short() for t in payload)}"
        )
    return ()


check = Effect("check", family=FAMILY, typing=_check_type, multiple=True, row="check")
"""`check(holds, *payload, site)`: the claim of a site; the payload goes into its message.

Under batching, `holds` and the payload have one more axis in front for each batch.
"""

debug_check = Effect(
    "debug_check", family=FAMILY, typing=_check_type, multiple=True, row="debug_check"
)
"""Like `check`, but nothing happens where no handler answers it."""


def _any_nan_type(x: ShapedArray, *, lanes: int) -> ShapedArray:
    if not is_float(x.dtype):
        raise TypeError(f"any_nan looks at floats, not at {x.str_short()}")
    return ShapedArray(x.shape[:lanes], bool_)


any_nan = Effect("any_nan", family=FAMILY, typing=_any_nan_type)
"""`any_nan(x, lanes)`: whether an element is NaN, for each index of the first `lanes` axes."""
