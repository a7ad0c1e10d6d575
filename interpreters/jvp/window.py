"""Forward mode of windows.

The general `reduce_window` has no rule here: it is written out (`composites/definitions.py`).
"""

from __future__ import annotations

from typing import Any

from effax.effects.effect import Effect
from effax.effects.rows import window
from effax.interpreters.jvp.dual import rule


def _chooser_rule(effect: Effect, select: str) -> None:
    @rule(effect, pure=True)
    def window_chooser_jvp(primals: list[Any], tangents: list[Any], **parameters: Any) -> Any:
        (x,), (dx,) = primals, tangents
        y = effect(x, **parameters)
        if dx is None:
            return y, None
        return y, window.select_and_gather_add(dx, x, select=select, **parameters)


_chooser_rule(window.reduce_window_max, "ge")
_chooser_rule(window.reduce_window_min, "le")


def _selecting_rule(effect: Effect) -> None:
    @rule(effect, pure=True)
    def selecting_jvp(primals: list[Any], tangents: list[Any], **attributes: Any) -> Any:
        """Linear in what is moved; which places it moves between does not change."""
        (moved, x), (dmoved, _) = primals, tangents
        y = effect(moved, x, **attributes)
        return y, None if dmoved is None else effect(dmoved, x, **attributes)


_selecting_rule(window.select_and_gather_add)
_selecting_rule(window.select_and_scatter_add)
