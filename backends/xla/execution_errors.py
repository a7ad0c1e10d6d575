"""Exceptions that callbacks raised, for the errors that report them later, elsewhere, as text."""

from __future__ import annotations

import bdb
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.frames import user_part

# A failing program reports one exception; the others of the same time are dropped eventually.
_raised: Final[deque[BaseException]] = deque(maxlen=16)
_log: Final = logging.getLogger("effax")

explainers: Final[list[Callable[[Exception], None]]] = []
"""Functions that know other causes: each gets the runtime's error and may raise a clearer one."""


def noted(host: Callable[..., Any], arrays: Sequence[Any], name: str = "a callback") -> Any:
    """Call a callback; log and remember what it raises, beside letting it pass into the runtime.

    The error reaches the user only where somebody waits for the program, so the log has it too.
    """
    try:
        return host(*arrays)
    except Exception as error:
        _raised.append(error)
        # A debugger that ends at the user's `quit` needs no traceback.
        if not isinstance(error, bdb.BdbQuit):
            where = user_part(error.__traceback__)
            _log.error("effax.%s failed", name, exc_info=(type(error), error, where))
        raise


def explain(error: Exception) -> None:
    """Make a callback's own exception, with its traceback, the cause of a runtime's error."""
    for explainer in tuple(explainers):
        explainer(error)
    text = str(error)
    if "callback" not in text or error.__cause__ is not None:
        return
    for raised in reversed(_raised):
        if type(raised).__name__ in text and str(raised) in text:
            error.__cause__ = raised.with_traceback(user_part(raised.__traceback__))
            _raised.remove(raised)
            return
