"""Forward mode of contraction, where facts do not say it."""

from __future__ import annotations

from typing import Any

import effax.interpreters.composites.ragged  # noqa: F401  (loaded when handlers are: for those without a column)
from effax.effects.rows import contraction
from effax.interpreters.jvp.dual import rule, total, transposable


@rule(contraction.ragged_dot_general, pure=True)
def ragged_dot_general_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
    """The product rule; the sizes of groups are integers, which have no tangents."""
    (x, y, sizes), (dx, dy, _) = primals, tangents
    product = contraction.ragged_dot_general
    terms = [
        None if dx is None else product(dx, y, sizes, **attributes),
        None if dy is None else product(x, dy, sizes, **attributes),
    ]
    return product(x, y, sizes, **attributes), total(terms)


transposable.add(contraction.ragged_dot_general)
