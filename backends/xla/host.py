"""What the host answers itself when nothing is staged: callbacks, and checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from effax.backends.xla.array import Array, asarray
from effax.backends.xla.dispatch import host_rules
from effax.effects.callback import answer, debug_callback, io_callback, pure_callback
from effax.effects.errors import UnexpectedTracerError
from effax.effects.handler import Carrier
from effax.effects.types import typeof


def call_at_once(*operands: Any, callback: Any, result_types: Any = (), **_: Any) -> list[Array]:
    """Ask the callback; its exceptions are raised as they are."""
    arrays = [as_numpy(x) for x in operands]
    results = answer(callback, arrays, result_types)
    return [asarray(x, t) for x, t in zip(results, result_types, strict=True)]


def as_numpy(x: Any) -> np.ndarray[Any, Any]:
    """The elements of a value that is known."""
    if isinstance(x, Carrier):
        raise UnexpectedTracerError.escaped(x)
    return x.host() if type(x) is Array else np.asarray(x, typeof(x).dtype)


host_rules.update(dict.fromkeys((debug_callback, pure_callback, io_callback), call_at_once))
