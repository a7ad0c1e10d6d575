"""Forward mode of cumulative effects.

Products and extrema have no rule here: they are written out as an associative scan
(`interpreters/composites/definitions.py`), whose derivative is right where factors are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.rows import comparison, cumulative, elementwise, selection, transcendental
from effax.interpreters.jvp.dual import rule


@rule(cumulative.cumlogsumexp, pure=True)
def cumlogsumexp_jvp(primals: list[Any], tangents: list[Any], *, axis: int, reverse: bool) -> Any:
    """Prefixes of (log weight, mean tangent): means are joined in proportion to their weights."""
    (x,), (dx,) = primals, tangents
    y = cumulative.cumlogsumexp(x, axis=axis, reverse=reverse)
    if dx is None:
        return y, None
    return y, cumulative.associative_scan(_join_means, [x, dx], axis, reverse)[1]


def _join_means(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
    weight = transcendental.logaddexp(before[0], after[0])
    parts = [elementwise.mul(_share(w, weight), t) for w, t in (before, after)]
    return weight, elementwise.add(*parts)


def _share(part: Any, whole: Any) -> Any:
    """`exp(part - whole)`, 1 where they are the same infinity."""
    less = elementwise.sub(part, whole)
    return transcendental.exp(selection.select_n(comparison.eq(part, whole), less, 0.0))
