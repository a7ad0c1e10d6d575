"""The parts of a decomposition that mathematics defines, as leaves to compare.

Vectors of repeated eigenvalues, the order along a Schur form's diagonal and the inverse of a
singular matrix are the choice of one processor's kernels: OpenBLAS has others for each. Products,
orthogonality and invariants are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.grid.ask import Leaf
from tests.grid.case import is_inexact
from tests.grid.compare import epsilon, widened

Array = np.ndarray[Any, Any]
Leaves = Sequence[Leaf | str]
Defined = Callable[[Leaves], Leaves]


def _reducing(count: int, reduce: Callable[..., list[tuple[int, Array]]]) -> Defined:
    """Replace that many leaves by pairs of a leaf's number, for its dtype, and an array."""

    def defined(leaves: Leaves) -> Leaves:
        known = [x for x in leaves if isinstance(x, Leaf) and is_inexact(x.values.dtype)]
        if len(leaves) != count or len(known) != count:
            return leaves
        with np.errstate(all="ignore"):
            found = reduce(*(widened(x.values) for x in known))
            return [known[i]._replace(values=x.astype(known[i].values.dtype)) for i, x in found]

    return defined


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def _eigen(w: Array, v: Array) -> list[tuple[int, Array]]:
    return [(0, w), (1, (v * w[..., None, :]) @ _adjoint(v)), (1, _adjoint(v) @ v)]


def _singular(u: Array, s: Array, vh: Array) -> list[tuple[int, Array]]:
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    return [(0, product), (1, s), (0, _adjoint(u) @ u), (2, vh @ _adjoint(vh))]


def _schur(t: Array, z: Array) -> list[tuple[int, Array]]:
    return [(0, z @ t @ _adjoint(z)), (1, _adjoint(z) @ z), *_triangular(t)]


def _triangular(t: Array) -> list[tuple[int, Array]]:
    """Invariants of a triangular form, and its zeros; a real one has blocks of two rows."""
    zeros = np.tril(t, -1 if np.iscomplexobj(t) else -2)
    square = np.trace(t @ t, axis1=-2, axis2=-1)
    return [(0, np.trace(t, axis1=-2, axis2=-1)), (0, square), (0, zeros)]


eigh: Defined = _reducing(2, _eigen)
"""Of eigenvalues and vectors: the values in order, the product, orthogonality."""

vectors_first: Defined = _reducing(2, lambda v, w: [(1 - i, x) for i, x in _eigen(w, v)])
"""The same where the vectors come first."""

svd: Defined = _reducing(3, _singular)
"""The singular values in order, the product, orthogonality of both sides."""


def schur(leaves: Leaves) -> Leaves:
    """The product, orthogonality, zeros below the diagonal, traces of the form and its square."""
    form = _reducing(1, _triangular)(leaves)
    return _reducing(2, _schur)(leaves) if form is leaves else form


def _polynomial(roots: Array) -> list[tuple[int, Array]]:
    return [(0, np.apply_along_axis(np.poly, -1, roots) if roots.size else roots)]


roots: Defined = _reducing(1, _polynomial)
"""Of roots in any order: the coefficients of the polynomial that has them."""


def _huge(dtype: Any) -> float:
    """From here on a condition number is that of a singular matrix."""
    return 0.1 / epsilon(dtype)


def condition(leaves: Leaves) -> Leaves:
    """Condition numbers; infinity is one for all that say no more than that a matrix is singular."""
    (x,) = leaves
    if isinstance(x, str) or not is_inexact(x.values.dtype):
        return leaves
    return [x._replace(values=np.where(x.values > _huge(x.values.dtype), np.inf, x.values))]


def inverse(leaves: Leaves) -> Leaves:
    """Inverses; NaN is one for all that a singular matrix may have."""
    (x,) = leaves
    if isinstance(x, str) or not is_inexact(x.values.dtype) or not x.values.size:
        return leaves
    largest = np.max(np.abs(widened(x.values)), axis=(-1, -2), keepdims=True)
    regular = largest < _huge(x.values.dtype)
    values = np.where(regular, x.values, np.nan).astype(x.values.dtype)
    return [x._replace(values=values)]
