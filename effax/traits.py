"""Effects by what is true of them: families of rules that an interpreter gives once.

    Interval.leafwise(*traits.structural, *traits.increasing)

Each trait is a tuple of effects; the union of two traits is their sum. What a trait says holds on
the whole of each effect's domain.
"""

from __future__ import annotations

from typing import Final

from effax.effects.effect import Effect
from effax.effects.rows import (
    comparison,
    complex,
    contraction,
    conversion,
    convolution,
    cumulative,
    elementwise,
    fourier,
    indexing,
    logical,
    naming,
    reduction,
    selection,
    shape,
    sorting,
    special,
    transcendental,
    window,
)
from effax.interpreters.composites import calculus
from effax.interpreters.composites import definitions as _definitions  # noqa: F401  fills the functor
from effax.interpreters.composites import factorings as _factorings  # noqa: F401  fills the functor
from effax.interpreters.functor import written_out

__all__ = [
    "accumulating",
    "along",
    "bilinear",
    "comparing",
    "composite",
    "decreasing",
    "discrete",
    "elementwise_increasing",
    "extremal",
    "flat",
    "homogeneous",
    "increasing",
    "indexed",
    "linear",
    "partials",
    "pointwise",
    "rearranging",
    "scale_free",
    "structural",
]
__dir__ = __all__.copy

Trait = tuple[Effect, ...]

partials: Final = calculus.partials
"""The derivative of each elementary function by each of its operands; `along` applies it."""
along: Final = calculus.along
"""`along(effect, i, tangent, ans, operands, attributes)`: how the result `ans` moves as operand i
moves by `tangent`; None where it does not."""

rearranging: Final[Trait] = (
    shape.broadcast_in_dim,
    shape.reshape,
    shape.transpose,
    shape.concatenate,
    shape.pad,
    shape.rev,
    shape.slice,
    elementwise.copy,
    elementwise.stop_gradient,
    naming.named,
    naming.annotated,
)
"""Elements are moved, to places that attributes alone say."""

indexed: Final[Trait] = (
    indexing.gather,
    indexing.scatter,
    indexing.dynamic_slice,
    indexing.dynamic_update_slice,
)
"""Elements are moved, to places that integer operands say."""

accumulating: Final[Trait] = (
    indexing.scatter_add,
    indexing.scatter_mul,
    indexing.scatter_min,
    indexing.scatter_max,
)
"""Updates are combined with what is at the places that the integer operand says."""

structural: Final[Trait] = (*rearranging, *indexed, selection.select_n)
"""Each element of the result is an element of an operand: elements are moved, not computed."""

elementwise_increasing: Final[Trait] = (
    elementwise.sqrt,
    elementwise.cbrt,
    elementwise.floor,
    elementwise.ceil,
    elementwise.round,
    elementwise.sign,
    transcendental.exp,
    transcendental.exp2,
    transcendental.expm1,
    transcendental.log,
    transcendental.log1p,
    transcendental.logistic,
    transcendental.asin,
    transcendental.atan,
    transcendental.sinh,
    transcendental.tanh,
    transcendental.asinh,
    transcendental.acosh,
    transcendental.atanh,
    special.erf,
    special.erf_inv,
)
"""Functions of one number that grow with it."""

increasing: Final[Trait] = (
    *elementwise_increasing,
    elementwise.add,
    elementwise.max,
    elementwise.min,
    transcendental.logaddexp,
    selection.clamp,
    reduction.reduce_sum,
    reduction.reduce_max,
    reduction.reduce_min,
    cumulative.cumsum,
    cumulative.cummax,
    cumulative.cummin,
    cumulative.cumlogsumexp,
    conversion.convert_element_type,
    conversion.reduce_precision,
)
"""Effects that grow with each of their operands: bounds of operands give bounds of the result."""

extremal: Final[Trait] = (
    elementwise.max,
    elementwise.min,
    reduction.reduce_max,
    reduction.reduce_min,
    cumulative.cummax,
    cumulative.cummin,
    window.reduce_window_max,
    window.reduce_window_min,
)
"""Effects whose results are the largest, or the smallest, of some elements."""

decreasing: Final[Trait] = (
    elementwise.neg,
    elementwise.rsqrt,
    transcendental.acos,
    special.erfc,
)
"""Functions of one number that fall as it grows."""

linear: Final[Trait] = (
    *rearranging[:7],
    elementwise.add,
    elementwise.sub,
    elementwise.neg,
    elementwise.copy,
    reduction.reduce_sum,
    cumulative.cumsum,
    conversion.convert_element_type,
)
"""Effects linear in all their operands taken together."""

bilinear: Final[Trait] = (
    elementwise.mul,
    contraction.dot_general,
    convolution.conv_general_dilated,
)
"""Effects linear in each of their two operands."""

comparing: Final[Trait] = (
    comparison.eq,
    comparison.ne,
    comparison.lt,
    comparison.le,
    comparison.gt,
    comparison.ge,
    comparison.eq_to,
    comparison.lt_to,
    comparison.le_to,
    elementwise.is_finite,
)
"""Effects that answer yes or no, element by element."""

discrete: Final[Trait] = (
    *comparing,
    logical.and_,
    logical.or_,
    logical.xor,
    logical.not_,
    reduction.reduce_and,
    reduction.reduce_or,
    reduction.argmax,
    reduction.argmin,
)
"""Effects whose results do not move with small changes of their operands."""

pointwise: Final[Trait] = (
    *calculus.partials,
    *comparing,
    *(logical.and_, logical.or_, logical.xor, logical.not_),
    *(logical.shift_left, logical.shift_right_logical, logical.shift_right_arithmetic),
    *(logical.population_count, logical.clz),
    *(complex.real, complex.imag, complex.conj, complex.complex),
    selection.select_n,
    selection.clamp,
    conversion.convert_element_type,
    conversion.reduce_precision,
    naming.named,
    naming.annotated,
)
"""Element i of the result depends on element i of each operand (a scalar's only one), and on no
other; those among `calculus.partials` have a derivative there."""

flat: Final[Trait] = (
    *discrete,
    *(e for e, parts in calculus.partials.items() if all(p == 0.0 for p in parts)),
)
"""Effects whose derivative is zero wherever they have one: steps, and what stops gradients."""

composite: Final[Trait] = tuple(e for e in written_out.expansions if e.first_order)
"""Effects that are written out in terms of simpler ones, for interpreters without a rule."""

scale_free: Final[Trait] = (
    *comparing,
    transcendental.atan2,
    elementwise.sign,
    reduction.argmax,
    reduction.argmin,
)
"""Effects whose result stays the same when all operands are multiplied by a positive number."""

homogeneous: Final[Trait] = tuple(
    dict.fromkeys(
        (
            *linear,
            *structural,
            *extremal,
            *(complex.real, complex.imag, complex.conj, complex.complex),
            *(indexing.scatter_add, indexing.scatter_min, indexing.scatter_max),
            *(elementwise.rem, selection.clamp, sorting.sort, sorting.top_k, fourier.fft),
            *(window.reduce_window_sum, window.select_and_gather_add),
        )
    )
)
"""Effects whose floating results are multiplied by a positive number when all floating operands
are; `rearranging` and indices apart, these are the ones that add, compare or choose. Conversions
among them are to floating types."""
