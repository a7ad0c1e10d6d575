"""JAX's primitives of sparse arrays, by name: what each is bound to, as a formula.

Programs of effax hold the gathers and sums that a product is made of, so these names are no keys
that a program's equations are found under; bound, each does what JAX's primitive of that name does.

>>> import effax.numpy as jnp
>>> from effax.experimental.sparse import coo, coo_matvec_p
>>> data, row, col = jnp.array([1.0, 2.0]), jnp.array([0, 1]), jnp.array([1, 0])
>>> coo_matvec_p.bind(
...     data, row, col, jnp.array([1.0, 10.0]), spinfo=coo.COOInfo((2, 2)), transpose=False)
Array([10.,  2.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import effax.numpy as jnp
from effax.effects.jax_primitives import WrittenOut
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.experimental.sparse.bcoo import BCOO
from effax.experimental.sparse.bcsr import BCSR, bcsr_dot_general, bcsr_fromdense
from effax.experimental.sparse.coo import COO
from effax.experimental.sparse.csr import CSR
from effax.experimental.sparse.densify import todense
from effax.experimental.sparse.duplicates import bcoo_sort_indices, bcoo_sum_duplicates
from effax.experimental.sparse.elements import bcoo_fromdense, extracted
from effax.experimental.sparse.products import bcoo_dot_general
from effax.experimental.sparse.rearranging import bcoo_transpose
from effax.experimental.sparse.rows import bcsr_extract
from effax.experimental.sparse.sampling import bcoo_dot_general_sampled


class SparseInfo(NamedTuple):
    """The shape of a `BCOO` or `BCSR`, and whether its indices are sorted or unique."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


def _coo(*vectors: Any, spinfo: Any) -> COO:
    return COO(
        vectors, shape=spinfo.shape, rows_sorted=spinfo.rows_sorted, cols_sorted=spinfo.cols_sorted
    )


def _bcoo(*arrays: Any, spinfo: Any) -> BCOO:
    data, indices = arrays
    return BCOO((data, indices), **spinfo._asdict())


def _bcsr(*arrays: Any, spinfo: Any) -> BCSR:
    data, indices, indptr = arrays
    return BCSR((data, indices, indptr), **spinfo._asdict())


def _product(make: Callable[..., Any]) -> Callable[..., Any]:
    """The product of a matrix of three vectors, or of its transpose, and a dense array."""

    def product(*operands: Any, transpose: bool, **known: Any) -> Any:
        *vectors, dense = operands
        matrix = make(*vectors, **known)
        return (matrix.T if transpose else matrix) @ dense

    return product


def _csr(*vectors: Any, shape: Any) -> CSR:
    return CSR(vectors, shape=shape)


def _sums(*arrays: Any, lhs_spinfo: Any, rhs_spinfo: Any, **how: Any) -> Any:
    lhs, rhs = _bcoo(*arrays[:2], spinfo=lhs_spinfo), _bcoo(*arrays[2:], spinfo=rhs_spinfo)
    return bcoo_dot_general(lhs, rhs, **how)


_WHOLE: Final[dict[str, Callable[..., Any]]] = {
    "coo_todense": lambda *vectors, spinfo: _coo(*vectors, spinfo=spinfo).todense(),
    "coo_matvec": _product(_coo),
    "coo_matmat": _product(_coo),
    "csr_todense": lambda *vectors, shape: _csr(*vectors, shape=shape).todense(),
    "csr_matvec": _product(_csr),
    "csr_matmat": _product(_csr),
    "bcoo_todense": lambda *arrays, spinfo: _bcoo(*arrays, spinfo=spinfo).todense(),
    "bcoo_extract": lambda indices, arr, *, assume_unique=True: extracted(
        indices, jnp.asarray(arr), unique=assume_unique
    ),
    "bcoo_dot_general": lambda data, indices, rhs, *, lhs_spinfo, **how: bcoo_dot_general(
        _bcoo(data, indices, spinfo=lhs_spinfo), rhs, **how
    ),
    "bcoo_dot_general_sampled": bcoo_dot_general_sampled,
    "bcsr_todense": lambda *arrays, spinfo: _bcsr(*arrays, spinfo=spinfo).todense(),
    "bcsr_extract": bcsr_extract,
    "bcsr_dot_general": lambda data, indices, indptr, rhs, *, lhs_spinfo, **how: bcsr_dot_general(
        _bcsr(data, indices, indptr, spinfo=lhs_spinfo), rhs, **how
    ),
    "todense": lambda *arrays, tree: todense(tree_unflatten(tree, arrays)),
}
"""Primitives of one result."""

_IN_PARTS: Final[dict[str, Callable[..., Any]]] = {
    "coo_fromdense": COO.fromdense,
    "csr_fromdense": CSR.fromdense,
    "bcoo_fromdense": bcoo_fromdense,
    "bcsr_fromdense": bcsr_fromdense,
    "bcoo_transpose": lambda *arrays, permutation, spinfo: bcoo_transpose(
        _bcoo(*arrays, spinfo=spinfo), permutation=permutation
    ),
    "bcoo_sort_indices": lambda *arrays, spinfo: bcoo_sort_indices(_bcoo(*arrays, spinfo=spinfo)),
    "bcoo_sum_duplicates": lambda *arrays, spinfo, nse: bcoo_sum_duplicates(
        _bcoo(*arrays, spinfo=spinfo), nse=nse
    ),
    "bcoo_spdot_general": _sums,
}
"""Primitives whose results are the arrays of a sparse one."""


def _to_bcsr(indices: Any, *, shape: Sequence[int], index_dtype: Any = jnp.int32) -> Any:
    """The columns of a `BCOO`'s elements, and where its rows start."""
    n_batch = indices.ndim - 2
    data = jnp.ones((*indices.shape[:-1], *shape[n_batch + 2 :]))
    found = BCSR.from_bcoo(BCOO((data, indices.astype(index_dtype)), shape=shape))
    return found.indices, found.indptr


def _to_bcoo(indices: Any, indptr: Any, *, shape: Sequence[int]) -> Any:
    """The positions of a `BCSR`'s elements."""
    data = jnp.ones((*indices.shape, *shape[indices.ndim + 1 :]))
    return BCSR((data, indices, indptr), shape=shape).to_bcoo().indices


def of_arrays(name: str) -> Callable[..., Any] | None:
    """JAX's function of a format's arrays, which its primitive of that name stands for."""
    between: dict[str, Callable[..., Any]] = {"bcoo_to_bcsr": _to_bcsr, "bcsr_to_bcoo": _to_bcoo}
    if name in between:
        return between[name]
    if name not in _IN_PARTS:
        return _WHOLE.get(name)

    def parts(*arrays: Any, **how: Any) -> tuple[Any, ...]:
        return tuple(tree_flatten(_IN_PARTS[name](*arrays, **how))[0])

    return parts


def _parts(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays, **how: tree_flatten(function(*arrays, **how))[0]


PRIMITIVES: Final = {
    **{f"{name}_p": WrittenOut(name, f, several=False) for name, f in _WHOLE.items()},
    **{f"{name}_p": WrittenOut(name, _parts(f), several=True) for name, f in _IN_PARTS.items()},
}
