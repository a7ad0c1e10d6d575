"""JAX's primitives of sparse arrays: bound, each gives what NumPy computes of the dense array."""

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.experimental import sparse
from effax.experimental.sparse.coo import COOInfo
from effax.experimental.sparse.primitives import PRIMITIVES, SparseInfo
from effax.extend.core import Primitive

DENSE = np.array([[0.0, 1.5, 0.0, 2.0], [3.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.5, 0.0]], "float32")
OTHER = np.arange(12, dtype="float32").reshape(3, 4) + 1
COO, CSR = sparse.COO.fromdense(DENSE), sparse.CSR.fromdense(DENSE)
BCOO, BCSR = sparse.BCOO.fromdense(DENSE), sparse.BCSR.fromdense(DENSE)
TRIPLES, INFO, SHAPE = COO.vectors(), COOInfo((3, 4)), (3, 4)
ROWS = CSR.vectors()
PLACES, ROWWISE = (BCOO.data, BCOO.indices), (BCSR.data, BCSR.indices, BCSR.indptr)
KNOWN = SparseInfo((3, 4))
V, M = np.arange(4, dtype="float32"), np.arange(8, dtype="float32").reshape(4, 2)
CONTRACT = ((1,), (0,)), ((), ())
NOT_ZERO = DENSE[DENSE != 0]

ONE = {
    "coo_todense": (TRIPLES, {"spinfo": INFO}, DENSE),
    "coo_matvec": ((*TRIPLES, V), {"spinfo": INFO, "transpose": False}, DENSE @ V),
    "coo_matmat": ((*TRIPLES, OTHER), {"spinfo": INFO, "transpose": True}, DENSE.T @ OTHER),
    "csr_todense": (ROWS, {"shape": SHAPE}, DENSE),
    "csr_matvec": ((*ROWS, V[:3]), {"shape": SHAPE, "transpose": True}, DENSE.T @ V[:3]),
    "csr_matmat": ((*ROWS, M), {"shape": SHAPE, "transpose": False}, DENSE @ M),
    "bcoo_todense": (PLACES, {"spinfo": KNOWN}, DENSE),
    "bcoo_extract": ((BCOO.indices, OTHER), {"assume_unique": True}, OTHER[DENSE != 0]),
    "bcoo_dot_general": (
        (*PLACES, M),
        {"dimension_numbers": CONTRACT, "preferred_element_type": None, "lhs_spinfo": KNOWN},
        DENSE @ M,
    ),
    "bcoo_dot_general_sampled": (
        (DENSE, M, np.array([[0, 1], [2, 0]])),
        {"dimension_numbers": CONTRACT},
        (DENSE @ M)[[0, 2], [1, 0]],
    ),
    "bcsr_todense": (ROWWISE, {"spinfo": KNOWN}, DENSE),
    "bcsr_extract": ((*ROWWISE[1:], OTHER), {}, OTHER[DENSE != 0]),
    "bcsr_dot_general": (
        (*ROWWISE, M),
        {"dimension_numbers": CONTRACT, "preferred_element_type": None, "lhs_spinfo": KNOWN},
        DENSE @ M,
    ),
    "todense": (PLACES, {"tree": fx.tree.structure(BCOO)}, DENSE),
}
FIVE = {"nse": 5, "index_dtype": np.dtype("int32")}
FLAT = {**FIVE, "n_batch": 0, "n_dense": 0}
PARTS = {
    "coo_fromdense": ((DENSE,), FIVE, TRIPLES),
    "csr_fromdense": ((DENSE,), FIVE, ROWS),
    "bcoo_fromdense": ((DENSE,), FLAT, PLACES),
    "bcsr_fromdense": ((DENSE,), FLAT, ROWWISE),
    "bcoo_transpose": (
        PLACES,
        {"permutation": (1, 0), "spinfo": KNOWN},
        (NOT_ZERO, np.argwhere(DENSE)[:, ::-1]),
    ),
    "bcoo_sort_indices": (
        (BCOO.data[::-1], BCOO.indices[::-1]),
        {"spinfo": KNOWN},
        (NOT_ZERO, np.argwhere(DENSE)),
    ),
    "bcoo_sum_duplicates": (
        (jnp.concatenate([BCOO.data] * 2), jnp.concatenate([BCOO.indices] * 2)),
        {"spinfo": KNOWN, "nse": 5},
        (2 * NOT_ZERO, np.argwhere(DENSE)),
    ),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", [*ONE, *PARTS])
def test_bound_it_is_the_dense_computation(name, compiled):
    operands, params, wanted = (ONE | PARTS)[name]
    primitive = getattr(sparse, f"{name}_p")
    assert isinstance(primitive, Primitive)
    assert primitive.multiple_results is (name in PARTS)
    bound = lambda *xs: primitive.bind(*xs, **params)  # noqa: E731
    found = (fx.jit(bound) if compiled else bound)(*operands)
    if name in ONE:
        found, wanted = [found], [wanted]
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_products_of_two_sparse_arrays():
    other = sparse.BCOO.fromdense(M)
    data, indices = sparse.bcoo_spdot_general_p.bind(
        *(*PLACES, other.data, other.indices),
        lhs_spinfo=KNOWN,
        rhs_spinfo=SparseInfo((4, 2)),
        dimension_numbers=CONTRACT,
        preferred_element_type=None,
    )
    np.testing.assert_allclose(sparse.BCOO((data, indices), shape=(3, 2)).todense(), DENSE @ M)


def test_all_of_them_are_asked():
    assert {f"{n}_p" for n in (*ONE, *PARTS, "bcoo_spdot_general")} == set(PRIMITIVES)


def test_under_transforms():
    def f(data, v):
        return sparse.csr_matvec_p.bind(data, *ROWS[1:], v, shape=SHAPE, transpose=False)

    slopes = fx.jacrev(f)(ROWS[0], jnp.asarray(V))
    np.testing.assert_allclose(slopes.sum(0), V[np.argwhere(DENSE)[:, 1]])
    batched = fx.vmap(f, (None, 0))(ROWS[0], jnp.eye(4))
    np.testing.assert_allclose(batched, DENSE.T)
