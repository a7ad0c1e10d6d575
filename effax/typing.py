"""Names for annotations of programs that take arrays."""

from effax.effects.value import ArrayLike as ArrayLike
from effax.effects.value import DTypeLike as DTypeLike

__all__ = ["ArrayLike", "DTypeLike"]
__dir__ = __all__.copy
