"""Linear algebra on TPUs: the calls that libtpu's compiler replaces by programs of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from effax.backends.xla.lowering import linalg_spectral
from effax.backends.xla.lowering.matrices import eigenvectors
from effax.backends.xla.lowering.matrices.batches import write_for_batch
from effax.backends.xla.lowering.matrices.calls import shape_operands
from effax.backends.xla.lowering.writer import Name, Writer, tensor
from effax.effects.errors import UnhandledEffectError
from effax.effects.rows import linalg
from effax.effects.types import ShapedArray, complex64, float32, int32

LARGEST: Final = 256
"""The size of a symmetric matrix that the eigenvalue call takes at most."""


def _call(
    w: Writer, target: str, operands: Sequence[Name], types: Sequence[ShapedArray], how: str
) -> list[Name]:
    lengths, which = shape_operands(w, operands, types)
    given = ", ".join(x.text for x in (*operands, *lengths))
    names = ", ".join((*operands, *lengths))
    results = ", ".join(map(tensor, types))
    results = f"({results})" if len(types) > 1 else results
    text = f"stablehlo.custom_call @{target}({names}) {{{how}{which}}} : ({given}) -> "
    return w.ops(text + results, types)


def require_32_bits(effect: Any, x: Name) -> None:
    """Raise `UnhandledEffectError` for elements that the TPU compiler's calls do not support."""
    if x.dtype not in (float32, complex64):
        raise UnhandledEffectError(
            f"{effect.name}: the TPU compiler supports float32 and complex64, got "
            f"{x.type.str_short()}: convert it, or compute it on the CPU, with device_put"
        )


def lu(w: Writer, types: Sequence[ShapedArray], x: Name) -> list[Name]:
    """Factors and pivots from zero; the permutation that comes with them is not needed."""
    require_32_bits(linalg.lu, x)
    order = ShapedArray(x.shape[:-1], int32)
    how = 'api_version = 2 : i32, backend_config = ""'
    return _call(w, "LuDecomposition", [x], [*types, order], how)[:2]


def reflections(w: Writer, effect: Any, x: Name, taus: ShapedArray) -> tuple[Name, Name]:
    """Householder's reflections below r, and their factors."""
    require_32_bits(effect, x)
    packed, tau = _call(w, "Qr", [x], [x.type.strong(), taus], 'backend_config = ""')
    return packed, tau


def multiplied_out(w: Writer, reflectors: Name, tau: Name) -> Name:
    """The product of reflections: as many columns as the array has."""
    target = "ProductOfElementaryHouseholderReflectors"
    return _call(w, target, [reflectors, tau], [reflectors.type], 'backend_config = ""')[0]


def eigh(w: Writer, types: Sequence[ShapedArray], x: Name, lower: bool) -> list[Name]:
    """Vectors and values in ascending order, by at most 100 sweeps of Jacobi's method.

    Larger matrices than the compiler takes are done by blocks.
    """
    require_32_bits(linalg.eigh, x)
    if 0 in x.shape:
        return [w.constant(0, t) for t in types]
    if x.shape[-1] <= LARGEST:
        how = f'backend_config = "{int(lower)},1,100,1e-6"'
        return _call(w, "Eigh", [x], types, how)
    blocks, _ = linalg_spectral.block_size(x.shape[-1], LARGEST)
    order = w.array(linalg_spectral.moves(blocks))
    return write_for_batch(
        w, partial(linalg_spectral.eigh, lower=lower, largest=LARGEST), types, x, order
    )


def eig(w: Writer, types: Sequence[ShapedArray], x: Name, left: bool, right: bool) -> list[Name]:
    """Eigenvalues and eigenvectors of any square matrix, from Schur's form."""
    require_32_bits(linalg.eig, x)
    return write_for_batch(w, partial(eigenvectors.eig, left=left, right=right), types, x)


def svd(
    w: Writer, types: Sequence[ShapedArray], x: Name, full_matrices: bool, compute_uv: bool
) -> list[Name]:
    """Singular values and vectors, by the polar decomposition and the eigenvalues of its factor."""
    require_32_bits(linalg.svd, x)
    made = partial(linalg_spectral.svd, full_matrices=full_matrices, compute_uv=compute_uv)
    return write_for_batch(w, made, types, x)
