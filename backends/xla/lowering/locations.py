"""Locations of lines: the scopes and the effect that they lower, and where the user wrote it.

XLA keeps them as the metadata `op_name` and a frame of file, function and line.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from effax.effects.frames import Frame, place
from effax.effects.program import Equation

_MARK = " loc(#loc"


class Locations:
    """The locations that a module mentions, each once, and the scopes open where one is written."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.places: dict[Frame | None, str] = {}
        self.prefix = ""

    def enter(self, equation: Equation) -> str:
        """Open the scopes of an equation for what is written inside it; gives those before."""
        before = self.prefix
        self.prefix = _within(_path(before, equation.scope), _title(equation))
        return before

    def leave(self, lines: list[str], start: int, equation: Equation, before: str) -> None:
        """Put the equation's location to its lines, those that have none of their own."""
        mark = f"{_MARK}{self._alias(quoted(self.prefix), equation.frame)})"
        self.prefix = before
        for i in range(start, len(lines)):
            line = lines[i]
            if _MARK not in line[line.rfind("\n") + 1 :]:
                lines[i] = line + mark

    def named(self, name: str) -> str:
        """The mark of a line that lowers no equation, but calls what does."""
        return f"{_MARK}{self._alias(quoted(name), None)})"

    def _alias(self, name: str, frame: Frame | None) -> str:
        where = self.places.get(frame)
        if where is None:
            where = self.places[frame] = _written_at(frame)
        text = f"loc({name}{where})"
        return self.aliases.setdefault(text, str(len(self.aliases) + 1))

    def definitions(self) -> str:
        """The lines that say what the locations are."""
        return "".join(f"#loc{number} = {text}\n" for text, number in self.aliases.items())


def _title(equation: Equation) -> str:
    """Return the last part of an equation's path; calls are named by the function they call."""
    attributes: dict[str, Any] = equation.attributes
    name = equation.effect.name
    if name == "call":
        return f"jit({attributes.get('name') or attributes['program'].name})"
    if name == "remat":
        return "checkpoint/rematted_computation" if "again" in attributes else "checkpoint"
    return name


def _within(path: str, title: str) -> str:
    """A path with one more name: labels of no name, `jvp()`, are those of the call they precede."""
    inner = path.rfind("()")
    if title.startswith("jit(") and inner >= 0 and not path[inner:].strip("()"):
        return f"{path[:inner]}({title}){path[inner + 2 :]}"
    return _path(path, title)


def _path(*names: str) -> str:
    return "/".join(name for name in names if str(name))  # a scope without a name has metadata


def _written_at(frame: Frame | None) -> str:
    found = place(frame)
    if frame is None or found is None:
        return ""
    code, offset = frame
    position = next(islice(code.co_positions(), offset // 2, None), None)
    column = position[2] if position and position[2] is not None else 0
    return f"({quoted(found.function)}({quoted(found.file)}:{found.line}:{column}))"


def quoted(text: str) -> str:
    """A string in MLIR's syntax."""
    escaped = "".join(
        c if c.isprintable() and c not in '"\\' else "".join(f"\\{b:02X}" for b in c.encode())
        for c in text
    )
    return f'"{escaped}"'
