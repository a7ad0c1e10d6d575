"""The traffic of collectives between the devices of a mesh: a torus, with a ring for each axis."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.effects.mesh import MeshShape
from effax.experimental.roofline.results import RooflineResult

Sizes = dict[Any, int]
Traffic = tuple[float, float]
"""Bytes over the busiest link of an axis, and hops."""


def traffic(
    name: str, ins: Sequence[Any], attributes: dict[str, Any], mesh: MeshShape | None
) -> RooflineResult:
    """Return the traffic of a collective, which is the same along each of its axes.

    Args:
      name: the name of the collective.
      ins: the types of its operands, as one device has them.
      attributes: its attributes; `axes` are the names.
      mesh: the mesh that has these axes.

    Raises:
      ValueError: where no mesh says how long the axes are.
    """
    axes = attributes["axes"]
    known = {} if mesh is None else dict(mesh.shape)
    if not known.keys() >= {*axes}:
        raise ValueError(
            f"roofline: {name} is over the axes {axes}, and the mesh has {tuple(known)}; pass "
            "roofline a mesh that has these axes"
        )
    sizes: Sizes = {axis: known[axis] for axis in axes}
    moved, hops = 0.0, 0.0
    if math.prod(sizes.values()) > 1:
        moved, hops = _TRAFFIC[name](ins, sizes, attributes)
    return RooflineResult(
        ici_bytes=dict.fromkeys(axes, int(moved)), ici_latency=dict.fromkeys(axes, int(hops))
    )


def _ring(moved: float, sizes: Sizes) -> Traffic:
    """Pieces go around the ring of each axis, the longest first, and grow from axis to axis.

    The data are split among as many orders of the axes, so that all links are busy.
    """
    lengths = sorted(sizes.values(), reverse=True)
    piece, total = moved // len(lengths), 0.0
    for length in lengths:
        total += piece * (length - 1)
        piece *= length
    return total, lengths[0] * len(lengths)


def _bytes(ins: Sequence[Any]) -> int:
    return sum(t.size * t.dtype.itemsize for t in ins)


def _gather(ins: Sequence[Any], sizes: Sizes, attributes: dict[str, Any]) -> Traffic:
    return _ring(_bytes(ins), sizes)


def _scatter(ins: Sequence[Any], sizes: Sizes, attributes: dict[str, Any]) -> Traffic:
    return _ring(_bytes(ins) / math.prod(sizes.values()), sizes)


def _sum(ins: Sequence[Any], sizes: Sizes, attributes: dict[str, Any]) -> Traffic:
    """A sum is scattered and then gathered."""
    moved, hops = _scatter(ins, sizes, attributes)
    return 2 * int(moved), 2 * hops


def _extremum(ins: Sequence[Any], sizes: Sizes, attributes: dict[str, Any]) -> Traffic:
    """One element of each operand is gathered, as in JAX, which expects scalars here."""
    return _ring(sum(t.dtype.itemsize for t in ins), sizes)


def _exchange(ins: Sequence[Any], sizes: Sizes, attributes: dict[str, Any]) -> Traffic:
    """Half the data of all devices crosses the middle of the mesh, over all links that do."""
    shortest = min(sizes.values())
    links = shortest ** (len(sizes) - 1)
    if shortest > 2:
        links *= 2  # a ring of more than two devices crosses its middle twice
    everything = _bytes(ins) * math.prod(sizes.values())
    return everything / 2 / links, sum(length / 2 for length in sizes.values())


def _permute(ins: Sequence[Any], sizes: Sizes, attributes: dict[str, Any]) -> Traffic:
    """Each piece goes the shorter way around each ring; the busiest link decides."""
    lengths = list(sizes.values())
    links: Counter[frozenset[tuple[int, ...]]] = Counter()
    longest = 0
    for source, target in attributes["perm"]:
        hops = 0
        start, end = _place(source, lengths), _place(target, lengths)
        for axis, length in enumerate(lengths):
            ahead = (end[axis] - start[axis]) % length
            step = 1 if ahead <= length - ahead else -1
            hops += min(ahead, length - ahead)
            for k in range(min(ahead, length - ahead)):
                at = (start[axis] + step * k) % length
                ends = ((*start[:axis], i, *start[axis + 1 :]) for i in (at, (at + step) % length))
                links[frozenset(ends)] += 1
        longest = max(longest, hops)
    return _bytes(ins) * max(links.values(), default=0), longest


def _place(index: int, lengths: Sequence[int]) -> tuple[int, ...]:
    """The coordinates of a place from its row-major index."""
    found = []
    for length in reversed(lengths):
        index, coordinate = divmod(index, length)
        found.append(coordinate)
    return tuple(reversed(found))


_TRAFFIC: Final[dict[str, Callable[[Sequence[Any], Sizes, dict[str, Any]], Traffic]]] = {
    "all_gather": _gather,
    "all_to_all": _exchange,
    "pmax": _extremum,
    "pmin": _extremum,
    "ppermute": _permute,
    "psum": _sum,
    "reduce_scatter": _scatter,
}
"""Traffic by collective, on axes of more than one device; the others send nothing."""


def sends(name: str) -> bool:
    """Return whether devices send each other something in an effect of that name.

    Args:
      name: the name of the effect.
    """
    return name in _TRAFFIC
