"""The version of effax, and that of the API of JAX which it has."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"

__version_info__: Final = (0, 10, 2)
"""Not effax's own: programs written for JAX compare it, to ask which of JAX's names there are."""
