"""Functions of sparse arrays, each compiled as one when it is called eagerly."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from effax.api.compiling.jit import jit
from effax.effects.config import numpy_rank_promotion


def compiled(*static: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function to be jitted; its keywords `static` are numbers, or sequences of them."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def body(*args: Any, **keywords: Any) -> Any:
            # The setting is about ranks that users mix; this code mixes ranks on purpose.
            with numpy_rank_promotion("allow"):
                return function(*args, **keywords)

        jitted = jit(body, static_argnames=static)

        @wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            fixed = {k: _fixed(v) if k in static else v for k, v in keywords.items()}
            return jitted(*args, **fixed)

        return call

    return decorate


def _fixed(value: Any) -> Any:
    if not isinstance(value, list | tuple | range | np.ndarray):
        return value
    return tuple(_fixed(x) for x in value)
