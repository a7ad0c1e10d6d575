"""Arrays that are mostly zero, by their other elements: `BCOO` (positions), `BCSR` (rows).

`COO`, `CSR` and `CSC` are matrices in the formats of `scipy.sparse`.

>>> import effax, effax.numpy as jnp
>>> from effax.experimental import sparse
>>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))
>>> m
BCOO(float32[2, 3], nse=3)
>>> effax.jit(lambda m, v: m @ v)(m, jnp.arange(3.0))
Array([1., 6.], dtype=float32)
>>> sparse.grad(lambda m, v: jnp.sum(m @ v))(m, jnp.arange(3.0)).data
Array([1., 0., 2.], dtype=float32)
"""

from importlib import import_module
from typing import Any

from effax.experimental.sparse import linalg as linalg
from effax.experimental.sparse.bcoo import BCOO as BCOO
from effax.experimental.sparse.bcoo import JAXSparse as JAXSparse
from effax.experimental.sparse.bcsr import BCSR as BCSR
from effax.experimental.sparse.bcsr import bcsr_dot_general as bcsr_dot_general
from effax.experimental.sparse.bcsr import bcsr_fromdense as bcsr_fromdense
from effax.experimental.sparse.bcsr import bcsr_todense as bcsr_todense
from effax.experimental.sparse.convolutions import (
    bcoo_conv_general_dilated as bcoo_conv_general_dilated,
)
from effax.experimental.sparse.coo import COO as COO
from effax.experimental.sparse.coo import coo_fromdense as coo_fromdense
from effax.experimental.sparse.coo import coo_matmat as coo_matmat
from effax.experimental.sparse.coo import coo_matvec as coo_matvec
from effax.experimental.sparse.coo import coo_todense as coo_todense
from effax.experimental.sparse.creation import empty as empty
from effax.experimental.sparse.creation import eye as eye
from effax.experimental.sparse.creation import random_bcoo as random_bcoo
from effax.experimental.sparse.csr import CSC as CSC
from effax.experimental.sparse.csr import CSR as CSR
from effax.experimental.sparse.csr import csr_fromdense as csr_fromdense
from effax.experimental.sparse.csr import csr_matmat as csr_matmat
from effax.experimental.sparse.csr import csr_matvec as csr_matvec
from effax.experimental.sparse.csr import csr_todense as csr_todense
from effax.experimental.sparse.densify import todense as todense
from effax.experimental.sparse.derivatives import grad as grad
from effax.experimental.sparse.derivatives import jacfwd as jacfwd
from effax.experimental.sparse.derivatives import jacobian as jacobian
from effax.experimental.sparse.derivatives import jacrev as jacrev
from effax.experimental.sparse.derivatives import value_and_grad as value_and_grad
from effax.experimental.sparse.duplicates import bcoo_sort_indices as bcoo_sort_indices
from effax.experimental.sparse.duplicates import bcoo_sum_duplicates as bcoo_sum_duplicates
from effax.experimental.sparse.elements import bcoo_concatenate as bcoo_concatenate
from effax.experimental.sparse.elements import bcoo_extract as bcoo_extract
from effax.experimental.sparse.elements import bcoo_fromdense as bcoo_fromdense
from effax.experimental.sparse.elements import bcoo_multiply_dense as bcoo_multiply_dense
from effax.experimental.sparse.elements import bcoo_todense as bcoo_todense
from effax.experimental.sparse.layouts import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
)
from effax.experimental.sparse.layouts import SparseEfficiencyError as SparseEfficiencyError
from effax.experimental.sparse.layouts import SparseEfficiencyWarning as SparseEfficiencyWarning
from effax.experimental.sparse.layouts import bcoo_update_layout as bcoo_update_layout
from effax.experimental.sparse.multiplying import bcoo_multiply_sparse as bcoo_multiply_sparse
from effax.experimental.sparse.products import bcoo_dot_general as bcoo_dot_general
from effax.experimental.sparse.rearranging import bcoo_reduce_sum as bcoo_reduce_sum
from effax.experimental.sparse.rearranging import bcoo_rev as bcoo_rev
from effax.experimental.sparse.rearranging import bcoo_slice as bcoo_slice
from effax.experimental.sparse.rearranging import bcoo_squeeze as bcoo_squeeze
from effax.experimental.sparse.rearranging import bcoo_transpose as bcoo_transpose
from effax.experimental.sparse.reshaping import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from effax.experimental.sparse.reshaping import bcoo_reshape as bcoo_reshape
from effax.experimental.sparse.rows import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from effax.experimental.sparse.rows import bcsr_concatenate as bcsr_concatenate
from effax.experimental.sparse.rows import bcsr_extract as bcsr_extract
from effax.experimental.sparse.rows import bcsr_sum_duplicates as bcsr_sum_duplicates
from effax.experimental.sparse.sampling import (
    bcoo_dot_general_sampled as bcoo_dot_general_sampled,
)
from effax.experimental.sparse.slicing import bcoo_dynamic_slice as bcoo_dynamic_slice
from effax.experimental.sparse.slicing import bcoo_gather as bcoo_gather
from effax.experimental.sparse.sparsify import sparsify as sparsify
from effax.experimental.sparse.sparsity import SparseValue as SparseTracer

__all__ = [
    "BCOO",
    "BCSR",
    "COO",
    "CSC",
    "CSR",
    "CuSparseEfficiencyWarning",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseTracer",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_sampled",
    "bcoo_dynamic_slice",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_gather",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "bcoo_update_layout",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "coo_fromdense",
    "coo_matmat",
    "coo_matvec",
    "coo_todense",
    "csr_fromdense",
    "csr_matmat",
    "csr_matvec",
    "csr_todense",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "linalg",
    "random_bcoo",
    "sparsify",
    "todense",
    "value_and_grad",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """`coo_matvec_p` and its like, JAX's primitives by name."""
    if name.endswith("_p"):
        from effax.experimental.sparse.primitives import PRIMITIVES

        if name in PRIMITIVES:
            return PRIMITIVES[name]
    if name in ("transform", "util"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
