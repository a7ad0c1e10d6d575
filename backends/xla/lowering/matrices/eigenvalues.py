"""Eigenvalues of general matrices, by LAPACK or by cuSOLVER.

cuSOLVER has no left eigenvectors. Where they are asked for, CUDA's plugin copies the matrices to
the host and calls LAPACK there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.backends.xla.lowering.matrices.calls import (
    flag,
    foreign,
    info_type,
    lapack_name,
    or_nan,
)
from effax.backends.xla.lowering.writer import Name, Writer, tensor
from effax.effects.dtypes import finfo
from effax.effects.matrices import all_finite, columns
from effax.effects.rows import comparison, elementwise, shape
from effax.effects.rows.complex import complex as complex_of
from effax.effects.rows.complex import imag, real
from effax.effects.rows.conversion import convert_element_type, reduce_precision
from effax.effects.rows.cumulative import cumsum
from effax.effects.rows.elementwise import div, mul, neg, rem
from effax.effects.rows.logical import and_, not_
from effax.effects.rows.reduction import reduce_max
from effax.effects.rows.selection import select_n
from effax.effects.types import ShapedArray, int32, is_complex, typeof


def by_lapack(
    w: Writer, types: Sequence[ShapedArray], x: Name, left: bool, right: bool
) -> list[Name]:
    """Call LAPACK in a program for the CPU."""
    attributes = ", ".join(
        f"{name} = {ord('V' if wanted else 'N')} : ui8"
        for name, wanted in (("compute_left", left), ("compute_right", right))
    )
    return _by_lapack(w, lapack_name(w, x, "geev"), types, x, left, right, attributes)


def by_lapack_for_gpu(
    w: Writer, types: Sequence[ShapedArray], x: Name, left: bool, right: bool
) -> list[Name]:
    """Call LAPACK on the host in a program for a GPU; never MAGMA, which the plugin knows too."""
    attributes = f'magma = "off", left = {flag(left)}, right = {flag(right)}'
    target = "cuhybrid_eig_comp" if is_complex(x.dtype) else "cuhybrid_eig_real"
    return _by_lapack(w, target, types, x, left, right, attributes)


def _by_lapack(
    w: Writer,
    target: str,
    types: Sequence[ShapedArray],
    x: Name,
    left: bool,
    right: bool,
    attributes: str,
) -> list[Name]:
    """LAPACK gives the eigenvalues of a real matrix as real and imaginary parts.

    It scales matrices of very small or large elements, and in some versions (OpenBLAS 0.3.30) does
    not scale the eigenvalues back. So each is divided by a power of two before, which is exact.
    """
    unit = w.performed(_unit, x)
    x = w.performed(_divided, x, unit)
    batch = len(x.shape) - 2
    values = types[0]
    vectors = values.update(shape=x.shape)
    parts = [values] if is_complex(x.dtype) else [values.update(dtype=x.dtype)] * 2
    results = [*parts, vectors, vectors, info_type(x, batch)]
    *found, u, v, info = foreign(w, target, [x], results, batch, attributes)
    numbers = found[0]
    if len(found) == 2:
        numbers = w.op(f"stablehlo.complex {found[0]}, {found[1]} : {tensor(values)}", values)
    numbers = w.performed(_multiplied, numbers, unit)
    return [or_nan(w, y, info) for y in (numbers, *[u] * left, *[v] * right)]


def _unit(x: Any) -> Any:
    """For each matrix a power of two close to its largest element, whose inverse is one too."""
    ndim = typeof(x).ndim
    largest = reduce_max(elementwise.abs(x), axes=(ndim - 2, ndim - 1))
    limits = finfo(typeof(largest).dtype)
    held = elementwise.max(largest, float(limits.tiny))
    held = elementwise.min(held, float(1 / limits.tiny))
    return reduce_precision(held, exponent_bits=limits.nexp, mantissa_bits=0)


def _divided(x: Any, unit: Any) -> Any:
    return _multiplied(x, div(1, unit))


def _multiplied(x: Any, unit: Any) -> Any:
    """The numbers of each matrix, multiplied by its real one."""
    wide = _spread(unit, x)
    if not is_complex(typeof(x).dtype):
        return mul(x, wide)
    return complex_of(mul(real(x), wide), mul(imag(x), wide))


def _spread(v: Any, x: Any) -> Any:
    """One value for each matrix, repeated over all that x has of it."""
    return shape.broadcast_in_dim(v, shape=typeof(x).shape, dims=tuple(range(typeof(v).ndim)))


def by_cusolver(w: Writer, types: Sequence[ShapedArray], x: Name, right: bool) -> list[Name]:
    """Call cuSOLVER; the results of a matrix that is not finite are NaN, as LAPACK's are.

    The left eigenvectors are a result of the call that is never written.
    """
    batch = len(x.shape) - 2
    own = x.type.strong()
    finite = w.performed(all_finite, x)
    results = [own, types[0], own, own, info_type(x, batch)]
    attributes = f"left = false, right = {flag(right)}"
    given = w.performed(_zero_unless, x, finite)
    _, values, _, vectors, info = foreign(
        w, "cusolver_geev_ffi", [given], results, batch, attributes, 0
    )
    info = w.performed(lambda info, finite: select_n(finite, 1, info), info, finite)
    found = [values]
    if right:
        found.append(vectors if is_complex(x.dtype) else w.performed(unpacked, values, vectors))
    return [or_nan(w, y, info) for y in found]


def _zero_unless(x: Any, flags: Any) -> Any:
    """The matrices with a flag, and zero for the others."""
    return select_n(_spread(flags, x), 0, x)


def unpacked(values: Any, packed: Any) -> Any:
    """The complex eigenvectors of real matrices, whose conjugate pairs share two real columns.

    Two conjugate eigenvalues are neighbours. The first column of such a pair is the real part of
    both vectors, the second the imaginary part of the first vector.
    """
    t = typeof(packed)
    last, n = t.ndim - 1, t.shape[-1]
    paired = comparison.ne(imag(values), 0)
    numbers = convert_element_type(paired, dtype=int32, weak_type=False)
    odd = comparison.eq(rem(cumsum(numbers, axis=last - 1, reverse=False), 2), 1)
    first = columns(and_(paired, odd), packed)
    second = columns(and_(paired, not_(odd)), packed)
    following = shape.pad_axis(shape.slice_axis(packed, last, 1, n), last, 0, 1)
    previous = shape.pad_axis(shape.slice_axis(packed, last, 0, n - 1), last, 1, 0)
    imaginary = select_n(first, select_n(second, 0, neg(packed)), following)
    return complex_of(select_n(second, packed, previous), imaginary)
