"""Statistics: what was traced and compiled in this process, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import attrs

from effax.backends.xla import ledger
from effax.effects.frames import is_library


@attrs.frozen(slots=True)
class Entry:
    """The record of the work done for one function, or for one operation called eagerly.

    Functions with the same code count as one. `cache_hits` is None for operations, whose calls
    are not counted. `misses` says of the latest traces but the first why they were needed.
    """

    name: str
    place: str
    functions: int
    traces: int
    trace_seconds: float
    compiles: int
    compile_seconds: float
    disk_cache_hits: int
    cache_hits: int | None
    misses: tuple[str, ...]

    @classmethod
    def of(cls, work: ledger.Work) -> Entry:
        """The counters as they are now."""
        return cls(
            work.name,
            work.place,
            work.functions,
            work.traces,
            work.trace_seconds,
            work.compiles,
            work.compile_seconds,
            work.disk_hits,
            work.hits if work.calls_counted else None,
            tuple(work.reasons),
        )

    def row(self) -> list[str]:
        """The entry as cells of a table."""
        return [
            self.name,
            str(self.traces) if self.traces else "-",
            str(self.compiles),
            "-" if self.cache_hits is None else str(self.cache_hits),
            str(self.disk_cache_hits),
            f"{self.compile_seconds:.3f}",
        ]


_HEADS = ["program", "traces", "compiles", "hits", "from disk", "compile s"]


@attrs.frozen(slots=True)
class Statistics(Sequence[Entry]):
    """Entries, those that took most time to compile first; printed, a table."""

    entries: tuple[Entry, ...]

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        return self.entries[index]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def named(self, name: str) -> Entry:
        """The entry of that name; raises `KeyError` if there is none."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(f"nothing called {name!r} was traced or compiled")

    def __str__(self) -> str:
        rows = [_HEADS, *(entry.row() for entry in self.entries)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        for entry in self.entries:
            if entry.misses:
                lines.append(f"\n{entry.name} ({entry.place}) was traced again because:")
                lines += [f"  {reason}" for reason in entry.misses]
        return "\n".join(lines)

    __repr__ = __str__


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.ljust(w) if i == 0 else cell.rjust(w)
        for i, (cell, w) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *rest])


def stats() -> Statistics:
    """Return a record of tracing and compiling for each jitted function of this process.

    And one for each operation that was compiled because it was called eagerly. Each says how often
    it was traced and compiled, how many calls found what they needed, how many executables came
    from the disk, the seconds compiling took, and why it was traced again.

    >>> import effax, effax.numpy as jnp
    >>> @effax.jit
    ... def halved(x):
    ...     return x / 2
    >>> for x in (jnp.ones(2), jnp.ones(2), jnp.ones(3)):
    ...     _ = halved(x)
    >>> entry = effax.stats().named("halved")
    >>> entry.traces, entry.cache_hits, entry.misses
    (2, 1, ('different input types: at x, now f32[3] and before f32[2] (the shape)',))
    """
    entries = [
        Entry.of(work) for work in ledger.entries() if not is_library(work.place.rpartition(":")[0])
    ]
    entries.sort(key=lambda e: (-e.compile_seconds, e.name))
    return Statistics(tuple(entries))
