"""Checks: claims about values, which some handler answers when they do not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from effax.effects.effect import Effect
from effax.effects.facts import SOUND, STILL
from effax.effects.failures import Site
from effax.effects.types import ShapedArray, bool_, is_bool, is_float

FAMILY = "check"


def _check_type(holds: ShapedArray, *payload: ShapedArray, site: Site) -> Sequence[ShapedArray]:
    lanes = holds.shape
    if not is_bool(holds.dtype):
        raise TypeError(f"check: the condition must be a Boolean, got {holds.str_short()}")
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


NAN: Final = "nan"
ZERO: Final = "zero"


def _detect_type(
    *xs: ShapedArray, what: tuple[str, ...], covered: tuple[bool, ...], lanes: int
) -> Sequence[ShapedArray]:
    for x, wanted in zip(xs, what, strict=True):
        if wanted == NAN and not is_float(x.dtype):
            raise TypeError(f"detect: expected floats, got {x.str_short()}")
    return [ShapedArray(x.shape[:lanes], bool_) for x in xs]


detect = Effect("detect", family=FAMILY, typing=_detect_type, multiple=True, facts=STILL | SOUND)
"""`detect(*xs, what, covered, lanes)`: for each array, whether an element is NaN, or zero, as
`what` says.

The first `lanes` axes are batches: there is an answer for each of their indices. What is asked of
a `covered` array is true only if it is true of one that is not covered: it need not be asked
before. Several arrays in one effect, because XLA, left to itself, computes an array anew for each
question about it.
"""
