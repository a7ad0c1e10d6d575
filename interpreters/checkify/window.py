"""Windows under checkify: sums may give NaN, choices only pass it on."""

from __future__ import annotations

from effax.effects import window as w
from effax.interpreters.checkify.checking import cannot_fail, computes

computes(w.reduce_window_sum, w.reduce_window, w.select_and_scatter_add)
cannot_fail(w.reduce_window_max, w.reduce_window_min, w.select_and_gather_add)
