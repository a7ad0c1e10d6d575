"""Products of sparse arrays with dense ones, and with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.effects.rows.contraction import free_dims
from effax.effects.value import Array
from effax.experimental.sparse.batches import over_batches
from effax.experimental.sparse.bcoo import BCOO, JAXSparse
from effax.experimental.sparse.compiling import compiled
from effax.experimental.sparse.elements import inside, sparse_shape
from effax.experimental.sparse.pairing import sparse_sparse
from effax.experimental.sparse.rearranging import bcoo_squeeze, transposed


@compiled("dimension_numbers", "precision", "preferred_element_type")
def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """Compute `dot_general` where one operand is sparse, or both are.

    Args:
      lhs, rhs: a `BCOO` and an array, in either order; or two `BCOO`s.
      dimension_numbers: as for `lax.dot_general`. Any axes of a `BCOO` may be contracted or batch
        axes of the product: batch axes, sparse ones and dense ones.
      precision: must be None.
      preferred_element_type: the dtype of the result.
      out_sharding: must be None.

    Returns:
      An array; of two `BCOO`s a `BCOO` without dense axes, with an element for each pair of theirs
      but no more than there are positions.

    Raises:
      TypeError: for contracted axes of different lengths.
      ValueError: for two sparse operands, if `rhs` has batch axes that are not used, and `lhs`
        sparse ones.

    >>> import effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[1., 0., 2.], [0., 3., 0.]]))
    >>> numbers = (([1], [0]), ([], []))
    >>> sparse.bcoo_dot_general(m, jnp.array([1.0, 2.0, 3.0]), dimension_numbers=numbers)
    Array([7., 6.], dtype=float32)
    """
    if precision is not None or out_sharding is not None:
        raise NotImplementedError(
            f"bcoo_dot_general: {precision=} and {out_sharding=} must be None, as no product of "
            "dense arrays is computed; use lax.dot_general of todense()"
        )
    (lc, rc), (lb, rb) = (tuple(tuple(map(int, axes)) for axes in p) for p in dimension_numbers)
    for i, j in (*zip(lc, rc, strict=True),) + (*zip(lb, rb, strict=True),):
        if lhs.shape[i] != rhs.shape[j]:
            raise TypeError(
                "dot_general requires contracting dimensions to have the same shape, got axis "
                f"{i} of {lhs.shape} and axis {j} of {rhs.shape}"
            )
    dims = (lc, rc), (lb, rb)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        out: Any = sparse_sparse(lhs, rhs, dims)
    elif isinstance(lhs, BCOO):
        out = _sparse_dense(lhs, jnp.asarray(rhs), dims)
    elif isinstance(rhs, BCOO):
        out = _sparse_dense(rhs, jnp.asarray(lhs), ((rc, lc), (rb, lb)))
        batch = len(lb)
        free = len(free_dims(rhs.ndim, rc, rb))
        order = (*range(batch), *range(batch + free, out.ndim), *range(batch, batch + free))
        out = out.transpose(*order)
    else:
        raise TypeError("bcoo_dot_general: lhs or rhs must be a BCOO")
    return out if preferred_element_type is None else out.astype(preferred_element_type)


def _sparse_dense(x: BCOO, y: Array, dims: Any) -> Array:
    """The product; its axes are batch, free ones of the sparse operand, then of the other.

    Each axis of `x` is free, contracted, or a batch axis of the product, and it is a batch axis,
    sparse or dense in the layout. Those two have nothing to do with each other.
    """
    (xc, yc), (xb, yb) = dims
    partner = dict(zip((*xc, *xb), (*yc, *yb), strict=True))
    b, s = x.n_batch, x.n_batch + x.n_sparse
    lead = [y.shape[partner[a]] if a in partner else 1 for a in range(b)]
    sparse = [a for a in range(b, s) if a in partner]
    dense = [a for a in range(s, x.ndim) if a in partner]
    used = [partner[a] for a in (*range(b), *sparse, *dense) if a in partner]
    rows = y.transpose(*used, *free_dims(y.ndim, tuple(used), ()))
    rows = rows.reshape(*lead, *rows.shape[sum(a in partner for a in range(b)) :])
    scattered = [a for a in range(b, s) if a not in xc]
    blocks = _Blocks(
        gathered=tuple(a - b for a in sparse),
        scattered=tuple(a - b for a in scattered),
        lengths=sparse_shape(x),
        contracted=tuple(a - s for a in dense if a in xc),
        batches=tuple(a - s for a in dense if a in xb),
    )
    out = over_batches(blocks.product, x.shape[:b])(x.data, x.indices, rows)
    # The axes of the result by those of `x`; the free ones of `y` follow.
    kept_dense = [a for a in dense if a in xb] + [a for a in range(s, x.ndim) if a not in partner]
    axes = [*range(b), *scattered, *kept_dense]
    summed = [i for i, a in enumerate(axes) if a in xc]
    out, axes = out.sum(tuple(summed)) if summed else out, [a for a in axes if a not in xc]
    order = [*xb, *free_dims(x.ndim, xc, xb)]
    return out.transpose(*(axes.index(a) for a in order), *range(len(axes), out.ndim))


@dataclass(frozen=True)
class _Blocks:
    """The product of the elements of one batch with a dense array.

    The dense array has an axis for each of the axes `gathered`, then for each dense axis of the
    elements that both have, in order, then its own.
    """

    gathered: tuple[int, ...]
    """The sparse axes along which rows are taken from the dense array."""
    scattered: tuple[int, ...]
    """The sparse axes of the result."""
    lengths: tuple[int, ...]
    """The lengths of the sparse axes."""
    contracted: tuple[int, ...]
    """The dense axes of elements that are contracted."""
    batches: tuple[int, ...]
    """The dense axes of elements that are batch axes."""

    def product(self, data: Array, indices: Array, rows: Array) -> Array:
        """Its axes: scattered ones, dense batch axes, dense free ones, those of `rows`."""
        keep = inside(indices, self.lengths)
        data = jnp.where(keep.reshape(-1, *(1,) * (data.ndim - 1)), data, 0)
        places = tuple(indices[:, a] for a in self.gathered)
        if places and 0 in rows.shape[: len(places)]:
            taken = jnp.zeros((len(indices), *rows.shape[len(places) :]), rows.dtype)
        elif places:
            taken = rows.at[places].get(mode="clip")
        else:
            taken = jnp.broadcast_to(rows, (len(indices), *rows.shape))
        terms = self._terms(data, taken)
        if not self.scattered:
            return terms.sum(0)
        shape = tuple(self.lengths[a] for a in self.scattered)
        zeros = jnp.zeros((*shape, *terms.shape[1:]), terms.dtype)
        if 0 in zeros.shape:
            return zeros
        where = (jnp.where(keep, indices[:, a], self.lengths[a]) for a in self.scattered)
        return zeros.at[tuple(where)].add(terms, mode="drop")

    def _terms(self, data: Array, taken: Array) -> Array:
        """Return the term that each element adds."""
        if not self.contracted and not self.batches:
            rest = (1,) * (taken.ndim - 1)
            alone = taken.reshape(len(taken), *(1,) * (data.ndim - 1), *taken.shape[1:])
            return data.reshape(*data.shape, *rest) * alone
        both = sorted((*self.contracted, *self.batches))
        batch = [0, *(1 + a for a in self.batches)]
        of_taken = [0, *(1 + both.index(a) for a in self.batches)]
        contract = [1 + a for a in self.contracted], [1 + both.index(a) for a in self.contracted]
        dtype = jnp.result_type(data, taken)
        data, taken = data.astype(dtype), taken.astype(dtype)
        return lax.dot_general(data, taken, (contract, (batch, of_taken)))


def matmul(lhs: Any, rhs: Any) -> Any:
    """`lhs @ rhs`, one of which is sparse: of vectors and matrices, and of batches of them."""
    for x in (lhs, rhs):
        if not isinstance(x, BCOO) and isinstance(x, JAXSparse):
            return NotImplemented
    lhs, rhs = (x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs))
    if not lhs.ndim or not rhs.ndim:
        raise TypeError("matmul: operands must have at least one axis")
    left, right = max(0, lhs.ndim - 2), max(0, rhs.ndim - 2)
    batch = jnp.broadcast_shapes(lhs.shape[:left], rhs.shape[:right])
    # An axis that only one operand has, or that has length 1 in the other, is a free axis.
    lhs, of_left = _without_ones(lhs, left, batch, min(left, right))
    rhs, of_right = _without_ones(rhs, right, batch, min(left, right))
    shared = [i for i in of_left if i in of_right]
    of_left += ["row"] * (lhs.ndim > len(of_left) + 1)
    of_right += ["column"] * (rhs.ndim > len(of_right) + 1)
    k = len(of_right) - ("column" in of_right)
    on_right = [*of_right[:k], "contracted", *of_right[k:]]
    axes = [(of_left.index(i), on_right.index(i)) for i in shared]
    lb, rb = ([pair[i] for pair in axes] for i in (0, 1))
    numbers = ((lhs.ndim - 1,), (k,)), (lb, rb)
    found = bcoo_dot_general(lhs, rhs, dimension_numbers=numbers)
    names = [*shared, *(i for i in (*of_left, *of_right) if i not in shared)]
    wanted = [*range(len(batch)), *(i for i in ("row", "column") if i in names)]
    if names == wanted:
        return found
    order = [names.index(i) for i in wanted]
    return transposed(found, order) if isinstance(found, BCOO) else found.transpose(order)


def _without_ones(x: Any, count: int, batch: Sequence[int], both: int) -> tuple[Any, list[Any]]:
    """An operand without batch axes that are 1 only here, and which of `batch` its others are."""
    first = len(batch) - count
    kept = [i for i in range(count)
            if x.shape[i] == batch[first + i] or i < count - both]  # fmt: skip
    gone = [i for i in range(count) if i not in kept]
    if gone:
        squeezed = (
            bcoo_squeeze(x, dimensions=gone) if isinstance(x, BCOO) else x.squeeze(tuple(gone))
        )
        x = squeezed
    return x, [first + i for i in kept]
