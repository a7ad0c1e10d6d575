"""Clusters, as `scipy.cluster` has them."""

from effax.scipy.cluster import vq as vq

__all__ = [
    "vq",
]
__dir__ = __all__.copy
