"""`sparsify`: a function of dense arrays, applied to sparse ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effax.api.calling.arguments import wearing
from effax.effects.frames import filtered
from effax.effects.tree import tree_leaves, tree_map
from effax.experimental.sparse.bcoo import is_sparse
from effax.experimental.sparse.sparsity import Sparsify


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function that takes sparse arrays where `f` takes dense ones.

    Each operation on a sparse array must have a sparse meaning: products, sums of sparse arrays,
    functions that are 0 at 0, and rearrangements of elements. `sparse.todense` makes a dense array
    inside of `f`. Branches, loops, jitted functions and custom rules take sparse arrays.

    Args:
      f: a function of trees of arrays.
      use_tracer: accepted for JAX's sake; the result is the same.

    Returns:
      A function of trees of arrays, dense and sparse. Scalars, and matrix products and sums with
      dense arrays, are dense. Other results of sparse operands are sparse, and matrices keep their
      format.

    Raises:
      MissingRuleError: when called, for an operation that has no sparse meaning. It is a
        NotImplementedError.
      SparseStructureError: when called, for branches, or steps of a loop, that give a sparse array
        in different formats, or once a sparse and once a dense array. It is a TypeError.

    >>> import effax, effax.numpy as jnp
    >>> from effax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> sparsify(lambda m, v: jnp.sin(m).T @ v)(m, jnp.array([1.0, 0.0]))
    Array([0.        , 0.84147096], dtype=float32)
    >>> sparsify(lambda m: effax.lax.fori_loop(0, 3, lambda _, m: 2 * m, m))(m).data
    Array([ 8., 16.], dtype=float32)
    """

    @wearing(f, annotated=False)
    @filtered
    def of_sparse(*args: Any, **keywords: Any) -> Any:
        given = args, keywords
        if not any(map(is_sparse, tree_leaves(given, is_leaf=is_sparse))):
            return f(*args, **keywords)
        handler = Sparsify()
        args, keywords = tree_map(handler.enter, given, is_leaf=is_sparse)
        return tree_map(handler.leave, handler.run(f, *args, **keywords))

    return of_sparse
