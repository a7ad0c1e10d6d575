"""Vector quantisation."""

from __future__ import annotations

import effax.numpy as jnp
from effax.eager.whole import own_promotion, whole
from effax.effects.value import Array, ArrayLike
from effax.numpy.decompositions import floats
from effax.operands.arguments import BroadcastError

__all__ = [
    "vq",
]
__dir__ = __all__.copy


@own_promotion
@whole("check_finite")
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Return for each observation (a row) the number of the nearest code, and how far it is.

    Vectors are observations and codes of one dimension.

    Raises `ValueError` where the ranks differ, or are not 1 or 2.

    Args:
      obs: array_like, (m, d) or (m,), the observations.
      code_book: array_like, (k, d) or (k,), the codes.
      check_finite: accepted for compatibility, without effect.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.cluster import vq
    >>> vq.vq(jnp.array([0.5, 4.0]), jnp.array([0.0, 3.0]))
    (Array([0, 1], dtype=int32), Array([0.5, 1. ], dtype=float32))
    """
    x, codes = floats("scipy.cluster.vq.vq", obs, code_book)
    if x.ndim != codes.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    if x.ndim != 2:
        raise ValueError("ndim different than 1 or 2 are not supported")
    if x.shape[1] != codes.shape[1]:
        raise BroadcastError(
            f"vq: obs and code_book must have the same number of dimensions, got {x.shape[1]} and "
            f"{codes.shape[1]}"
        )
    distances = jnp.linalg.norm(x[:, None, :] - codes, axis=-1)
    return jnp.argmin(distances, axis=-1), jnp.min(distances, axis=-1)
