"""JAX's `sparse.util`: warnings, the facts of a sparse array, and counts of its elements.

>>> import effax.numpy as jnp
>>> from effax.experimental.sparse.util import SparseInfo
>>> SparseInfo((2, 3), unique_indices=True)
SparseInfo(shape=(2, 3), indices_sorted=False, unique_indices=True)
"""

from __future__ import annotations

from effax.effects.value import Array
from effax.experimental.sparse.elements import count, known_mask
from effax.experimental.sparse.layouts import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
)
from effax.experimental.sparse.layouts import SparseEfficiencyError as SparseEfficiencyError
from effax.experimental.sparse.layouts import SparseEfficiencyWarning as SparseEfficiencyWarning
from effax.experimental.sparse.primitives import SparseInfo as SparseInfo

__all__ = [
    "CuSparseEfficiencyWarning",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseInfo",
]
__dir__ = __all__.copy


def _count_stored_elements(mat: Array, n_batch: int = 0, n_dense: int = 0) -> int:
    """The most elements that a batch of a dense array has to store: JAX's own tests ask for it."""
    return count(known_mask(mat, n_dense), n_batch)
