"""Runs: stretches of letters in which the same word stands several times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs
import numpy as np

from effax.backends.xla.pieces.letters import Letters

SHORTEST: Final = 64
"""The least length of a piece, in equations: shorter words are taken several at a time."""
_GRAM: Final = 8
_LAGS: Final = 6
_PERIODS: Final = 24


@attrs.frozen
class Run:
    """Letters from `start` to `stop`, each equal to the one `period` letters before."""

    start: int
    stop: int
    period: int


def runs(letters: Letters) -> Iterator[Run]:
    """Yield the runs of some letters, apart from each other, the longest first."""
    found: list[tuple[int, int, int]] = []
    for period in _periods(letters):
        same = np.concatenate([[False], letters[period:] == letters[:-period], [False]])
        edges = np.flatnonzero(same[1:] != same[:-1])
        for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if b - a >= max(period, SHORTEST):
                found.append((b - a, -period, a))
    taken = np.zeros(len(letters), bool)
    for repeated, negative, a in sorted(found, reverse=True):
        b = a + repeated - negative
        free = np.flatnonzero(~taken[a:b])
        if len(free) < 2 * max(-negative, SHORTEST):
            continue
        a, b = a + int(free[0]), a + int(free[-1]) + 1
        if b - a == len(free):
            taken[a:b] = True
            yield Run(a, b, -negative)


def _periods(letters: Letters) -> list[int]:
    """The commonest distances between equal words of a few letters."""
    n = len(letters) - _GRAM + 1
    if n < 2:
        return []
    words = np.zeros(n, np.uint64)
    for k in range(_GRAM):
        words = words * np.uint64(0x9E3779B97F4A7C15) + letters[k : k + n].astype(np.uint64)
    order = np.argsort(words, kind="stable")
    of = words[order]
    between = [
        (order[lag:] - order[:-lag])[of[lag:] == of[:-lag]] for lag in range(1, min(_LAGS, n))
    ]
    distances, counts = np.unique(np.concatenate(between), return_counts=True)
    best = np.argsort(-counts, kind="stable")[:_PERIODS]
    return [int(x) for x in distances[best]]
