"""Lines in logarithmic scales as SVG, a small panel each."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

WIDTH, HEIGHT, ACROSS = 250, 190, 4
LEFT, TOP, SIDE, LOW = 46, 34, 190, 120
STYLES = {"effax": "#0b6e4f", "jax": "#b3541e"}


def _decades(values: Iterable[float]) -> tuple[int, int]:
    logs = [math.log10(v) for v in values]
    low, high = math.floor(min(logs)), math.ceil(max(logs))
    return low, max(high, low + 1)


def _power(k: int) -> str:
    names = {-6: "1 µs", -5: "10 µs", -4: "0.1 ms", -3: "1 ms", -2: "10 ms", -1: "0.1 s", 0: "1 s"}
    return names.get(k, f"1e{k} s")


def _panel(title: str, lines: Mapping[str, Any], x0: int, y0: int) -> list[str]:
    """One panel: seconds over size."""
    drawn = {name: points for name, points in lines.items() if not isinstance(points, str)}
    x_low, x_high = _decades(n for points in drawn.values() for n, _ in points)
    y_low, y_high = _decades(t for points in drawn.values() for _, t in points)

    def place(n: float, t: float) -> str:
        x = x0 + LEFT + SIDE * (math.log10(n) - x_low) / (x_high - x_low)
        y = y0 + TOP + LOW * (1 - (math.log10(t) - y_low) / (y_high - y_low))
        return f"{x:.1f},{y:.1f}"

    out = [f'<text x="{x0 + 6}" y="{y0 + 16}" font-weight="bold">{title}</text>']
    for k in range(y_low, y_high + 1):
        (x, y), (end, _) = (place(10**e, 10**k).split(",") for e in (x_low, x_high))
        out.append(f'<path d="M{x},{y} L{end},{y}" stroke="#ddd"/>')
        out.append(f'<text x="{x0 + LEFT - 4}" y="{y}" text-anchor="end">{_power(k)}</text>')
    for k in range(x_low, x_high + 1):
        x = place(10**k, 10**y_low).split(",")[0]
        out.append(f'<text x="{x}" y="{y0 + TOP + LOW + 14}" text-anchor="middle">{10**k}</text>')
    for name, points in drawn.items():
        path = " L".join(place(n, t) for n, t in points)
        out.append(f'<path d="M{path}" fill="none" stroke="{STYLES[name]}" stroke-width="2"/>')
    return out


def drawn(panels: Mapping[str, Mapping[str, Any]]) -> str:
    """Panels of lines, `{title: {library: [(size, seconds)]}}`; a text for points is left out."""
    rows = -(-len(panels) // ACROSS)
    width, height = WIDTH * ACROSS, HEIGHT * rows + 24
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="9">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, (name, color) in enumerate(STYLES.items()):
        out.append(f'<text x="{6 + 60 * i}" y="14" font-size="12" fill="{color}">{name}</text>')
    for i, (title, lines) in enumerate(panels.items()):
        if any(not isinstance(points, str) for points in lines.values()):
            out += _panel(title, lines, WIDTH * (i % ACROSS), 24 + HEIGHT * (i // ACROSS))
    return "\n".join([*out, "</svg>"]) + "\n"
