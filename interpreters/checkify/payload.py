"""Payloads as bits: what a message shows is kept as integers, which no derivative is taken of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from effax.effects.failures import Site
from effax.effects.rows.complex import imag, real
from effax.effects.rows.conversion import bitcast_convert_type
from effax.effects.rows.elementwise import stop_gradient
from effax.effects.types import (
    ShapedArray,
    bit_width,
    bool_,
    is_complex,
    is_float,
    real_dtype,
    typeof,
    uint8,
    uint16,
    uint32,
    uint64,
)

_WORDS: Final = {8: uint8, 16: uint16, 32: uint32, 64: uint64}


def stored(values: Sequence[Any]) -> list[Any]:
    """The values as integers of the same bits; complex ones as two."""
    leaves = []
    for x in values:
        dtype = typeof(x).dtype
        if is_complex(dtype):
            leaves += [_bits(real(stop_gradient(x))), _bits(imag(stop_gradient(x)))]
        else:
            leaves.append(_bits(stop_gradient(x)) if is_float(dtype) else x)
    return leaves


def _bits(x: Any) -> Any:
    word = _WORDS.get(bit_width(typeof(x).dtype))
    return x if word is None else bitcast_convert_type(x, dtype=word)


def stored_types(site: Site) -> list[ShapedArray]:
    """The types of what is stored for a site: in a batch, first which lanes failed."""
    types: list[ShapedArray] = [ShapedArray(site.lanes, bool_)] if site.lanes else []
    for t in site.types:
        shape = (*site.lanes, *t.shape)
        if is_complex(t.dtype):
            types += [_word_type(shape, real_dtype(t.dtype))] * 2
        else:
            types.append(_word_type(shape, t.dtype))
    return types


def _word_type(shape: tuple[int, ...], dtype: Any) -> ShapedArray:
    word = _WORDS.get(bit_width(dtype)) if is_float(dtype) else None
    return ShapedArray(shape, dtype if word is None else word)
