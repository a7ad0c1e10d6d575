"""The library's log on stderr: by the settings `logging_level` and `debug_log_modules`.

Everything is logged to the logger "effax". Unless one of the settings asks for more, it has no
handler of its own, and Python shows warnings and errors only.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, Final

_FORMAT: Final = "%(levelname)s:%(asctime)s:%(name)s:%(lineno)d: %(message)s"
_log: Final = logging.getLogger("effax")


class _Stderr(logging.Handler):
    """Write records to the present `sys.stderr`, unless the program has set up logging itself."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record as a line."""
        if not logging.getLogger().handlers:
            sys.stderr.write(self.format(record) + "\n")


_handler: Final = _Stderr()
_handler.setFormatter(logging.Formatter(_FORMAT))
_asked: Final[dict[str, set[str]]] = {"level": set(), "modules": set()}


def set_level(level: str | None) -> None:
    """Show records of at least this level; NOTSET leaves it to Python's own settings.

    >>> set_level("ERROR")
    >>> logging.getLogger("effax").isEnabledFor(logging.WARNING)
    False
    >>> set_level("NOTSET")
    """
    level = level or "NOTSET"
    _log.setLevel(level)
    _ask("level", {level} - {"NOTSET"})


def set_modules(names: str | None) -> None:
    """Show all records of the loggers named, separated by commas; "effax" is the whole library's.

    >>> set_modules("effax")
    >>> logging.getLogger("effax").isEnabledFor(logging.DEBUG)
    True
    >>> set_modules("")
    """
    found = {name.strip() for name in (names or "").split(",")} - {""}
    for name in _asked["modules"] - found:
        level = next(iter(_asked["level"]), "NOTSET") if name == _log.name else "NOTSET"
        logging.getLogger(name).setLevel(level)
    for name in found:
        logging.getLogger(name).setLevel(logging.DEBUG)
    _ask("modules", found)


setters: Final[dict[str, Callable[[Any], None]]] = {
    "logging_level": set_level,
    "debug_log_modules": set_modules,
}
"""The function that applies a new value, by the name of the setting."""


def _ask(setting: str, values: set[str]) -> None:
    _asked[setting] = values
    if any(_asked.values()):
        _log.addHandler(_handler)  # has no effect if it was added before
    else:
        _log.removeHandler(_handler)
