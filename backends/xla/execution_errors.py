"""Exceptions that callbacks raised, for the errors that report them later, elsewhere, as text."""

from __future__ import annotations

import bdb
import logging
import traceback
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


def in_words(raised: BaseException) -> str:
    """The message of a runtime's error about a callback that raised: the user's lines alone."""
    shown = user_part(raised.__traceback__)
    lines = traceback.format_exception(type(raised), raised, shown)
    return f"INTERNAL: Error calling callback: {''.join(lines)}"


def explain(error: Exception) -> None:
    """Raise a clearer error of the same class where a runtime's error is that a callback raised.

    Its cause is the callback's own exception, with its traceback. The runtime's own message shows
    the library's lines too. Return where there is no such exception.
    """
    for explainer in tuple(explainers):
        explainer(error)
    text = str(error)
    if "callback" not in text or error.__cause__ is not None:
        return
    for raised in reversed(_raised):
        if type(raised).__name__ in text and str(raised) in text:
            _raised.remove(raised)
            clearer = type(error)(in_words(raised))
            raise clearer from raised.with_traceback(user_part(raised.__traceback__))
