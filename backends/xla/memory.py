"""The pages of freed buffers on a CPU: kept or returned to the system.

glibc maps large blocks anew each time, and gives the tops of its arenas, one for each thread, back
to the system; XLA's threads free what others made. A new result then costs a page fault for every
4 kB, more than its arithmetic. With no mapped blocks, and one arena that is not trimmed, there are
none. Measured, `x + x*x + x*x*x`: on 16 MB, 1.5 ms a call where luck has it, and 9 where it has
not, against 1.4; on 64 MB, 45 ms against 5.8.

It is a setting of the whole process, and what is freed stays with it: in 250 calls with results of
1 to 200 MB of which six were alive, the time fell from 11.8 s to 2.7, and the peak rose from 1.7 GB
to 2.2, all of which was kept. So it is asked for: `effax.config.update("keep_freed_memory", True)`,
or EFFAX_KEEP_FREED_MEMORY=1. What is gentler (trimmed at 256 MB; mapped from 32 MB on; an arena a
thread) held half as much and gained nothing.
"""

from __future__ import annotations

import ctypes
from typing import Final

# mallopt's parameters (malloc.h): bytes kept at the top, number of mapped blocks, number of arenas.
_SETTINGS: Final = {-1: 1 << 30, -4: 0, -8: 1}


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
