"""Iterative solvers of linear systems, as `scipy.sparse.linalg` has them.

Derivatives are those of what is solved, by one more system; none goes through the iterations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import effax.numpy as jnp
from effax import lax
from effax.api.custom.jvp import stop_gradient
from effax.effects.rows.conversion import convert_element_type
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import inexact_dtype, is_complex, typeof
from effax.effects.value import Array
from effax.flatten_util import ravel_pytree
from effax.scipy.sparse.iterations import bicgstab as _bicgstab
from effax.scipy.sparse.iterations import cg as _cg
from effax.scipy.sparse.iterations import gmres as _gmres

__all__ = ["bicgstab", "cg", "gmres"]
__dir__ = __all__.copy

Operator = Any  # a matrix, or a linear function of trees of arrays


def _operator(a: Operator) -> Callable[[Any], Any]:
    """Return a matrix, or an object with a shape and `@`, as a function."""
    if callable(a):
        return a
    matrix = hasattr(a, "ndim")
    if not (hasattr(a, "shape") and (matrix or hasattr(a, "__matmul__"))):
        raise TypeError(f"linear operator must be either a function or ndarray: {a}")
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {a.shape}")
    return partial(jnp.dot if matrix else operator.matmul, a)


def _itself(x: Any) -> Any:
    return x


def _right_side(b: Any, x0: Any) -> tuple[Any, Any]:
    """b in floats, and the first guess in b's types; raises `ValueError` where they don't fit."""
    leaves, tree = tree_flatten(b)
    leaves = [jnp.asarray(x, inexact_dtype(typeof(x).dtype)) for x in leaves]
    b = tree_unflatten(tree, leaves)
    if x0 is None:
        return b, tree_unflatten(tree, [jnp.zeros_like(x) for x in leaves])
    guess, found = tree_flatten(x0)
    if found != tree:
        raise ValueError(f"x0 and b must have matching tree structure: {found} vs {tree}")
    shapes, wanted = ([typeof(x).shape for x in xs] for xs in (guess, leaves))
    if shapes != wanted:
        raise ValueError(f"arrays in x0 and b must have matching shapes: {shapes} vs {wanted}")
    guess = [jnp.asarray(g, x.dtype) for g, x in zip(guess, leaves, strict=True)]
    return b, tree_unflatten(tree, guess)


def _solved(
    iterate: Callable[..., Array],
    A: Operator,  # noqa: N803
    b: Any,
    x0: Any,
    M: Operator | None,  # noqa: N803
    symmetric: bool,
    maxiter: int | None,
    **settings: Any,
) -> Any:
    """The solution by a method that acts on vectors: trees are laid out as one."""
    matvec = _operator(A)
    weak = [typeof(x) for x in tree_flatten(b)[0]]
    better = _itself if M is None else _operator(M)
    b, x0 = _right_side(b, x0)
    types = [typeof(x) for x in tree_flatten(b)[0]]
    _check_result(matvec, b, types)
    if maxiter is None:
        maxiter = 10 * sum(t.size for t in types)  # SciPy's default for cg

    def solve(better: Any, x0: Any, matvec: Any, b: Any) -> Any:
        flat, back = ravel_pytree(b)

        def flattened(function: Any) -> Callable[[Array], Array]:
            return lambda v: ravel_pytree(function(back(v)))[0]

        start = jnp.zeros_like(flat) if x0 is None else ravel_pytree(x0)[0]
        return back(iterate(flattened(matvec), flat, start, flattened(better), maxiter, **settings))

    def solve_transposed(matvec: Any, b: Any) -> Any:
        turned = better if M is None or symmetric else _transposed(better, b)
        return solve(turned, None, matvec, b)

    real = not any(is_complex(t.dtype) for t in types)
    found = lax.custom_linear_solve(
        matvec,
        b,
        partial(solve, better, stop_gradient(x0)),
        transpose_solve=solve_transposed,
        symmetric=symmetric and real,
    )
    leaves, tree = tree_flatten(found)
    # The result is as weak as b, whatever the method returned.
    return tree_unflatten(
        tree,
        [
            convert_element_type(x, dtype=typeof(x).dtype, weak_type=True) if t.weak_type else x
            for x, t in zip(leaves, weak, strict=True)
        ],
    )


def _transposed(function: Callable[[Any], Any], b: Any) -> Callable[[Any], Any]:
    from effax.api.derivatives.reverse import linear_transpose

    back = linear_transpose(function, b)
    return lambda y: back(y)[0]


def _check_result(matvec: Callable[[Any], Any], b: Any, types: list[Any]) -> None:
    from effax.api.compiling.staging import eval_shape

    out = [x.shape for x in tree_flatten(eval_shape(matvec, b))[0]]
    wanted = [t.shape for t in types]
    if out != wanted:
        raise ValueError(f"matvec() output shapes must match b, got {out} and {wanted}")


def cg(
    A: Operator,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,  # noqa: N803
) -> tuple[Any, None]:
    """Solve `A x = b` for a Hermitian, positive definite A, by conjugate gradients.

    Args:
      A: a matrix, or a function of trees like b.
      b: an array, or a tree of arrays.
      x0: where to begin, zeros by default; it has no derivative.
      tol, atol: the residual's norm is to be less than `max(tol * norm(b), atol)`.
      maxiter: the most iterations; 10 times as many as there are unknowns, by default.
      M: an approximate inverse of A, as A is.

    Returns:
      The solution, and None in the place of SciPy's report.

    Raises:
      TypeError: where A or M is neither a matrix nor a function.
      ValueError: for matrices that aren't square, and trees or shapes that don't fit b's.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.sparse.linalg import cg
    >>> x, _ = cg(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
    >>> jnp.round(x, 4)
    Array([1. , 0.5], dtype=float32)
    """
    return _solved(_cg, A, b, x0, M, True, maxiter, tol=tol, atol=atol), None


def bicgstab(
    A: Operator,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,  # noqa: N803
) -> tuple[Any, None]:
    """Solve `A x = b` for any A, by stabilised biconjugate gradients.

    Args:
      A: a square matrix, or a function of trees like b.
      b: an array, or a tree of arrays.
      x0: the first guess, zeros by default; it has no derivative.
      tol, atol: the residual's norm is to be less than `max(tol * norm(b), atol)`.
      maxiter: the most iterations; by default 10 times as many as there are unknowns.
      M: an approximate inverse of A, given as A is.

    Returns:
      The solution, and None in the place of SciPy's report.

    Raises:
      TypeError, ValueError: as `cg` does.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.sparse.linalg import bicgstab
    >>> x, _ = bicgstab(jnp.array([[2.0, 2.0], [0.0, 4.0]]), jnp.array([4.0, 4.0]))
    >>> jnp.round(x, 4)
    Array([1., 1.], dtype=float32)
    """
    return _solved(_bicgstab, A, b, x0, M, False, maxiter, tol=tol, atol=atol), None


def gmres(
    A: Operator,  # noqa: N803
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Operator | None = None,  # noqa: N803
    solve_method: str = "batched",
) -> tuple[Any, Array]:
    """Solve `A x = b` for any A, by generalised minimal residuals; see `cg` for the rest.

    Args:
      A, b, x0, tol, atol, M: as for `cg`.
      restart: the most vectors of a Krylov space; more are better and take more memory.
      maxiter: the most spaces.
      solve_method: "batched" makes whole spaces; "incremental" stops within one.

    Returns:
      The solution, and 0, or -1 where it has NaN.

    Raises:
      ValueError: for other methods and a `restart` below 1 too.

    >>> import effax.numpy as jnp
    >>> from effax.scipy.sparse.linalg import gmres
    >>> x, info = gmres(jnp.array([[2.0, 2.0], [0.0, 4.0]]), jnp.array([4.0, 4.0]))
    >>> jnp.round(x, 4), int(info)
    (Array([1., 1.], dtype=float32), 0)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    if restart < 1:
        raise ValueError(f"restart must be at least 1, got {restart}")
    x = _solved(
        *(_gmres, A, b, x0, M, False, maxiter),
        tol=tol,
        atol=atol,
        restart=restart,
        early=solve_method == "incremental",
    )
    failed = jnp.isnan(jnp.linalg.norm(ravel_pytree(x)[0]))
    return x, jnp.where(failed, -1, 0)
