"""Functions of matrices: exponentials, roots, any function of one; Sylvester's equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, overload

import effax.numpy as jnp
from effax import lax
from effax.api.custom.jvp import custom_jvp, stop_gradient
from effax.api.derivatives.forward import jvp
from effax.eager.whole import own_promotion, whole
from effax.effects import matrices
from effax.effects.types import is_complex
from effax.effects.value import Array, ArrayLike
from effax.lax import linalg
from effax.lax.decompositions import solve
from effax.numpy.decompositions import floats, floats_or_lists
from effax.scipy.reduced_forms import rsf2csf

# Coefficients of the Padé approximation of degree 13, and the largest norm that it is accurate for
# (Higham 2005, "The scaling and squaring method for the matrix exponential revisited").
_PADE = [
    math.factorial(26 - j)
    * math.factorial(13)
    / (math.factorial(26) * math.factorial(j) * math.factorial(13 - j))
    for j in range(14)
]
_REACH = 5.371920351148152


@whole("upper_triangular", "max_squarings")
def expm(
    A: ArrayLike,
    *,
    upper_triangular: bool = False,
    max_squarings: int = 16,
) -> Array:
    """Return the exponential of square matrices, by scaling, Padé's approximation and squaring.

    NaN where more than `max_squarings` would be needed.

    Args:
      A: array_like, (..., n, n).
      upper_triangular: whether A is upper triangular, which is solved faster; what lies below its
        diagonal is then not read.
      max_squarings: the largest number of squarings.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.expm(jnp.zeros((2, 2)))
    Array([[1., 0.], [0., 1.]], dtype=float32)
    """
    (x,) = floats("scipy.linalg.expm", A)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={x.shape}.")
    if upper_triangular:
        x = matrices.triu(x)
    norm = jnp.max(jnp.sum(jnp.abs(lax.stop_gradient(x)), axis=-2), axis=-1, initial=0)
    wanted = jnp.ceil(jnp.log2(jnp.maximum(norm, 1e-30) / _REACH))
    squarings = jnp.clip(wanted, 0, max_squarings)
    even, odd = _pade(x / jnp.exp2(squarings)[..., None, None].astype(x.dtype))
    result = _divided(even - odd, even + odd, upper_triangular)

    def square(x: Array, step: Array) -> tuple[Array, None]:
        more = step.astype(squarings.dtype) < squarings

        def squared(x: Array) -> Array:
            return jnp.where(more[..., None, None], matrices.product(x, x), x)

        return lax.cond(jnp.any(more), squared, lambda x: x, x), None

    # Most matrices need few squarings, and a branch that is not taken costs nothing.
    result, _ = lax.scan(square, result, jnp.arange(max_squarings))
    return jnp.where((wanted > max_squarings)[..., None, None], math.nan, result)


def _divided(x: Array, y: Array, upper_triangular: bool) -> Array:
    """x's inverse times y."""
    if upper_triangular:
        return lax.linalg.triangular_solve(x, y, left_side=True)
    return solve(x, y)


def _pade(x: Array) -> tuple[Array, Array]:
    """The even and the odd terms of Padé's numerator; the denominator has their difference."""
    one = matrices.identity_like(x)
    product = matrices.product
    two = product(x, x)
    four = product(two, two)
    six = product(four, two)
    b = _PADE
    high = product(six, b[13] * six + b[11] * four + b[9] * two)
    odd = product(x, high + b[7] * six + b[5] * four + b[3] * two + b[1] * one)
    high = product(six, b[12] * six + b[10] * four + b[8] * two)
    even = high + b[6] * six + b[4] * four + b[2] * two + b[0] * one
    return even, odd


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = ..., compute_expm: Literal[True] = ...
) -> tuple[Array, Array]: ...
@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = ..., compute_expm: Literal[False]
) -> Array: ...
@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = ..., compute_expm: bool = ...
) -> Array | tuple[Array, Array]: ...
@whole("method", "compute_expm")
def expm_frechet(
    A: ArrayLike,
    E: ArrayLike,
    *,
    method: str | None = None,
    compute_expm: bool = True,
) -> Array | tuple[Array, Array]:
    """Return the derivative of `expm` at A in the direction E.

    Args:
      A, E: array_like, (..., n, n), of one shape.
      method: None, "SPS" or "blockEnlarge"; all are forward differentiation.
      compute_expm: whether to return `expm(A)` before the derivative.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False)
    Array([[1., 0.], [0., 1.]], dtype=float32)
    """
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    x, direction = floats_or_lists("scipy.linalg.expm_frechet", A, E)
    for name, y in (("A", x), ("E", direction)):
        if y.ndim < 2 or y.shape[-1] != y.shape[-2]:
            raise ValueError(
                f"expected {name} to be a (batched) square matrix, got {name}.shape={y.shape}"
            )
    if x.shape != direction.shape:
        raise ValueError(f"expected A and E of one shape, got {x.shape} and {direction.shape}")
    value, slope = jvp(expm, (x,), (direction,))
    return (value, slope) if compute_expm else slope


def _complex(x: Array) -> Array:
    return x if is_complex(x.dtype) else x.astype(jnp.result_type(x.dtype, jnp.complex64))


@own_promotion
@whole("blocksize")
def sqrtm(
    A: ArrayLike,
    blocksize: int = 1,
) -> Array:
    """Return the principal square root of square matrices, always complex.

    By Schur's form (Björck & Hammarling 1983, "A Schur method for the square root of a matrix").
    NaN where there is none. Only `blocksize` 1 is implemented.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.sqrtm(jnp.diag(jnp.array([4.0, 9.0]))).real
    Array([[2., 0.], [0., 3.]], dtype=float32)
    """
    if blocksize != 1:
        raise NotImplementedError("sqrtm: Blocked version is not implemented yet: use blocksize=1")
    (x,) = floats("scipy.linalg.sqrtm", A)
    return _sqrtm(_complex(x))


@custom_jvp
def _sqrtm(x: Array) -> Array:
    t, q = linalg.schur(x)
    n = t.shape[-1]
    places = jnp.arange(n)

    def column(j: Array, root: Array) -> Array:
        """Column j solves `(root + root[j, j]) y = t[:, j]` above the diagonal."""
        here = places == j
        corner = jnp.sqrt(jnp.take(jnp.diagonal(t, axis1=-2, axis2=-1), j, axis=-1))
        system = root + corner[..., None, None] * matrices.identity_like(t)
        none = jnp.diagonal(system, axis1=-2, axis2=-1) == 0
        system = system + jnp.where(none, 1, 0)[..., None] * matrices.identity_like(t)
        side = jnp.where(places < j, jnp.take(t, j, axis=-1), 0)[..., None]
        found = linalg.triangular_solve(system, side, left_side=True)[..., 0]
        # Between two zero eigenvalues there is a root only if the element that joins them is zero.
        found = jnp.where(none & (found != 0), math.nan, found)
        found = jnp.where(here, corner[..., None], found)
        return jnp.where(here, found[..., None], root)

    root = lax.fori_loop(0, n, column, jnp.zeros_like(t)) if n else t
    return matrices.product(q, matrices.product(root, matrices.adjoint(q)))


@_sqrtm.defjvp
def _sqrtm_jvp(primals: Any, tangents: Any) -> Any:
    """The derivative y of the root x solves `x y + y x = dx²`."""
    (x,), (t,) = primals, tangents
    root = _sqrtm(x)
    return root, _sylvester(root, root, t, 0.0)


@overload
def funm(A: ArrayLike, func: Callable[[Array], Array], disp: Literal[True] = ...) -> Array: ...
@overload
def funm(
    A: ArrayLike, func: Callable[[Array], Array], *, disp: Literal[False]
) -> tuple[Array, Array]: ...
@overload
def funm(
    A: ArrayLike, func: Callable[[Array], Array], disp: bool = ...
) -> Array | tuple[Array, Array]: ...
@own_promotion
@whole("func", "disp")
def funm(
    A: ArrayLike,
    func: Callable[[Array], Array],
    disp: bool = True,
) -> Array | tuple[Array, Array]:
    """Apply a function to the matrix A, by Schur's form and Parlett's recurrence.

    `func` is applied to vectors of (complex) eigenvalues. The result is complex; without `disp`
    an estimate of its relative error comes after it. Inexact where eigenvalues are close.

    Source: Golub & Van Loan, "Matrix Computations", algorithm 9.1.1.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.funm(jnp.diag(jnp.array([1.0, 3.0])), jnp.square).real
    Array([[1., 0.], [0., 9.]], dtype=float32)
    """
    (x,) = floats_or_lists("scipy.linalg.funm", A)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError("expected square array_like input")
    # A real matrix uses the real form, whose eigenvalues are real or exact conjugate pairs.
    form, vectors = linalg.schur(x)
    t, q = rsf2csf(form, vectors)
    n = t.shape[0]
    eigenvalues = jnp.diagonal(t)
    apart = jnp.arange(n) - jnp.arange(n)[:, None]
    gaps = eigenvalues - eigenvalues[:, None]
    safe = jnp.where(gaps == 0, 1, gaps)

    def superdiagonal(step: Array, f: Array) -> Array:
        """`f @ t = t @ f`, of which all but the elements sought is known."""
        known = matrices.product(t, f) - matrices.product(f, t)
        return jnp.where(apart == step, known / safe, f)

    f = jnp.diag(func(eigenvalues).astype(t.dtype))
    f = lax.fori_loop(1, n, superdiagonal, f)
    result = matrices.product(q, matrices.product(f, matrices.adjoint(q)))
    if disp:
        return result
    precision = jnp.finfo(t.dtype).eps
    closest = jnp.min(jnp.where(apart > 0, jnp.abs(gaps), math.inf), initial=math.inf)
    closest = jnp.minimum(closest, jnp.abs(t[0, 0]))
    closest = jnp.where(closest == 0, precision, closest)
    size = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), axis=0), initial=0)
    error = jnp.minimum(1, jnp.maximum(precision, precision / closest * size))
    return result, jnp.where(jnp.all(jnp.isfinite(result)), error, math.inf)


@own_promotion
@whole("method", "tol")
def solve_sylvester(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike,
    *,
    method: str = "schur",
    tol: float = 1e-8,
) -> Array:
    """Solve `A @ x + x @ B = C` for x; batches are broadcast against each other.

    By Schur's forms of A and B (Bartels & Stewart 1972), or with `method="eigen"` by their
    eigenvectors. NaN where an eigenvalue of A is within `tol` of one of -B.

    >>> import effax.numpy as jnp
    >>> from effax.scipy import linalg
    >>> linalg.solve_sylvester(jnp.eye(2), jnp.eye(2), jnp.ones((2, 2)))
    Array([[0.5, 0.5], [0.5, 0.5]], dtype=float32)
    """
    a, b, c = floats_or_lists("scipy.linalg.solve_sylvester", A, B, C)
    square = all(x.ndim >= 2 and x.shape[-2] == x.shape[-1] for x in (a, b))
    if not square or c.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ValueError(
            f"Incompatible shapes for Sylvester equation:\nA: {a.shape}\nB: {b.shape}\nC: {c.shape}"
        )
    if method not in ("schur", "eigen"):
        raise ValueError(
            f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".'
        )
    lead = jnp.broadcast_shapes(*(x.shape[:-2] for x in (a, b, c)))
    a, b, c = (jnp.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b, c))
    transpose = matrices.transpose
    solve = _sylvester if method == "schur" else _sylvester_by_eigenvectors
    found = lax.custom_linear_solve(
        lambda x: matrices.product(a, x) + matrices.product(x, b),
        c,
        lambda _, y: solve(stop_gradient(a), stop_gradient(b), y, tol),
        lambda _, y: solve(transpose(stop_gradient(a)), transpose(stop_gradient(b)), y, tol),
    )
    return found


def _sylvester(a: Array, b: Array, c: Array, tol: float) -> Array:
    """Column by column, once both matrices are triangular."""
    t, u = linalg.schur(_complex(a))
    s, v = linalg.schur(_complex(b))
    product, adjoint = matrices.product, matrices.adjoint
    side = product(adjoint(u), product(_complex(c), v))
    n = s.shape[-1]

    def column(j: Array, y: Array) -> Array:
        above = jnp.take(s, j, axis=-1)
        corner = jnp.take(above, j, axis=-1)
        system = t + corner[..., None, None] * matrices.identity_like(t)
        rest = jnp.take(side, j, axis=-1)[..., None] - product(y, above[..., None])
        found = linalg.triangular_solve(system, rest, left_side=True)
        return jnp.where(jnp.arange(n) == j, found, y)

    y = lax.fori_loop(0, n, column, jnp.zeros_like(side))
    x = product(u, product(y, adjoint(v)))
    p, q = (jnp.diagonal(x, axis1=-2, axis2=-1) for x in (t, s))
    return _unless_singular(x if is_complex(c.dtype) else x.real, p, q, tol)


def _sylvester_by_eigenvectors(a: Array, b: Array, c: Array, tol: float) -> Array:
    (p, u), (q, v) = (jnp.linalg.eig(x) for x in (a, b))
    product = matrices.product
    inside = product(solve(u, _complex(c)), v) / (p[..., :, None] + q[..., None, :])
    x = matrices.transpose(solve(matrices.transpose(v), matrices.transpose(product(u, inside))))
    return _unless_singular(x if is_complex(c.dtype) else x.real, p, q, tol)


def _unless_singular(x: Array, p: Array, q: Array, tol: float) -> Array:
    sums = jnp.abs(p[..., :, None] + q[..., None, :])
    return jnp.where(jnp.any(sums < tol, axis=(-2, -1), keepdims=True), math.nan, x)
