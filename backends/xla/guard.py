"""Transfer guards: what may be moved between host and devices, and among devices, unasked.

The settings are JAX's: `transfer_guard` for all directions, and one for each. A level "log" or
"disallow" is about transfers that nobody asked for by name (an argument that is a NumPy array, a
Python number in an operation); "log_explicit" and "disallow_explicit" are about `device_put` and
`device_get` too. On the CPU reading an array is no transfer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from effax.backends.xla.client import XlaRuntimeError
from effax.effects import config
from effax.effects.contexts import put
from effax.effects.frames import describe, user_frame

_log: Final = logging.getLogger("effax")
_asked: Final[ContextVar[bool]] = ContextVar("effax.transfer_asked", default=False)
_INSTEAD: Final = {
    "host_to_device": "make it an array beforehand (device_put), or keep it out of the call",
    "device_to_host": "fetch it with device_get",
    "device_to_device": "move it with device_put",
}


def look(direction: str, what: Any, where: Any) -> None:
    """Let a transfer pass, log it, or refuse it by raising `JaxRuntimeError`.

    Callers test `config.guarded` first, which is false until a guard was ever asked for.
    """
    level = config.read(f"transfer_guard_{direction}") or config.read("transfer_guard") or "allow"
    if level == "allow" or (_asked.get() and not level.endswith("_explicit")):
        return
    name = direction.replace("_", "-")
    place = describe(user_frame())
    if level.startswith("log"):
        _log.warning("%s transfer at %s: %r to %s", name, place, what, where)
        return
    raise XlaRuntimeError(
        f"INVALID_ARGUMENT: Disallowed {name} transfer at {place}: {what!r} to {where}, under "
        f"transfer_guard({level!r}); {_INSTEAD[direction]}"
    )


@contextmanager
def asked_for() -> Iterator[None]:
    """Transfers inside were asked for by name."""
    token = put(_asked, True)
    try:
        yield
    finally:
        _asked.reset(token)
