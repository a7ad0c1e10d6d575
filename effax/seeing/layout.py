"""Layered drawings of graphs: which row a box is in, the order in a row, and where each stands.

Rows by longest paths, an edge that skips rows bends at a joint in each of them, the order in rows
by barycenters, and places along a row by least squares under the widths of what stands there
(Sugiyama, Tagawa & Toda 1981; isotonic regression in place of their linear program).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from typing import Final

import attrs

_SWEEPS: Final = 12
_SETTLING: Final = 24
_STRAIGHT: Final = 6.0
_EFFORT: Final = 300_000
_SIDE: Final = 16.0
_JOINT: Final = 10.0


@attrs.define(eq=False)
class DrawnBox:
    """Something to place: `x` is its middle, `y` its top; ports are offsets from the middle.

    A joint of a long edge knows the others of that edge, which should stand in a line.
    """

    width: float
    height: float
    outs: Sequence[float] = ()
    ins: Sequence[float] = ()
    row: int = 0
    x: float = 0.0
    y: float = 0.0
    line: list[DrawnBox] = attrs.field(factory=list)

    @property
    def joint(self) -> bool:
        """Whether this is a joint."""
        return bool(self.line)


@attrs.define(eq=False)
class Link:
    """From a port of a box to a port of a box further down; through joints, once laid out."""

    source: DrawnBox
    out: int
    target: DrawnBox
    into: int
    joints: list[DrawnBox] = attrs.field(factory=list)


@attrs.frozen(eq=False)
class Arrangement:
    """Boxes in rows; `tops` and `bottoms` of the rows, and the size of it all."""

    rows: list[list[DrawnBox]]
    tops: list[float]
    bottoms: list[float]
    width: float
    height: float


def lay_out(
    boxes: Sequence[DrawnBox],
    links: Sequence[Link],
    first: Sequence[DrawnBox],
    last: Sequence[DrawnBox],
) -> Arrangement:
    """Place the boxes, which come in an order such that links lead forwards.

    `first` are put in the first row, `last` in the last one.
    """
    _assign_rows(boxes, links, first, last)
    rows: list[list[DrawnBox]] = [[] for _ in range(max((b.row for b in boxes), default=0) + 1)]
    for box in boxes:
        rows[box.row].append(box)
    pieces = _cut(rows, links)
    between = [[p for p in pieces if p[0].row == i] for i in range(len(rows) - 1)]
    _order(rows, between)
    _settle(rows, between)
    tops, bottoms = _assign_heights(rows, between)
    left = min((b.x - b.width / 2 for b in boxes), default=0.0)
    for row in rows:
        for box in row:
            box.x -= left
    width = max((b.x + b.width / 2 for row in rows for b in row), default=0.0)
    return Arrangement(rows, tops, bottoms, width, bottoms[-1])


Piece = tuple[DrawnBox, float, DrawnBox, float]


def _assign_rows(
    boxes: Sequence[DrawnBox],
    links: Sequence[Link],
    first: Sequence[DrawnBox],
    last: Sequence[DrawnBox],
) -> None:
    down: dict[DrawnBox, list[DrawnBox]] = {b: [] for b in boxes}
    up: dict[DrawnBox, list[DrawnBox]] = {b: [] for b in boxes}
    for link in links:
        down[link.source].append(link.target)
        up[link.target].append(link.source)
    fixed = set(first)
    for box in boxes:
        start = 0 if box in fixed or not fixed else 1
        box.row = max((b.row + 1 for b in up[box]), default=start)
    for box in boxes:
        if not up[box] and box not in fixed and down[box]:
            box.row = min(b.row for b in down[box]) - 1  # just above its first use
    bottom = max((b.row + 1 for b in boxes if b not in set(last)), default=0)
    for box in last:
        box.row = bottom


def _cut(rows: list[list[DrawnBox]], links: Sequence[Link]) -> list[Piece]:
    """Links as pieces from row to row; links from one port share their joints."""
    joints: dict[tuple[DrawnBox, int, int], DrawnBox] = {}
    edges: dict[tuple[DrawnBox, int], list[DrawnBox]] = {}
    pieces: dict[tuple[DrawnBox, float, DrawnBox, float], None] = {}
    for link in links:
        here, out = link.source, link.source.outs[link.out]
        for row in range(link.source.row + 1, link.target.row):
            key = link.source, link.out, row
            if key not in joints:
                line = edges.setdefault(key[:2], [])
                joints[key] = DrawnBox(_JOINT, 0.0, row=row, line=line)
                line.append(joints[key])
                rows[row].append(joints[key])
            link.joints.append(joints[key])
            pieces[here, out, joints[key], 0.0] = None
            here, out = joints[key], 0.0
        pieces[here, out, link.target, link.target.ins[link.into]] = None
    return list(pieces)


# ---------------------------------------------------------------------------- order in a row


def _order(rows: list[list[DrawnBox]], between: list[list[Piece]]) -> None:
    best, fewest = [list(row) for row in rows], _crossings(rows, between)
    for sweep in range(_turns(_SWEEPS, between)):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        for i in range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1):
            _by_barycenter(rows, between, i, downwards)
        found = _crossings(rows, between)
        if found < fewest:
            best, fewest = [list(row) for row in rows], found
    rows[:] = best


def _by_barycenter(
    rows: list[list[DrawnBox]], between: list[list[Piece]], i: int, downwards: bool
) -> None:
    fixed = rows[i - 1] if downwards else rows[i + 1]
    places = {box: float(k) for k, box in enumerate(fixed)}
    pulls: dict[DrawnBox, list[float]] = {}
    for a, out, b, into in between[i - 1] if downwards else between[i]:
        near, port, box = (a, out, b) if downwards else (b, into, a)
        pulls.setdefault(box, []).append(places[near] + port / (near.width + 1.0))
    own = {box: float(k) for k, box in enumerate(rows[i])}
    means = {box: sum(found) / len(found) for box, found in pulls.items()}
    rows[i].sort(key=lambda box: (means.get(box, own[box]), own[box]))


def _crossings(rows: list[list[DrawnBox]], between: list[list[Piece]]) -> int:
    total = 0
    for i, pieces in enumerate(between):
        above = {box: k for k, box in enumerate(rows[i])}
        below = {box: k for k, box in enumerate(rows[i + 1])}
        ends = sorted((above[a], out, below[b], into) for a, out, b, into in pieces)
        seen: list[tuple[int, float]] = []
        for _, _, k, into in ends:
            total += len(seen) - bisect_right(seen, (k, into))
            insort(seen, (k, into))
    return total


# ------------------------------------------------------------------------ places along a row


def _settle(rows: list[list[DrawnBox]], between: list[list[Piece]]) -> None:
    for row in rows:
        x = 0.0
        for box in row:
            box.x = x + box.width / 2
            x += box.width + _SIDE
    for turn in range(_turns(_SETTLING, between)):
        downwards = turn % 2 == 0
        means = {id(b.line): 0.0 for row in rows for b in row if b.line}
        for row in rows:
            for box in row:
                if box.line:
                    means[id(box.line)] += box.x / len(box.line)
        for i in range(len(rows)) if downwards else range(len(rows) - 1, -1, -1):
            pulls: dict[DrawnBox, list[tuple[float, float]]] = {
                box: [(means[id(box.line)], _STRAIGHT)] for box in rows[i] if box.line
            }
            if i > 0 and (downwards or turn > 2):
                for a, out, b, into in between[i - 1]:
                    pulls.setdefault(b, []).append((a.x + out - into, 1.0))
            if i < len(rows) - 1 and (not downwards or turn > 2):
                for a, out, b, into in between[i]:
                    pulls.setdefault(a, []).append((b.x + into - out, 1.0))
            _place_row(rows[i], pulls)


def _turns(most: int, between: list[list[Piece]]) -> int:
    """Return the number of passes over the rows: fewer for very many rows."""
    return max(4, min(most, _EFFORT // (1 + sum(map(len, between)))))


def _place_row(row: list[DrawnBox], pulls: dict[DrawnBox, list[tuple[float, float]]]) -> None:
    """Each box where its pulls want it, or as near as its neighbours let it."""
    ahead, wanted, weights, shift = 0.0, [], [], []
    for k, box in enumerate(row):
        if k:
            ahead += (row[k - 1].width + box.width) / 2 + _SIDE
        found = pulls.get(box)
        weight = sum(w for _, w in found) if found else 0.01
        where = sum(x * w for x, w in found) / weight if found else box.x
        shift.append(ahead)
        wanted.append(where - ahead)
        weights.append(weight)
    for box, x, offset in zip(row, _isotonic(wanted, weights), shift, strict=True):
        box.x = x + offset


def _isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nondecreasing sequence nearest to the values (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        count = 1
        while pools and pools[-1][0] > value:
            other, other_weight, n = pools.pop()
            value = (value * weight + other * other_weight) / (weight + other_weight)
            weight += other_weight
            count += n
        pools.append((value, weight, count))
    return [value for value, _, n in pools for _ in range(n)]


def _assign_heights(
    rows: list[list[DrawnBox]], between: list[list[Piece]]
) -> tuple[list[float], list[float]]:
    tops, bottoms, y = [], [], 0.0
    for i, row in enumerate(rows):
        height = max((box.height for box in row), default=0.0)
        tops.append(y)
        bottoms.append(y + height)
        for box in row:
            box.y = y + (height - box.height) / 2
        y += height
        if i < len(between):
            across = max((abs(a.x + p - b.x - q) for a, p, b, q in between[i]), default=0.0)
            y += 18.0 + min(60.0, across / 12)
    return tops, bottoms
