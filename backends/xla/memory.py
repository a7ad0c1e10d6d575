"""What becomes of the pages of freed buffers on a CPU.

glibc keeps an arena for each thread and gives the top of each back to the system, and XLA's threads
free what others made: a new result then costs a page fault for every 4 kB, more than its
arithmetic. Measured, `x*x + x*2` on 16 MB: 9.4 ms a call, of which 8 are page faults, and 1.1 ms
with one arena that is not trimmed; the peak was no higher (0.34 GB for 0.37). It is a setting of
the whole process, whose other threads then share that arena, so it is asked for:
`effax.config.update("keep_freed_memory", True)`, or EFFAX_KEEP_FREED_MEMORY=1. Blocks above 32 MB
are mapped each time in any case; glibc allows no higher threshold.
"""

from __future__ import annotations

import ctypes
from typing import Final

# mallopt's names (malloc.h) of: bytes at the top that are kept; blocks that are mapped; arenas.
_SETTINGS: Final = {-1: 1 << 30, -3: 32 << 20, -8: 1}


def keep_freed_pages() -> None:
    """Tell the C library to keep what is freed, from now on, in this process.

    Raises `RuntimeError` where the C library is not glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None or not all(mallopt(name, value) for name, value in _SETTINGS.items()):
        raise RuntimeError(
            "keep_freed_memory needs the C library glibc, whose mallopt it sets; this process has "
            "another one. Leave the option off, or preload an allocator that keeps its pages."
        )
