"""The version of effax, as text and as numbers."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
__version_info__: Final = (0, 1, 0)
