"""Kinds of steps that are asked by themselves only: each performs one effect on what floats give.

Whole programs don't draw them: some round, some jump wherever their operands move, and the matrices
of others are large. In programs of one effect every effect with a rule is to be met.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from effax.effects.effect import Effect
from effax.effects.rows import (
    comparison,
    condensed,
    contraction,
    conversion,
    cumulative,
    elementwise,
    indexing,
    linalg,
    logical,
    naming,
    random,
    reduction,
    selection,
    shape,
    special,
    window,
)
from effax.effects.rows.accuracy import Tolerance, accurate
from effax.effects.types import float64, int32, int64, uint32
from effax.laws.builder import Builder, Known

_N: Final = 2
"""The rows and columns of the matrices."""


def _peer(b: Builder, x: Known) -> Known:
    """Another float of the type of one."""
    return b.small(b.draw(st.sampled_from(b.of_type(x.type))))


def _whole(b: Builder, x: Known) -> Known:
    """An integer made of a float."""
    more = b.perform(elementwise.mul, x, 3.0, bound=12.0)
    found: Known = b.perform(conversion.convert_element_type, more, dtype=int32, bound=12.0)
    return found


def _truth(b: Builder, x: Known) -> Known:
    """Whether a float is more than a number."""
    found: Known = b.perform(comparison.gt, x, b.draw(st.sampled_from((-0.4, 0.1, 0.7))))
    return found


def of_bits(b: Builder) -> None:
    """The logic of Booleans, and of the bits of integers; counts of these."""
    x = b.a_float()
    if x is None:
        return
    make = b.draw(st.sampled_from((_truth, _whole)))
    counting = (logical.population_count, logical.clz) if make is _whole else ()
    one = (logical.not_, *counting)
    effect = b.draw(st.sampled_from((logical.and_, logical.or_, logical.xor, *one)))
    p = make(b, x)
    if effect in one:
        b.perform(effect, p)
    else:
        b.perform(effect, p, make(b, _peer(b, x)))


def shifted_bits(b: Builder) -> None:
    """The bits of an integer, moved to the left or to the right."""
    x = b.a_float()
    if x is None:
        return
    by = b.perform(selection.clamp, 0, _whole(b, _peer(b, x)), 5)
    shifts = (
        logical.shift_left,
        logical.shift_right_logical,
        logical.shift_right_arithmetic,
    )
    b.perform(b.draw(st.sampled_from(shifts)), _whole(b, x), by)


def of_many(b: Builder) -> None:
    """Of Booleans whether all, some or an odd number hold; of floats the least, and its place."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    axis = b.draw(st.integers(0, len(x.shape) - 1))
    logic = (reduction.reduce_and, reduction.reduce_or, reduction.reduce_xor)
    effect = b.draw(st.sampled_from((*logic, reduction.argmin, cumulative.cummin)))
    if effect in logic:
        b.perform(effect, _truth(b, x), axes=(axis,))
    elif effect is reduction.argmin:
        b.perform(effect, x, axis=axis, index_dtype=np.dtype(np.int32))
    else:
        b.perform(effect, x, axis=axis, reverse=b.draw(st.booleans()), bound=x.bound)


def of_elements(b: Builder) -> None:
    """Remainders, the next number, what derivatives do not see."""
    x = b.a_float()
    if x is None:
        return
    y = b.within(_peer(b, x), "positive")
    wide = b.float == float64
    bits = {"exponent_bits": 11 if wide else 8, "mantissa_bits": 52 if wide else 23}
    word = int64 if wide else int32
    steps: list[Callable[[], Any]] = [
        lambda: b.perform(elementwise.rem, x, y, bound=y.bound),
        lambda: b.perform(elementwise.nextafter, x, y, bound=x.bound),
        lambda: b.perform(elementwise.stop_gradient, x, bound=x.bound),
        lambda: b.perform(conversion.reduce_precision, x, **bits, bound=x.bound),
        lambda: b.perform(conversion.bitcast_convert_type, x, dtype=word),
        lambda: b.perform(
            accurate, x, function="exp", accuracy=Tolerance(1e-3, 1e-3, 0), bound=60.0
        ),
    ]
    b.draw(st.sampled_from(steps))()


def widened(b: Builder) -> None:
    """A float as one of 64 bits, which it may be: nothing is lost, as differences would see."""
    x = b.a_float()
    if x is not None:
        b.perform(conversion.convert_element_type, x, dtype=float64, bound=x.bound)


def of_parameters(b: Builder) -> None:
    """Special functions that are differentiable in one operand; numbers stand for the others."""
    x = b.a_float()
    if x is None:
        return

    def number(value: float) -> Known:
        scalar = shape.scalar(value, b.float)
        found: Known = b.perform(
            shape.broadcast_in_dim, scalar, shape=x.shape, dims=(), bound=value
        )
        return found

    betas = (
        special.regularized_incomplete_beta,
        special.regularized_incomplete_betac,
        special.beta_density,
    )
    steps: list[Callable[[], Any]] = [
        lambda: b.perform(special.polygamma, number(1.0), b.within(x, "positive"), bound=20.0),
        lambda: b.perform(special.zeta, number(2.5), b.within(x, "positive"), bound=40.0),
        lambda: b.perform(
            b.draw(st.sampled_from(betas)),
            number(1.5),
            number(0.7),
            b.within(x, "inner"),
            bound=5.0,
        ),
        lambda: b.perform(special.igamma_grad_a, number(1.5), b.within(x, "positive"), bound=5.0),
        lambda: b.perform(
            special.random_gamma_grad, number(1.5), b.within(x, "positive"), bound=5.0
        ),
    ]
    b.draw(st.sampled_from(steps))()


def scattered(b: Builder) -> None:
    """Rows that replace, multiply or bound other rows, each of these once."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    x = b.small(x, 2.0)
    n = b.draw(st.integers(1, x.shape[0]))
    rows = b.perform(shape.iota, dtype=int32, shape=(n, 1), dimension=0, bound=n)
    if b.draw(st.booleans()):
        rows = b.perform(elementwise.sub, x.shape[0] - 1, rows, bound=n)
    update = x.type.update(shape=(n, *x.shape[1:]))
    y = b.small(b.fitted(b.draw(st.sampled_from(b.of_type(x.type))), update), 2.0)
    replacing = (indexing.scatter, indexing.scatter_mul, indexing.scatter_min, indexing.scatter_max)
    b.perform(
        b.draw(st.sampled_from(replacing)),
        x,
        rows,
        y,
        dimension_numbers=indexing.ScatterDimensionNumbers(
            tuple(range(1, len(x.shape))), (0,), (0,)
        ),
        mode=indexing.GatherScatterMode.FILL_OR_DROP,
        indices_are_sorted=False,
        unique_indices=True,
        bound=4.0,
    )


def _scalar(b: Builder, x: Known) -> Known:
    """A number of small size made of all elements."""
    return b.small(b.fitted(x, x.type.update(shape=())), 1.0)


def _matrix(b: Builder, x: Known, symmetric: bool) -> Known:
    """A matrix that two floats move, with eigenvalues apart, and far from singular."""
    square = (_N, _N)

    def spread(k: Known) -> Known:
        found: Known = b.perform(shape.broadcast_in_dim, k, shape=square, dims=(), bound=k.bound)
        return found

    def plus(k: Known, other: Any) -> Known:
        found: Known = b.perform(elementwise.add, k, other, bound=9.0)
        return found

    def times(k: Known, other: Any) -> Known:
        found: Known = b.perform(elementwise.mul, k, other, bound=9.0)
        return found

    rows, columns = (
        b.perform(shape.iota, dtype=b.float, shape=square, dimension=i, bound=2.0) for i in (0, 1)
    )
    unit = b.perform(
        conversion.convert_element_type, b.perform(comparison.eq, rows, columns), dtype=b.float
    )
    base = plus(times(times(unit, plus(rows, 1.0)), 3.0), times(plus(rows, columns), 0.5))
    if not symmetric:
        base = plus(base, times(columns, 0.4))
    one, other = (spread(_scalar(b, k)) for k in (x, _peer(b, x)))
    moved = plus(times(one, plus(times(rows, columns), 1.0)), times(other, unit))
    return plus(base, times(moved, 0.2))


_FACTORS: Final[dict[Effect, dict[str, Any]]] = {
    linalg.eigh: {"lower": True},
    condensed.tridiagonal: {"lower": True},
    linalg.lu: {},
    linalg.qr: {"full_matrices": False},
    linalg.svd: {"full_matrices": False, "compute_uv": True},
    linalg.eig: {"compute_left": False, "compute_right": False},
    condensed.schur: {"compute_vectors": True},
    condensed.hessenberg: {},
    condensed.reflections: {},
    condensed.pivoted_qr: {"full_matrices": False},
}


def factored(b: Builder, effects: tuple[Effect, ...]) -> None:
    """Factors, eigenvalues or a condensed form of a matrix, by one of some effects."""
    x = b.a_float()
    if x is None or not x.type.size:
        return
    effect = b.draw(st.sampled_from(effects))
    matrix = _matrix(b, x, effect in (linalg.eigh, condensed.tridiagonal))
    b.perform(effect, matrix, **_FACTORS[effect], bound=20.0)


def permuted(b: Builder) -> None:
    """The order of the rows after a factorization."""
    x = b.a_float()
    if x is not None and x.type.size:
        pivots = b.perform(linalg.lu, _matrix(b, x, False), bound=20.0)[1]
        b.perform(linalg.pivots_to_permutation, pivots, size=_N)


def tridiagonal_system(b: Builder) -> None:
    """A system whose matrix has three diagonals."""
    x = b.a_float(1)
    if x is None or x.shape[-1] < 2:
        return
    x = b.small(x, 1.0)
    y = b.small(b.draw(st.sampled_from(b.of_type(x.type))), 1.0)
    diagonal = b.perform(elementwise.add, y, 4.0, bound=5.0)
    side = b.perform(shape.reshape, x, shape=(*x.shape, 1), bound=1.0)
    b.perform(condensed.tridiagonal_solve, x, diagonal, y, side, perturb_singular=False, bound=1.0)


def windows(b: Builder) -> None:
    """The least of each window, what belongs to it, and the way back."""
    x = b.a_float(1)
    if x is None or not x.type.size:
        return
    n = len(x.shape)
    sizes = tuple(b.draw(st.integers(1, m)) for m in x.shape)
    common: dict[str, Any] = {
        "window_dimensions": sizes,
        "window_strides": (1,) * n,
        "padding": ((0, 0),) * n,
    }
    dilated = {**common, "base_dilation": (1,) * n, "window_dilation": (1,) * n}
    select = b.draw(st.sampled_from(("ge", "le")))
    y = _peer(b, x)
    least = b.perform(window.reduce_window_min, x, **dilated, bound=x.bound)
    which = b.draw(st.sampled_from((0, 1, 2)))
    if which == 1:
        b.perform(window.select_and_gather_add, y, x, select=select, **dilated, bound=y.bound)
    elif which == 2:
        b.perform(window.select_and_scatter_add, least, x, select=select, **common, bound=9.0)


def grouped(b: Builder) -> None:
    """Groups of rows, each times a vector of its own, or summed with those of another matrix."""
    x = b.a_float(1)
    if x is None or not 0 < x.type.size <= 6:
        return
    y = _peer(b, x)
    rows = x.shape[0]
    x, y = (
        b.perform(shape.reshape, k, shape=(rows, k.type.size // rows), bound=k.bound)
        for k in (x, y)
    )
    most = b.perform(reduction.reduce_max, y, axes=(1,), bound=y.bound)
    sizes = b.perform(selection.clamp, 0, _whole(b, most), 2)
    summed = b.draw(st.booleans())
    if not summed:
        y = b.perform(shape.reshape, y, shape=(*y.shape, 1), bound=y.bound)
    b.perform(
        contraction.ragged_dot_general,
        x,
        y,
        sizes,
        dimension_numbers=(((0,), (0,)) if summed else ((1,), (1,)), ((), ())),
        ragged=0,
        group=() if summed else (0,),
        precision=None,
        preferred_element_type=None,
        bound=x.type.size * x.bound * y.bound,
    )


def random_bits(b: Builder) -> None:
    """Enciphered counters, and the words of keys."""
    x = b.a_float()
    if x is None:
        return
    whole = _whole(b, x)
    # XLA treats a negative integer converted from a float as itself, even in an unsigned type.
    positive = b.perform(elementwise.mul, whole, whole)
    words = b.perform(conversion.convert_element_type, positive, dtype=uint32)
    if b.draw(st.booleans()):
        b.perform(random.threefry2x32, words, words, words, words)
    else:
        use = b.draw(st.sampled_from(("fold_in", "new")))
        b.perform(random.use_key, words, use=use)


def named(b: Builder) -> None:
    """A value under a name."""
    x = b.a_float()
    if x is not None:
        b.perform(naming.named, x, name="drawn", bound=x.bound)


ALONE: Final[tuple[Callable[[Builder], Any], ...]] = (
    of_bits,
    shifted_bits,
    of_many,
    of_elements,
    of_parameters,
    scattered,
    *(partial(factored, effects=tuple(_FACTORS)[i::4]) for i in range(4)),
    permuted,
    tridiagonal_system,
    windows,
    grouped,
    random_bits,
    named,
    widened,
)
"""These kinds; each is for the effects that it ends with."""
