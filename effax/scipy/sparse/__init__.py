"""Large linear systems, as `scipy.sparse` has them."""

from effax.scipy.sparse import linalg as linalg

__all__ = [
    "linalg",
]
__dir__ = __all__.copy
