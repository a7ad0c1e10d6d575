"""Linear algebra on TPUs: the calls that libtpu's compiler replaces by programs of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.backends.xla.lowering.writer import Name, Writer, tensor
from effax.effects.errors import UnhandledEffectError
from effax.effects.rows import linalg
from effax.effects.types import ShapedArray, float32, int32

LARGEST: Final = 256
"""The size of a symmetric matrix that the eigenvalue call takes at most."""


def _call(
    w: Writer, target: str, operands: Sequence[Name], types: Sequence[ShapedArray], how: str
) -> list[Name]:
    given = ", ".join(x.text for x in operands)
    results = ", ".join(map(tensor, types))
    results = f"({results})" if len(types) > 1 else results
    text = f"stablehlo.custom_call @{target}({', '.join(operands)}) {{{how}}} : ({given}) -> "
    return w.ops(text + results, types)


def _require_float32(effect: Any, x: Name) -> None:
    if x.dtype != float32:
        raise UnhandledEffectError(
            f"{effect.name}: a TPU's compiler has it for float32, and the matrix is "
            f"{x.type.str_short()}: convert it, or compute it on the CPU, with device_put"
        )


def lu(w: Writer, types: Sequence[ShapedArray], x: Name) -> list[Name]:
    """Factors and pivots from zero; the permutation that comes with them is not needed."""
    _require_float32(linalg.lu, x)
    order = ShapedArray(x.shape[:-1], int32)
    how = 'api_version = 2 : i32, backend_config = ""'
    return _call(w, "LuDecomposition", [x], [*types, order], how)[:2]


def reflections(w: Writer, effect: Any, x: Name, taus: ShapedArray) -> tuple[Name, Name]:
    """Householder's reflections below r, and their factors."""
    _require_float32(effect, x)
    packed, tau = _call(w, "Qr", [x], [x.type.strong(), taus], 'backend_config = ""')
    return packed, tau


def multiplied_out(w: Writer, reflectors: Name, tau: Name) -> Name:
    """The product of reflections: as many columns as the array has."""
    target = "ProductOfElementaryHouseholderReflectors"
    return _call(w, target, [reflectors, tau], [reflectors.type], 'backend_config = ""')[0]


def eigh(w: Writer, types: Sequence[ShapedArray], x: Name, lower: bool) -> list[Name]:
    """Vectors and values in ascending order, by at most 100 sweeps of Jacobi's method."""
    _require_float32(linalg.eigh, x)
    n = x.shape[-1]
    if n > LARGEST:
        raise UnhandledEffectError(
            f"eigh: a TPU's compiler takes matrices of up to {LARGEST} rows, and this has "
            f"{n}: compute it on the CPU, with device_put"
        )
    how = f'backend_config = "{int(lower)},1,100,1e-6"'
    return _call(w, "Eigh", [x], types, how)
