"""The account of a program that has been compiling for long: its size, and what repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from effax.effects.frames import place, short_path
from effax.effects.program import Program, count_equations

_LINES = 3
_REPEATED = 16
"""Equations from one place in the user's code from which a loop is suspected."""


def description(program: Program) -> str:
    """The number of equations, and the lines that most of them are from."""
    frames = Counter(_frames(program))
    by_line: Counter[str] = Counter()
    for frame, count in frames.items():
        where = place(frame)
        if where is not None:
            by_line[f"{short_path(where.file)}:{where.line} ({where.function})"] += count
    said = f"{count_equations(program)} equations"
    if by_line:
        most = ", ".join(f"{count} from {line}" for line, count in by_line.most_common(_LINES))
        said += f", {most}"
    if frames and max(frames.values()) >= _REPEATED:
        said += ". What a loop of Python's repeats is compiled each time; lax.scan compiles it once"
    return said


def _frames(program: Program) -> Iterator[Any]:
    for e in program.equations:
        if e.frame is not None:
            yield e.frame
        for inner in e.programs():
            yield from _frames(inner)
