"""Clusters, as `scipy.cluster` has them."""

from effax.scipy.cluster import vq as vq
