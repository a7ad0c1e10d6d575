"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from effax.api.placing.output_sharding import placed
from effax.eager.whole import opening, whole
from effax.effects.promotion import lattice_result
from effax.effects.rows import complex as complexes
from effax.effects.rows import shape
from effax.effects.types import (
    ShapedArray,
    bool_,
    default_int,
    default_uint,
    is_complex,
    is_integer,
    is_unsigned,
    typeof,
)
from effax.effects.value import (
    Array,
    ArrayLike,
    DTypeLike,
    OutSharding,
    PrecisionLike,
    greatest,
    smallest,
)
from effax.lax.contraction import canonical_precision, preferred, products
from effax.numpy.pairwise import contract, diagonals, summed
from effax.operands.arguments import BroadcastError, canonical_axis, cast, check_arrays, refuse_out
from effax.operands.promoting import array, promote_dtypes


def product(
    name: str,
    lhs: Any,
    lhs_names: Sequence[Any],
    rhs: Any,
    rhs_names: Sequence[Any],
    result: Sequence[Any],
    precision: PrecisionLike,
    preferred_element_type: Any,
    stretch: Sequence[Any] = (),
) -> Array:
    """The contraction of two arrays in the dtype in which they meet, or the preferred one."""
    wanted = preferred(preferred_element_type, name)
    weak = wanted is None and lattice_result([typeof(lhs), typeof(rhs)])[1]
    if wanted is None:
        lhs, rhs = promote_dtypes(lhs, rhs)
    out = contract(
        lhs,
        lhs_names,
        rhs,
        rhs_names,
        result,
        precision=canonical_precision(precision),
        dtype=wanted,
        stretch=stretch,
    )
    return cast(out, typeof(out).dtype if wanted is None else wanted, weak)


_MATRICES = ((1,), (0,)), ((), ())


def _meet_unconverted(one: ShapedArray, other: ShapedArray) -> bool:
    """Whether the product of arrays of these types needs no conversion.

    Then it is one effect, as most products are, and a program with many is staged sooner.
    """
    return one.dtype == other.dtype and not (one.weak_type and other.weak_type)


def _are_plain_matrices(one: ShapedArray, other: ShapedArray) -> bool:
    plain = one.ndim == other.ndim == 2 and one.shape[1] == other.shape[0]
    return plain and _meet_unconverted(one, other)


@placed
@whole("precision", "preferred_element_type")
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Multiply the last axis of a with the last but one of b (its only one, for a vector).

    Args:
      a, b: arrays; with a number it is the product.
      precision: a `lax.Precision` or its name.
      preferred_element_type: the dtype to sum in, and of the result.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      TypeError: where the lengths of the two axes differ.

    >>> import effax.numpy as jnp
    >>> jnp.dot(jnp.array([1, 2, 3]), jnp.array([4, 5, 6]))
    Array(32, dtype=int32)
    """
    check_arrays("dot", a, b)
    one, other = typeof(a), typeof(b)
    m, n = one.ndim, other.ndim
    if m and n and preferred_element_type is None and _meet_unconverted(one, other):
        numbers = ((m - 1,), (max(n - 2, 0),)), ((), ())
        return products(a, b, numbers, canonical_precision(precision), None)
    left = [f"a{i}" for i in range(m)]
    right = [f"b{i}" for i in range(n)]
    result = [*left, *right]
    if m and n:
        shared = right[max(n - 2, 0)]
        left[-1] = shared
        result = [x for x in (*left, *right) if x != shared]
    return product("dot", a, left, b, right, result, precision, preferred_element_type)


def _require_core(name: str, x: Any, position: int, least: int) -> None:
    ndim = typeof(x).ndim
    if ndim < least:
        raise ValueError(
            f"{name} input operand {position} must have ndim at least {least}, "
            f"but it has ndim {ndim}"
        )


def _batched_product(
    name: str,
    a: Any,
    of_a: Sequence[str],
    b: Any,
    of_b: Sequence[str],
    result: Sequence[str],
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """A product of the last axes, for all of the leading ones, which are broadcast."""
    m, n = typeof(a).ndim - len(of_a), typeof(b).ndim - len(of_b)
    batch = [f"batch{i}" for i in range(max(m, n))]
    try:
        return product(
            name,
            a,
            [*batch[len(batch) - m :], *of_a],
            b,
            [*batch[len(batch) - n :], *of_b],
            [*batch, *result],
            precision,
            preferred_element_type,
            stretch=batch,
        )
    except TypeError as error:
        if "equal lengths" not in str(error):
            raise
        shapes = [typeof(x).str_short() for x in (a, b)]
        why = str(error)
        if not all(text in why for text in shapes):  # the shapes of a batch, under vmap
            why = why.partition(": axes ")[0]
        raise BroadcastError(
            f"{name}: the shapes {shapes[0]} and {shapes[1]} don't fit: {why}"
        ) from None


@placed
@whole("precision", "preferred_element_type")
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the matrix product `a @ b`, for all of the leading axes, which are broadcast.

    Args:
      a: array_like, (..., m, k), or a vector, (k,).
      b: array_like, (..., k, n), or a vector, (k,).
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      ValueError: for a number instead of an array.
      TypeError: where the inner lengths differ.

    >>> import effax.numpy as jnp
    >>> jnp.matmul(jnp.arange(6.0).reshape(2, 3), jnp.ones(3))
    Array([ 3., 12.], dtype=float32)
    """
    check_arrays("matmul", a, b)
    for i, x in enumerate((a, b)):
        _require_core("matmul", x, i, 1)
    if preferred_element_type is None and _are_plain_matrices(typeof(a), typeof(b)):
        return products(a, b, _MATRICES, canonical_precision(precision), None)
    of_a = ["row", "inner"] if typeof(a).ndim > 1 else ["inner"]
    of_b = ["inner", "column"] if typeof(b).ndim > 1 else ["inner"]
    result = [*of_a[:-1], *of_b[1:]]
    return _batched_product("matmul", a, of_a, b, of_b, result, precision, preferred_element_type)


@whole()
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return matrices times vectors, for all of the leading axes, which are broadcast.

    Args:
      x1: array_like, (..., m, n).
      x2: array_like, (..., n).

    >>> import effax.numpy as jnp
    >>> jnp.matvec(jnp.eye(2), jnp.arange(2.0))
    Array([0., 1.], dtype=float32)
    """
    check_arrays("matvec", x1, x2)
    _require_core("matvec", x1, 0, 2)
    _require_core("matvec", x2, 1, 1)
    return _batched_product("matvec", x1, ["row", "inner"], x2, ["inner"], ["row"])


@whole()
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return conjugated vectors times matrices, for all of the leading axes, which are broadcast.

    Args:
      x1: array_like, (..., m).
      x2: array_like, (..., m, n).

    >>> import effax.numpy as jnp
    >>> jnp.vecmat(jnp.arange(2.0), jnp.eye(2))
    Array([0., 1.], dtype=float32)
    """
    check_arrays("vecmat", x1, x2)
    _require_core("vecmat", x1, 0, 1)
    _require_core("vecmat", x2, 1, 2)
    x1 = conjugated(array(x1))
    return _batched_product("vecmat", x1, ["inner"], x2, ["inner", "column"], ["column"])


def conjugated(x: Any) -> Any:
    """The complex conjugate; a real array itself."""
    return complexes.conj(x) if is_complex(typeof(x).dtype) else x


@whole("precision", "preferred_element_type")
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return the product of two arrays read as vectors, the first conjugated.

    Args:
      a, b: array_like, of equally many elements; they are flattened.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.

    >>> import effax.numpy as jnp
    >>> jnp.vdot(jnp.array([1j, 2.0]), jnp.array([1j, 1.0]))
    Array(3.+0.j, dtype=complex64)
    """
    check_arrays("vdot", a, b)
    flat = [shape.reshape(array(x), shape=(typeof(x).size,)) for x in (a, b)]
    a, b = conjugated(flat[0]), flat[1]
    return product("vdot", a, "i", b, "i", "", precision, preferred_element_type)


@whole("axis", "precision", "preferred_element_type")
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return products of vectors along an axis, the first conjugated.

    Args:
      x1, x2: array_like, of equal lengths along the axis; their other axes are broadcast.
      axis: the axis of the vectors; negative ones count from the end.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.

    Raises:
      ValueError: where the lengths of the axis differ.

    >>> import effax.numpy as jnp
    >>> jnp.vecdot(jnp.arange(6.0).reshape(2, 3), jnp.ones(3))
    Array([ 3., 12.], dtype=float32)
    """
    check_arrays("vecdot", x1, x2)
    moved = []
    for x in (x1, x2):
        x = array(x)
        n = typeof(x).ndim
        at = canonical_axis(axis, n)
        order = (*(i for i in range(n) if i != at), at)
        moved.append(x if at == n - 1 else shape.transpose(x, permutation=order))
    a, b = moved
    if typeof(a).shape[-1] != typeof(b).shape[-1]:
        raise ValueError(
            f"axes must match; got shapes {typeof(x1).shape} and {typeof(x2).shape} with {axis=}"
        )
    return _batched_product(
        "vecdot", conjugated(a), ["inner"], b, ["inner"], [], precision, preferred_element_type
    )


@whole("axes", "precision", "preferred_element_type")
def _tensordot(
    a: ArrayLike, b: ArrayLike, axes: Any, precision: Any, preferred_element_type: Any
) -> Array:
    left = [f"a{i}" for i in range(typeof(a).ndim)]
    right = [f"b{i}" for i in range(typeof(b).ndim)]
    for i, j in zip(*axes, strict=True):
        right[j] = left[i]
    result = [n for n in left if n not in right] + [n for n in right if n not in left]
    return product("tensordot", a, left, b, right, result, precision, preferred_element_type)


@placed
@opening
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: Any = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Sum products over some axes of both arrays.

    Args:
      a, b: arrays.
      axes: a number n, for the last n axes of a with the first n of b; or a pair of axes, or of
        sequences of axes, of a and of b.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      TypeError: where `axes` is neither, or lengths differ.

    >>> import effax.numpy as jnp
    >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5))).shape
    (2, 5)
    """
    check_arrays("tensordot", a, b)
    m, n = typeof(a).ndim, typeof(b).ndim
    if isinstance(axes, str):
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists of ints, "
            f"got {axes!r}"
        )
    if isinstance(axes, (tuple, list)):
        if any(isinstance(s, str) for s in axes):
            raise TypeError(
                "tensordot requires both axes lists to be either ints, tuples or lists, got "
                f"{axes!r}"
            )
        if len(axes) != 2:
            raise TypeError(f"tensordot axes {axes!r} must be an int or a pair of axes")
        sides = [s if isinstance(s, (tuple, list)) else (s,) for s in axes]
        if len(sides[0]) != len(sides[1]):
            raise TypeError(f"tensordot requires axes lists to have equal length, got {axes!r}")
        pairs = (
            tuple(canonical_axis(i, m) for i in sides[0]),
            tuple(canonical_axis(i, n) for i in sides[1]),
        )
    else:
        count = operator.index(axes)
        if count > min(m, n):
            raise TypeError(
                f"Number of tensordot axes (axes {count}) exceeds input ranks "
                f"({typeof(a).shape} and {typeof(b).shape})"
            )
        pairs = tuple(range(m - count, m)), tuple(range(count))
    return _tensordot(a, b, pairs, precision, preferred_element_type)


@whole("precision", "preferred_element_type")
def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Return sums of products over the last axes of both; with a number, the product.

    Args:
      a: array_like, (..., n), or a number.
      b: array_like, (..., n), or a number.
      precision: as for `lax.dot_general`.
      preferred_element_type: the dtype to accumulate in, and of the result.

    >>> import effax.numpy as jnp
    >>> jnp.inner(jnp.eye(2), jnp.arange(2.0))
    Array([0., 1.], dtype=float32)
    """
    check_arrays("inner", a, b)
    left = [f"a{i}" for i in range(typeof(a).ndim)]
    right = [f"b{i}" for i in range(typeof(b).ndim)]
    if left and right:
        left[-1] = right[-1] = "inner"
    result = [n for n in (*left, *right) if n != "inner"]
    return product("inner", a, left, b, right, result, precision, preferred_element_type)


@whole("out")
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Return the products of all pairs of elements, of shape `(a.size, b.size)`.

    Args:
      a, b: array_like, flattened.
      out: must be None: arrays can't be written to.

    >>> import effax.numpy as jnp
    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    refuse_out("outer", out)
    check_arrays("outer", a, b)
    flat = [shape.reshape(array(x), shape=(typeof(x).size,)) for x in (a, b)]
    return product("outer", flat[0], "a", flat[1], "b", "ab", None, None)


@whole()
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the Kronecker product: each element of a replaced by that element times b.

    >>> import effax.numpy as jnp
    >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2]))
    Array([ 1,  2, 10, 20], dtype=int32)
    """
    check_arrays("kron", a, b)
    ndim = max(typeof(a).ndim, typeof(b).ndim)
    parts = []
    for x in (a, b):
        lengths = typeof(x).shape
        parts.append(shape.reshape(array(x), shape=(1,) * (ndim - len(lengths)) + lengths))
    left = [f"a{i}" for i in range(ndim)]
    right = [f"b{i}" for i in range(ndim)]
    result = [n for pair in zip(left, right, strict=True) for n in pair]
    out = product("kron", parts[0], left, parts[1], right, result, None, None)
    pairs = zip(*(typeof(x).shape for x in parts), strict=True)
    return shape.reshape(out, shape=tuple(m * n for m, n in pairs))


def _trace(a: ArrayLike, offset: int, axis1: int, axis2: int, dtype: Any) -> Array:
    lengths = typeof(a).shape
    n = len(lengths)
    first, second = canonical_axis(axis1, n), canonical_axis(axis2, n)
    if first == second:
        raise ValueError(f"axis1 and axis2 cannot be same, but both are {first}")
    rows, columns = lengths[first], lengths[second]
    start = (max(-offset, 0), max(offset, 0))
    count = greatest(smallest(rows - start[0], columns - start[1]), 0)
    for at, axis in zip(start, (first, second), strict=True):
        low = smallest(at, lengths[axis])
        a = shape.slice_axis(a, axis, low, low + count)
    names: list[Any] = [f"axis{i}" for i in range(n)]
    names[second] = names[first]
    wanted = {m for i, m in enumerate(names) if i not in (first, second)}
    if dtype is None:
        of_a = typeof(a).dtype
        if of_a == bool_ or (is_integer(of_a) and of_a.itemsize < default_int().itemsize):
            dtype = default_uint() if is_unsigned(of_a) else default_int()
    if dtype is not None:
        a = cast(a, dtype)
    a, names = diagonals(a, names)
    return summed(a, names, wanted)[0]


@whole("offset", "axis1", "axis2", "dtype", "out")
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """Return the sum along a diagonal.

    Args:
      a: an array of at least two axes.
      offset: how far above the main diagonal.
      axis1, axis2: the axes of the matrices.
      dtype: of the sum; narrow integers are summed in the default ones.
      out: must be None: arrays can't be written to.

    Raises:
      ValueError: where the two axes are one, or there are no two.

    >>> import effax.numpy as jnp
    >>> jnp.trace(jnp.arange(9).reshape(3, 3), offset=1)
    Array(6, dtype=int32)
    """
    refuse_out("trace", out)
    check_arrays("trace", a)
    if typeof(a).ndim < 2:
        raise ValueError(f"trace takes an array of at least two axes, not {typeof(a).str_short()}")
    return _trace(a, operator.index(offset), axis1, axis2, preferred(dtype, "trace"))
