"""JAX's `sparse.transform`: `sparsify` of values that are references to buffers.

Two values may name the same buffer of positions, so sums and products of them need no search.

>>> import effax.numpy as jnp
>>> from effax.experimental.sparse import transform
>>> env = transform.SparsifyEnv([jnp.array([[0], [2]]), jnp.array([1.0, 2.0])])
>>> x = env.sparse((3,), data_ref=1, indices_ref=0)
>>> values, tree = transform.sparsify_raw(lambda x: 3 * x)(env, x)
>>> transform.spvalues_to_arrays(env, values)[0].data
Array([3., 6.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax.effects.tree import tree_flatten, tree_map
from effax.experimental.sparse.bcoo import BCOO, is_sparse
from effax.experimental.sparse.bcsr import BCSR
from effax.experimental.sparse.sparsify import sparsify as sparsify
from effax.experimental.sparse.sparsity import SparseValue as SparseTracer

__all__ = [
    "SparseTracer",
    "SparsifyEnv",
    "SparsifyValue",
    "arrays_to_spvalues",
    "sparsify",
    "sparsify_raw",
    "spvalues_to_arrays",
]
__dir__ = __all__.copy


class SparsifyValue(NamedTuple):
    """An array by the places of its parts in a `SparsifyEnv`; one without indices is dense."""

    shape: tuple[int, ...]
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool = False
    unique_indices: bool = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def is_sparse(self) -> bool:
        """Whether there are indices."""
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        """Whether there are none."""
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        """Whether the elements are given by positions."""
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        """Whether the elements are given by rows."""
        return self.is_sparse() and self.indptr_ref is not None


class SparsifyEnv:
    """Buffers to which values refer by number.

    Args:
      bufs: the first of them.

    >>> SparsifyEnv().dense(jnp.ones(3))
    SparsifyValue(shape=(3,), data_ref=0, indices_ref=None, indptr_ref=None, \
indices_sorted=False, unique_indices=False)
    """

    def __init__(self, bufs: Iterable[Any] = ()) -> None:
        self._buffers = list(bufs)

    def _buffer(self, part: str, ref: int | None) -> Any:
        if ref is None:
            raise RuntimeError(f"SparsifyEnv.{part}: the value has none, its {part}_ref is None")
        return self._buffers[ref]

    def data(self, spvalue: SparsifyValue) -> Any:
        """The elements of a value."""
        return self._buffer("data", spvalue.data_ref)

    def indices(self, spvalue: SparsifyValue) -> Any:
        """The indices of a value."""
        return self._buffer("indices", spvalue.indices_ref)

    def indptr(self, spvalue: SparsifyValue) -> Any:
        """The starts of a value's rows."""
        return self._buffer("indptr", spvalue.indptr_ref)

    def _place(self, name: str, array: Any, ref: int | None, needed: bool = True) -> int | None:
        if (array is None) == (ref is None) and (needed or array is not None):
            raise ValueError(f"SparsifyEnv.sparse: give either {name} or {name}_ref")
        if array is not None:
            self._buffers.append(jnp.asarray(array))
            return len(self._buffers) - 1
        if ref is not None and ref >= len(self._buffers):
            raise ValueError(
                f"SparsifyEnv.sparse: {name}_ref is {ref}, and there are {len(self._buffers)} "
                "buffers"
            )
        return ref

    def dense(self, data: Any) -> SparsifyValue:
        """Add a dense array."""
        return SparsifyValue(jnp.shape(data), self._place("data", data, None))

    def sparse(
        self,
        shape: Sequence[int],
        data: Any = None,
        indices: Any = None,
        indptr: Any = None,
        *,
        data_ref: int | None = None,
        indices_ref: int | None = None,
        indptr_ref: int | None = None,
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> SparsifyValue:
        """Add a sparse array, of new parts or of buffers that are there.

        Args:
          shape: of the array.
          data, indices, indptr: new parts; `indptr` is for rows only.
          data_ref, indices_ref, indptr_ref: the numbers of buffers, in place of new parts.
          indices_sorted, unique_indices: what is known of the indices.

        Raises:
          ValueError: where a part is given twice or not at all, or a buffer is not there.

        >>> env = SparsifyEnv()
        >>> env.sparse((3,), jnp.ones(1), jnp.array([[2]])).indices_ref
        1
        """
        return SparsifyValue(
            tuple(shape),
            self._place("data", data, data_ref),
            self._place("indices", indices, indices_ref),
            self._place("indptr", indptr, indptr_ref, needed=False),
            indices_sorted,
            unique_indices,
        )


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """Add the arrays of a tree, dense ones and `BCOO` and `BCSR`, and return a tree of references.

    Args:
      spenv: where they are added.
      args: a tree of arrays.

    >>> arrays_to_spvalues(SparsifyEnv(), [jnp.ones(3)])[0].is_dense()
    True
    """

    def value(x: Any) -> SparsifyValue:
        if not isinstance(x, BCOO | BCSR):
            return spenv.dense(x)
        flags = {"indices_sorted": x.indices_sorted, "unique_indices": x.unique_indices}
        return spenv.sparse(x.shape, x.data, x.indices, getattr(x, "indptr", None), **flags)

    return tree_map(value, args, is_leaf=is_sparse)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """Return the arrays that a tree of references stands for.

    Args:
      spenv: the environment of the references.
      spvalues: a tree of `SparsifyValue`.

    >>> env = SparsifyEnv([jnp.ones(3)])
    >>> spvalues_to_arrays(env, SparsifyValue((3,), 0))
    Array([1., 1., 1.], dtype=float32)
    """

    def array(v: SparsifyValue) -> Any:
        if v.is_dense():
            return spenv.data(v)
        how: dict[str, Any] = {
            "shape": v.shape,
            "indices_sorted": v.indices_sorted,
            "unique_indices": v.unique_indices,
        }
        parts = spenv.data(v), spenv.indices(v)
        return BCSR((*parts, spenv.indptr(v)), **how) if v.is_bcsr() else BCOO(parts, **how)

    return tree_map(array, spvalues, is_leaf=lambda v: isinstance(v, SparsifyValue))


def sparsify_raw(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `sparsify(f)` for references to buffers.

    Args:
      f: a function of arrays.

    Returns:
      A function of a `SparsifyEnv` and values of it, which adds the results to the environment,
      and returns their references in a list and the tree of the results.

    >>> env = SparsifyEnv([jnp.ones(3)])
    >>> values, tree = sparsify_raw(jnp.sum)(env, SparsifyValue((3,), 0))
    >>> spvalues_to_arrays(env, values)
    [Array(3., dtype=float32)]
    """

    def of_references(spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any) -> Any:
        results = sparsify(f)(*spvalues_to_arrays(spenv, spvalues), **params)
        flat, tree = tree_flatten(results, is_leaf=is_sparse)
        return arrays_to_spvalues(spenv, flat), tree

    return of_references
