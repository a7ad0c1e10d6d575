"""Kinds of steps that go through other domains and come back: complex numbers, bits, windows."""

from __future__ import annotations

from typing import Final

import numpy as np
from hypothesis import strategies as st

from effax.effects.rows import (
    comparison,
    contraction,
    conversion,
    convolution,
    elementwise,
    fourier,
    linalg,
    logical,
    random,
    reduction,
    shape,
    sorting,
    transcendental,
    window,
)
from effax.effects.rows import complex as complex_effects
from effax.effects.types import bool_, int32, uint32
from effax.laws.builder import LARGEST, Builder, Known

_integers = st.integers


def through_complex(b: Builder) -> None:
    """A complex number made of two floats, a function of it, and one of its parts."""
    x = b.a_float()
    if x is None:
        return
    x = b.small(x, 2.0)
    y = b.small(b.draw(st.sampled_from(b.of(lambda k: k.type is x.type))), 2.0)
    z = b.perform(complex_effects.complex, x, y, bound=4.0)
    for _ in range(b.draw(_integers(1, 2))):
        z = b.draw(st.sampled_from((_conj, _square, _sine, _exponential)))(b, z)
    part = b.draw(st.sampled_from((complex_effects.real, complex_effects.imag)))
    b.perform(part, z, bound=1e3)


def _conj(b: Builder, z: object) -> object:
    return b.perform(complex_effects.conj, z, bound=4.0)  # type: ignore[arg-type]


def _square(b: Builder, z: object) -> object:
    squared = b.perform(elementwise.mul, z, z)  # type: ignore[arg-type]
    return b.perform(elementwise.mul, squared, 0.25, bound=2.0)


def _sine(b: Builder, z: object) -> object:
    small = b.perform(elementwise.mul, z, 0.25)  # type: ignore[arg-type]
    return b.perform(transcendental.sin, small, bound=2.0)


def _exponential(b: Builder, z: object) -> object:
    small = b.perform(elementwise.mul, z, 0.25)  # type: ignore[arg-type]
    return b.perform(transcendental.exp, small, bound=2.0)


def through_bits(b: Builder) -> None:
    """Random bits with an integer of the program for a counter, as a float in [0, 1)."""
    i = b.pick(lambda k: k.type.dtype == int32)
    if i is None:
        return
    counter = b.perform(conversion.convert_element_type, i, dtype=uint32)
    key = b.perform(elementwise.mul, counter, 0)
    bits, _ = b.perform(random.threefry2x32, key, key, counter, counter)
    upper = b.perform(
        logical.shift_right_logical,
        bits,
        b.perform(shape.broadcast_in_dim, np.uint32(8), shape=i.shape, dims=()),
    )
    whole = b.perform(conversion.convert_element_type, upper, dtype=b.float)
    b.perform(elementwise.mul, whole, 2.0**-24, bound=1.0)


def window_fold(b: Builder) -> None:
    """A fold over a sliding window."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    n = len(x.shape)
    sizes = tuple(b.draw(_integers(1, m)) for m in x.shape)
    effect = b.draw(st.sampled_from((window.reduce_window_sum, window.reduce_window_max)))
    padded = effect is window.reduce_window_sum
    b.perform(
        effect,
        x,
        window_dimensions=sizes,
        window_strides=tuple(b.draw(_integers(1, 2)) for _ in range(n)),
        padding=tuple((b.draw(_integers(0, 1)), 0) if padded else (0, 0) for _ in range(n)),
        base_dilation=(1,) * n,
        window_dilation=(1,) * n,
        bound=9 * x.bound,
    )


def convolve(b: Builder) -> None:
    """A convolution of one vector with another."""
    dtype = b.float

    def is_vector(k: Known) -> bool:
        return k.type.dtype == dtype and len(k.shape) == 1 and k.type.size > 0

    x, y = b.pick(is_vector), b.pick(is_vector)
    if x is None or y is None or y.shape[0] > x.shape[0] + 1 or x.shape[0] + 2 > LARGEST:
        return
    x, y = b.small(x), b.small(y)
    axes = (0, 1, 2)
    b.perform(
        convolution.conv_general_dilated,
        b.perform(shape.reshape, x, shape=(1, 1, *x.shape), bound=x.bound),
        b.perform(shape.reshape, y, shape=(1, 1, *y.shape), bound=y.bound),
        window_strides=(b.draw(_integers(1, 2)),),
        padding=((1, b.draw(_integers(0, 1))),),
        lhs_dilation=(b.draw(_integers(1, 2)),),
        rhs_dilation=(1,),
        dimension_numbers=convolution.ConvDimensionNumbers(axes, axes, axes),
        feature_group_count=1,
        batch_group_count=1,
        precision=None,
        preferred_element_type=None,
        bound=3 * x.bound * y.bound,
    )


def largest(b: Builder) -> None:
    """The largest elements, and where they are."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    axis = len(x.shape) - 1
    b.perform(sorting.top_k, x, k=b.draw(_integers(1, x.shape[axis])), axis=axis, bound=x.bound)


def every(b: Builder) -> None:
    """Whether all, or any, of some Booleans hold."""
    p = b.pick(lambda k: k.type.dtype == bool_ and len(k.shape) > 0)
    if p is not None:
        effect = b.draw(st.sampled_from((reduction.reduce_and, reduction.reduce_or)))
        b.perform(effect, p, axes=tuple(range(len(p.shape))))


def factor(b: Builder) -> None:
    """A positive definite matrix made of a vector, its Cholesky factor, and a system with it."""
    x = b.a_float()
    if x is None or not 0 < x.type.size <= 4:
        return
    n = x.type.size
    v = b.perform(shape.reshape, b.small(x, 2.0), shape=(n, 1), bound=2.0)
    outer = b.perform(
        contraction.dot_general,
        v,
        v,
        dimension_numbers=(((1,), (1,)), ((), ())),
        precision=None,
        preferred_element_type=None,
        bound=4.0,
    )
    rows, columns = (b.perform(shape.iota, dtype=int32, shape=(n, n), dimension=i) for i in (0, 1))
    diagonal = b.perform(comparison.eq, rows, columns)
    unit = b.perform(conversion.convert_element_type, diagonal, dtype=b.float)
    matrix = b.perform(elementwise.add, outer, unit, bound=5.0)
    triangle = b.perform(linalg.cholesky, matrix, bound=3.0)
    if b.draw(st.booleans()):
        b.perform(
            linalg.triangular_solve,
            triangle,
            v,
            left_side=True,
            lower=True,
            transpose_a=b.draw(st.booleans()),
            conjugate_a=False,
            unit_diagonal=False,
            bound=20.0,
        )


def transform(b: Builder) -> None:
    """A Fourier transform along the last axis, there or back, and one of its parts."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    x = b.small(x, 2.0)
    y = b.small(b.draw(st.sampled_from(b.of_type(x.type))), 2.0)
    z = b.perform(complex_effects.complex, x, y, bound=3.0)
    kind = b.draw(st.sampled_from(("FFT", "IFFT")))
    z = b.perform(fourier.fft, z, fft_type=kind, fft_lengths=x.shape[-1:], bound=9.0)
    part = b.draw(st.sampled_from((complex_effects.real, complex_effects.imag)))
    b.perform(part, z, bound=9.0)


COMPOSITE: Final = (
    through_complex,
    through_bits,
    window_fold,
    convolve,
    largest,
    every,
    factor,
    transform,
)
"""These kinds, as often as they are to be drawn."""
