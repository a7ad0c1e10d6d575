"""Why some programs cost more than JAX's on a chip: patterns of `chip | which | program | figure`."""

from __future__ import annotations

from typing import Final

REASONS: Final[list[tuple[str, str]]] = []
