"""The directory in which executables of jitted functions are kept."""

from __future__ import annotations

import os

from effax.backends.xla import disk_cache
from effax.effects import config

__all__ = ["reset_cache", "set_cache_dir"]
__dir__ = __all__.copy


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Keep executables in a directory, from now on: the setting `compilation_cache_dir`.

    Args:
      path: the directory; None to keep nothing.

    >>> set_cache_dir(None)  # nowhere, as by default
    """
    config.update("compilation_cache_dir", None if path is None else os.fspath(path))


def reset_cache() -> None:
    """Forget the directory that was opened: the next compilation opens what the settings say.

    >>> reset_cache()
    """
    disk_cache.reset()
