"""The name of an axis, bound while a function is staged for one place along it."""

from __future__ import annotations

from collections.abc import Hashable

from effax.effects.handler import Handler


class Places(Handler):
    """Binds the name of an axis while a function is staged for one place along it.

    It answers nothing: collectives are recorded, and given their meaning by whoever runs the
    program. `tracks` says that types tell along which axes values may differ.
    """

    __slots__ = ("axis_name", "size", "tracks")

    carrier = type(None)

    def __init__(self, axis_name: Hashable, size: int, tracks: bool = False) -> None:
        super().__init__()
        self.axis_name = axis_name
        self.size = size
        self.tracks = tracks
