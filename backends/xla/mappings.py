"""Executables of a CPU hold memory mappings, of which Linux allows a process a fixed number.

XLA 0.10 ends the process with a segmentation fault when it is refused one, so that the mappings
are counted now and then, and compiled programs are dropped while there is room.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

_log: Final = logging.getLogger("effax")
_MAPPINGS: Final = Path("/proc/self/maps")
_ALLOWED: Final = Path("/proc/sys/vm/max_map_count")
_EACH: Final = 512
"""More mappings than a program holds: a small one has six, one of forty sorts and loops 420."""
_SHARE: Final = 0.75
_kept: Final = [0]
"""The mappings that were left when programs were dropped last: others hold them."""


def make_room(forget: Iterable[Callable[[], None]]) -> int:
    """Return the number of programs that may be loaded before the mappings are counted again.

    Those in `forget` clear caches of compiled programs, and are called if mappings run short.
    Raises `MemoryError` where too few are free after that.
    """
    if not _MAPPINGS.exists():  # another system than Linux, without such a bound
        return 1 << 62
    allowed, used = int(_ALLOWED.read_text()), _used()
    # What was left when nothing more could be dropped is not dropped for at each program.
    enough = max(allowed * _SHARE, (_kept[0] + allowed) / 2)
    if used > enough:
        for clear in forget:
            clear()
        gc.collect()
        _kept[0] = left = _used()
        _log.warning(
            "%d of the %d memory mappings that Linux allows a process (vm.max_map_count) were in "
            "use, so the caches of compiled programs were cleared; %d are in use now. Programs "
            "that are called again are compiled again. A larger vm.max_map_count keeps more",
            used,
            allowed,
            left,
        )
        used = left
    if used > allowed - 2 * _EACH:
        raise MemoryError(
            f"no room for another compiled program: the process has {used} memory mappings of the "
            f"{allowed} that Linux allows it (vm.max_map_count), and XLA would end the process. "
            "Drop compiled programs that are kept (the results of `lower(...).compile()`), or "
            "raise the limit: sysctl vm.max_map_count=262144"
        )
    return max(int(enough - used) // _EACH, 1)


def _used() -> int:
    with _MAPPINGS.open("rb") as lines:
        return sum(1 for _ in lines)
