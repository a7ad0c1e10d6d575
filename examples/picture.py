"""The picture that demo.py saves: a curve and a page of digits with their predictions, as SVG.

Written by hand, so that the demo needs nothing but effax and NumPy.
"""

from pathlib import Path

import numpy as np

WIDTH, HEIGHT, MARGIN = 420, 260, 40
CELL, COLUMNS = 62, 8


def curve(title: str, series: dict[str, tuple[np.ndarray, str]]) -> list[str]:
    """Lines over one logarithmic vertical axis; `series` maps a name to values and a colour."""
    values = np.concatenate([v for v, _ in series.values()])
    low, high = np.log10(values.min()), np.log10(values.max())

    def height(value: float) -> float:
        return MARGIN + (HEIGHT - 2 * MARGIN) * (high - np.log10(value)) / (high - low)

    text = [f'<text x="{MARGIN}" y="24" font-weight="bold">{title}</text>']
    for exponent in range(int(np.ceil(low)), int(np.floor(high)) + 1):
        y = height(10.0**exponent)
        text.append(f'<path d="M{MARGIN} {y:.1f}H{WIDTH - 10}" stroke="#ddd"/>')
        text.append(f'<text x="{MARGIN - 4}" y="{y + 4:.1f}" text-anchor="end">1e{exponent}</text>')
    for row, (name, (points, colour)) in enumerate(series.items()):
        xs = np.linspace(MARGIN, WIDTH - 10, len(points))
        path = " ".join(f"{x:.1f},{height(y):.1f}" for x, y in zip(xs, points, strict=True))
        text.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        text.append(f'<text x="{WIDTH - 130}" y="{44 + 16 * row}" fill="{colour}">{name}</text>')
    return text


def digit(image: np.ndarray, caption: str, colour: str, x: int, y: int) -> list[str]:
    """One 8 × 8 image of values from 0 to 1, and a line of text under it."""
    size = (CELL - 18) / 8
    text = []
    for i, row in enumerate(image):
        for j, value in enumerate(row):
            shade = int(255 * (1 - value))
            text.append(
                f'<rect x="{x + j * size:.1f}" y="{y + i * size:.1f}" width="{size + 0.3:.1f}" '
                f'height="{size + 0.3:.1f}" fill="rgb({shade},{shade},{shade})"/>'
            )
    text.append(f'<text x="{x}" y="{y + CELL - 6}" fill="{colour}">{caption}</text>')
    return text


def save(
    path: Path,
    losses: dict[str, tuple[np.ndarray, str]],
    images: np.ndarray,
    labels: np.ndarray,
    predictions: np.ndarray,
) -> None:
    """Writes the picture: the loss curves on the left, the digits (float[n, 8, 8]) on the right."""
    text = curve("loss by epoch", losses)
    for n, (image, label, guess) in enumerate(zip(images, labels, predictions, strict=True)):
        x = WIDTH + 20 + (n % COLUMNS) * CELL
        y = 20 + (n // COLUMNS) * (CELL + 4)
        right = label == guess
        caption = f"{guess}" if right else f"{guess}, is {label}"
        text += digit(image, caption, "#2a2" if right else "#d22", x, y)
    rows = -(-len(images) // COLUMNS)
    width, height = WIDTH + 40 + COLUMNS * CELL, max(HEIGHT, 30 + rows * (CELL + 4))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(text) + "\n</svg>\n"
    )
