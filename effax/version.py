"""The version of effax, and that of the interface of JAX which it has."""

from __future__ import annotations

from effax import __version__ as __version__
from effax import __version_info__ as __version_info__
