"""`jax.version`: that of the interface of JAX which effax has."""

from __future__ import annotations

from effax import __version_info__ as __version_info__

__version__ = _version = ".".join(map(str, __version_info__))
