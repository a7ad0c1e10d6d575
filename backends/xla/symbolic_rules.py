"""The effects that can be written for symbolic lengths; all others are refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from effax.backends.xla import symbolic
from effax.backends.xla.lowering.writer import Name, Writer, rule_of
from effax.effects.effect import Effect
from effax.effects.errors import SymbolicShapeError
from effax.effects.facts import POINTWISE
from effax.effects.frames import describe
from effax.effects.program import Equation
from effax.effects.rows import (
    collective,
    condensed,
    contraction,
    control,
    conversion,
    convolution,
    cumulative,
    custom,
    foreign,
    fourier,
    indexing,
    linalg,
    random,
    reduction,
    selection,
    shape,
    sharding,
    solving,
    sorting,
    window,
)
from effax.effects.types import ShapedArray
from effax.effects.value import is_symbolic_length

_AS_EVER: Final = frozenset(
    {
        *(contraction.dot_general, conversion.convert_element_type, conversion.reduce_precision),
        *(control.call, control.remat, control.cond, control.while_loop, control.scan),
        *(cumulative.cumsum, cumulative.cumprod, cumulative.cummax, cumulative.cummin),
        *(
            convolution.conv_general_dilated,
            cumulative.cumlogsumexp,
            window.reduce_window,
            window.reduce_window_sum,
        ),
        *(window.reduce_window_max, window.reduce_window_min),
        *(custom.custom_jvp_call, custom.custom_vjp_call, custom.custom_vjp_forward),
        *(indexing.gather, indexing.dynamic_slice, indexing.dynamic_update_slice),
        *(indexing.scatter, indexing.scatter_add, indexing.scatter_mul),
        *(indexing.scatter_min, indexing.scatter_max),
        *(reduction.reduce_sum, reduction.reduce_prod, reduction.reduce_max, reduction.reduce_min),
        *(reduction.reduce_and, reduction.reduce_or, reduction.reduce_xor, reduction.reduce),
        *(reduction.argmax, reduction.argmin, selection.select_n, selection.clamp, sorting.sort),
        *(shape.transpose, shape.concatenate, shape.rev, shape.dimension_as_value),
        *(linalg.cholesky, linalg.triangular_solve, linalg.lu, linalg.pivots_to_permutation),
        *(linalg.qr, linalg.eigh, linalg.svd, linalg.eig, condensed.reflections, condensed.schur),
        *(solving.linear_solve, random.threefry2x32, foreign.exported_call),
        *(sharding.with_sharding_constraint, sharding.reshard, sharding.opened, sharding.shard_map),
        *(collective.psum, collective.pmax, collective.pmin, collective.ppermute, collective.pvary),
        *(collective.all_gather, collective.reduce_scatter, collective.all_to_all),
    }
)
"""Effects whose ordinary rules are right for symbolic lengths too."""

_WITH_NUMBERS: Final = frozenset(
    {
        *(window.select_and_gather_add,),
        *(window.select_and_scatter_add, sorting.top_k, fourier.fft),
    }
)
"""Effects whose ordinary rules are right as long as no attribute (a padding) is symbolic."""


def _broadcast_in_dim(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, shape: Any, dims: tuple[int, ...]
) -> Name:
    return symbolic.broadcast(w, x, types[0], dims)


def _reshape(w: Writer, types: Sequence[ShapedArray], x: Name, *, shape: Any) -> Name:
    return symbolic.reshape(w, x, types[0])


def _iota(w: Writer, types: Sequence[ShapedArray], *, dimension: int, **_: Any) -> Name:
    return symbolic.iota(w, dimension, types[0])


def _slice(
    w: Writer, types: Sequence[ShapedArray], x: Name, *, start: Any, limit: Any, strides: Any = None
) -> Name:
    steps = strides or (1,) * len(start)
    bounds = [symbolic.vector(w, numbers) for numbers in (start, limit, steps)]
    return w.simple("real_dynamic_slice", [x, *bounds], types[0])


def _pad(w: Writer, types: Sequence[ShapedArray], x: Name, value: Name, *, config: Any) -> Name:
    parts = [symbolic.vector(w, [c[i] for c in config]) for i in range(3)]
    return w.simple("dynamic_pad", [x, value, *parts], types[0])


_DYNAMIC: Final[dict[Effect, Callable[..., Any]]] = {
    shape.broadcast_in_dim: _broadcast_in_dim,
    shape.iota: _iota,
    shape.pad: _pad,
    shape.reshape: _reshape,
    shape.slice: _slice,
}
"""Effects that are written by another operation, which takes lengths as operands."""


def rule_for(e: Equation) -> Callable[..., Any] | None:
    """Return the rule of an equation in a module with symbolic lengths.

    Raises `SymbolicShapeError` where its effect can't be written for them.
    """
    effect = e.effect
    plain = rule_of(effect)
    lengths = [n for x in (*e.inputs, *e.outputs) for n in x.type.shape if is_symbolic_length(n)]
    inside = [*_lengths_in(e.attributes.values())]
    if not lengths and not inside:
        return plain
    found = _DYNAMIC.get(effect)
    if found is not None:
        return found
    wanted = effect in _AS_EVER or bool(effect.facts & POINTWISE)
    if effect is conversion.bitcast_convert_type:  # the refinement knows no other shapes
        wanted = e.inputs[0].type.shape == e.outputs[0].type.shape
    if wanted or (effect in _WITH_NUMBERS and not inside):
        return plain
    raise _refused(e, [*inside, *lengths][0])


def _lengths_in(values: Any) -> Iterator[Any]:
    """Yield the symbolic lengths among attributes, in tuples too; programs have their own."""
    for x in values:
        if is_symbolic_length(x):
            yield x
        elif isinstance(x, tuple):
            yield from _lengths_in(x)


def _refused(e: Equation, length: Any) -> SymbolicShapeError:
    types = ", ".join([x.type.str_short() for x in e.inputs])
    return SymbolicShapeError(
        f"export: the effect {e.effect}, performed on ({types}) at {describe(e.frame)}, can't be "
        f"exported for the symbolic length {length}; export the function at fixed sizes, once for "
        "each that it will meet (or pad to the largest, and mask)"
    )
