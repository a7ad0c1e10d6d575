"""Views of shardings: drawn as a picture, or reported while a program is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.backends.xla.array import Array, asarray
from effax.backends.xla.device import Device
from effax.backends.xla.placement import Sharding, bounds
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.rows.callback import Inspection, debug_callback
from effax.effects.tree import tree_leaves

_COLORS: Final = (41, 42, 43, 44, 45, 46, 100, 101, 102, 103, 104, 105)


@filtered
def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the placement of each array of a tree.

    For an array it is called at once. For a traced value it is called when the program is
    compiled, also in loops, branches and inner functions, unless the compiler drops the value. A
    batch is seen as a whole, and the piece of a value under `shard_map` as if it were one.

    Args:
      value: a pytree of arrays.
      callback: a function of a sharding.

    >>> import effax, effax.numpy as jnp
    >>> inspect_array_sharding(jnp.ones(2), callback=print)
    SingleDeviceSharding(device=CpuDevice(id=0))
    """
    if not callable(callback):
        raise TypeError(
            f"inspect_array_sharding: callback must be a function of a sharding, got {callback!r}"
        )
    for x in tree_leaves(value):
        if isinstance(x, Carrier):
            debug_callback(x, callback=Inspection(callback), ordered=False)
        else:
            callback((x if isinstance(x, Array) else asarray(x)).sharding)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print how an array of one or two axes lies on its devices; see `visualize_sharding`.

    Args:
      arr: array with one or two axes.
      **kwargs: options of `visualize_sharding`.

    >>> import effax, effax.numpy as jnp
    >>> visualize_array_sharding(jnp.ones((2, 2)), use_color=False)
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    shape = tuple(arr.shape)
    inspect_array_sharding(arr, callback=lambda s: visualize_sharding(shape, s, **kwargs))


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Callable[[float], int] | None = None,
) -> None:
    """Print, as boxes, which devices have which part of an array.

    Args:
      shape: the array's, of one or two axes.
      sharding: its placement.
      use_color: paint each box, where the output is a terminal.
      scale: makes boxes wider and higher.
      min_width, max_width: the least width of a box, and the greatest of the picture.
      color_map: from a number between 0 and 1 to an ANSI code of a background.

    Raises:
      ValueError: for arrays of other ranks.
    """
    if len(shape) not in (1, 2):
        raise ValueError(
            "`visualize_sharding` only works for arrays of one or two axes, got shape "
            f"{tuple(shape)}; show a slice, or print the sharding"
        )
    boxes = pieces(tuple(shape), sharding)
    columns = max(c for _, c in boxes) + 1
    rows = max(r for r, _ in boxes) + 1
    widest = max(len(label(devices)) for devices in boxes.values()) + 2
    width = int(max(widest, min((min_width - 2) * scale, max_width // columns - 1)))
    height = max(1, int(scale))
    paint = use_color and sys.stdout.isatty()
    lines = ["┌" + "┬".join(["─" * width] * columns) + "┐"]
    for r in range(rows):
        for i in range(height):
            cells = []
            for c in range(columns):
                text = (label(boxes[r, c]) if i == height // 2 else "").center(width)
                share = (r * columns + c) / max(1, rows * columns - 1)
                cells.append(_painted(text, share, color_map) if paint else text)
            lines.append("│" + "│".join(cells) + "│")
        edge = "├┼┤" if r + 1 < rows else "└┴┘"
        lines.append(edge[0] + edge[1].join(["─" * width] * columns) + edge[2])
    sys.stdout.write("\n".join(lines) + "\n")


def pieces(shape: tuple[int, ...], sharding: Sharding) -> dict[tuple[int, int], list[Device]]:
    """The devices of each piece, by its row and column among the pieces."""
    piece = sharding.shard_shape(shape)
    found: dict[tuple[int, int], list[Device]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        begins = [start for start, _ in bounds(index, shape)]
        place = [start // max(n, 1) for start, n in zip(begins, piece, strict=True)]
        row, column = place if len(place) == 2 else (0, place[0])
        found.setdefault((row, column), []).append(device)
    return found


def label(devices: Sequence[Device]) -> str:
    """A platform, and the numbers of its devices."""
    ids = ",".join(str(device.id) for device in devices)
    return f"{devices[0].platform.upper()} {ids}"


def _painted(text: str, share: float, color_map: Callable[[float], int] | None) -> str:
    code = color_map(share) if color_map else _COLORS[round(share * (len(_COLORS) - 1))]
    return f"\033[{code}m{text}\033[0m"
