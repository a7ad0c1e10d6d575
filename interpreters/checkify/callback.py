"""Callbacks under checkify: what the host gives is taken as it is."""

from __future__ import annotations

from effax.effects.callback import debug_callback, io_callback, pure_callback, sequenced_callback
from effax.interpreters.checkify.checking import cannot_fail

cannot_fail(debug_callback, pure_callback, io_callback, sequenced_callback)
