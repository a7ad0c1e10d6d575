"""Line charts as SVG: a few curves over logarithmic or plain axes, nothing more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

COLORS = ("#1b6ca8", "#c8553d", "#2e8b57", "#7b4fa3", "#a67c00", "#444444")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 170, 40, 50

Curves = Mapping[str, Sequence[tuple[float, float]]]


class Axis:
    """A map from numbers to places between two pixels, and the numbers that are written beside."""

    def __init__(self, values: Sequence[float], start: float, end: float, log: bool) -> None:
        self.map = math.log10 if log else float
        self.log, self.start, self.end = log, start, end
        low, high = min(map(self.map, values)), max(map(self.map, values))
        self.low, self.high = low, high if high > low else low + 1.0

    def at(self, value: float) -> float:
        """The pixel of a number."""
        part = (self.map(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """At most seven round numbers."""
        if self.log:
            powers = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            return [10.0**p for p in powers][:: max(1, len(powers) // 6)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > 6:
            step *= 2
        first = math.ceil(self.low / step)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def chart(
    title: str,
    x_label: str,
    y_label: str,
    curves: Curves,
    log: tuple[bool, bool] = (False, True),
) -> str:
    """The picture of some curves, as the text of an SVG file."""
    points = [p for curve in curves.values() for p in curve]
    x = Axis([p[0] for p in points], LEFT, WIDTH - RIGHT, log[0])
    y = Axis([p[1] for p in points], HEIGHT - BOTTOM, TOP, log[1])
    parts = [_text(WIDTH / 2, 22, title, "middle", 15)]
    for value in x.ticks():
        parts.append(_line(x.at(value), TOP, x.at(value), HEIGHT - BOTTOM))
        parts.append(_text(x.at(value), HEIGHT - BOTTOM + 16, f"{value:g}", "middle"))
    for value in y.ticks():
        parts.append(_line(LEFT, y.at(value), WIDTH - RIGHT, y.at(value)))
        parts.append(_text(LEFT - 6, y.at(value) + 4, f"{value:g}", "end"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, "middle"))
    parts.append(f'<g transform="rotate(-90)">{_text(-HEIGHT / 2, 16, y_label, "middle")}</g>')
    for i, (name, curve) in enumerate(curves.items()):
        color = COLORS[i % len(COLORS)]
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in curve)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="3" fill="{color}"/>'
            for a, b in curve
        ]
        parts.append(_text(WIDTH - RIGHT + 10, TOP + 14 + 18 * i, name, "start", 12, color))
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif">\n<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n'
        f"{inside}\n</svg>\n"
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#dddddd"/>'


def _text(
    x: float, y: float, text: str, anchor: str, size: int = 12, color: str = "#222222"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{color}">{escape(text)}</text>'
    )
