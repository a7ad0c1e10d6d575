"""Space, as `scipy.spatial` has it."""

from effax.scipy.spatial import transform as transform

__all__ = [
    "transform",
]
__dir__ = __all__.copy
