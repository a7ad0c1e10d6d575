"""The folder of compiled executables on disk."""

from effax.experimental.compilation_cache import compilation_cache as compilation_cache

__all__ = ["compilation_cache"]
__dir__ = __all__.copy
