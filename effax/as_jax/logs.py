"""The log of effax, as programs set it up that know JAX's loggers."""

from __future__ import annotations

import copy
import logging
from typing import Final

# Module of effax -> the logger to which JAX writes of the same.
_LOGGERS: Final = {
    "client": "jax._src.xla_bridge",
    "disk_cache": "jax._src.compiler",
    "dispatch": "jax._src.interpreters.pxla",
    "execution_errors": "jax._src.callback",
    "jitted": "jax._src.dispatch",
}


class _AskJaxsLogger(logging.Filter):
    """Drop a record of effax's that the level or a filter of JAX's logger for it would drop."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether JAX's logger would write the record."""
        logger = logging.getLogger(_LOGGERS.get(record.module, "jax"))
        as_jaxs = copy.copy(record)
        as_jaxs.name, as_jaxs.args = logger.name, ()
        as_jaxs.msg = record.getMessage().replace("effax.", "jax.")
        return logger.isEnabledFor(record.levelno) and bool(logger.filter(as_jaxs))


def obey_jaxs_loggers() -> None:
    """Let the loggers named `jax...` decide what the logger "effax" writes, and where."""
    ours = logging.getLogger("effax")
    ours.parent = logging.getLogger("jax")
    ours.addFilter(_AskJaxsLogger())
