"""Folds in `lax`: reductions, cumulative ones, windows; and what puts elements in order."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from effax.api.placing.output_sharding import placed
from effax.backends.xla.array import Array as Concrete
from effax.eager.whole import whole
from effax.effects.effect import Effect
from effax.effects.rows import cumulative, reduction, sorting, transcendental, window
from effax.effects.tree import tree_flatten, tree_unflatten
from effax.effects.types import is_complex, is_float, typeof, user_dtype
from effax.effects.value import Array, ArrayLike, DTypeLike, NumPyArray, OutSharding
from effax.interpreters.stage import stage
from effax.lax import operators
from effax.lax.conversion import convert_element_type
from effax.lax.shapes import axis_of
from effax.operands.arguments import broadcast, known_index, strong

if TYPE_CHECKING:
    from effax.api.compiling.function_types import Cumulation, Position, Reduction


def _named(
    function: Callable[..., Any], name: str, meaning: str, arguments: str, example: str
) -> None:
    function.__name__ = function.__qualname__ = name
    call, _, answer = example.partition(" -> ")
    function.__doc__ = (
        f"{meaning}\n\n    Args:{arguments}\n\n"
        "    >>> import effax.lax as lax, effax.numpy as jnp\n"
        f"    >>> {call}\n    {answer}\n    "
    )


_REDUCTION_ARGUMENTS = """
      operand: array_like{kind}.
      axes: the axes to reduce over, counted from the front.
      out_sharding: the sharding of the result, or its spec over the mesh in context."""
_POSITION_ARGUMENTS = """
      operand: array_like of Booleans, integers or floats.
      axis: the axis to search, counted from the front.
      index_dtype: the dtype of the result, an integer type."""
_CUMULATION_ARGUMENTS = """
      operand: array_like.
      axis: the axis to accumulate along, counted from the front.
      reverse: whether to accumulate from the last element to the first."""


def from_front(axis: Any, ndim: int) -> int:
    """An axis that is counted from the front already.

    Raises `ValueError` where there is none, for negative ones too, as XLA's operations do.
    """
    if not 0 <= python_operator.index(axis) < ndim:
        raise ValueError(
            f"Invalid axis {axis} for operand of rank {ndim}: lax counts axes from the front"
        )
    return python_operator.index(axis)


# Reductions whose results are not weak, as in JAX.
_STRONG = {"reduce_and", "reduce_or", "reduce_xor"}


def _reduction(name: str, effect: Effect, meaning: str, example: str) -> Reduction:
    @placed
    def reduction_over(
        operand: ArrayLike, axes: Sequence[int], *, out_sharding: OutSharding = None
    ) -> Array:
        ndim = typeof(operand).ndim
        found = tuple(from_front(a, ndim) for a in axes)
        if len({*found}) != len(found):
            raise ValueError(f"lax.{name}: the axes must not repeat, got {found}")
        result = effect(operand, axes=found)
        return strong(result) if effect.name in _STRONG else result

    kind = " of Booleans or integers" if effect.name in _STRONG else ""
    _named(reduction_over, name, meaning, _REDUCTION_ARGUMENTS.format(kind=kind), example)
    return reduction_over


_X = "jnp.arange(4)"
_ARRAY = "dtype=int32)"
reduce_sum = _reduction(
    "reduce_sum",
    reduction.reduce_sum,
    "Return the sum over some axes.",
    f"lax.reduce_sum({_X}, (0,)) -> Array(6, {_ARRAY}",
)
reduce_prod = _reduction(
    "reduce_prod",
    reduction.reduce_prod,
    "Return the product over some axes.",
    f"lax.reduce_prod({_X}, (0,)) -> Array(0, {_ARRAY}",
)
reduce_max = _reduction(
    "reduce_max",
    reduction.reduce_max,
    "Return the largest element over some axes; NaN where there is one.",
    f"lax.reduce_max({_X}, (0,)) -> Array(3, {_ARRAY}",
)
reduce_min = _reduction(
    "reduce_min",
    reduction.reduce_min,
    "Return the smallest element over some axes; NaN where there is one.",
    f"lax.reduce_min({_X}, (0,)) -> Array(0, {_ARRAY}",
)
reduce_and = _reduction(
    "reduce_and",
    reduction.reduce_and,
    "Return the conjunction of the elements over some axes; for integers bit by bit.",
    "bool(lax.reduce_and(jnp.array([True, False]), (0,))) -> False",
)
reduce_or = _reduction(
    "reduce_or",
    reduction.reduce_or,
    "Return the disjunction of the elements over some axes; for integers bit by bit.",
    "bool(lax.reduce_or(jnp.array([True, False]), (0,))) -> True",
)
reduce_xor = _reduction(
    "reduce_xor",
    reduction.reduce_xor,
    "Return the parity over some axes; for integers bit by bit.",
    f"lax.reduce_xor({_X}, (0,)) -> Array(0, {_ARRAY}",
)


def _position(name: str, effect: Effect, meaning: str, example: str) -> Position:
    def position(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
        dtype = user_dtype(index_dtype, name)
        return effect(operand, axis=from_front(axis, typeof(operand).ndim), index_dtype=dtype)

    _named(position, name, meaning, _POSITION_ARGUMENTS, example)
    return position


argmax = _position(
    "argmax",
    reduction.argmax,
    "Return the index of the largest element along an axis, the first of equals; NaN is largest.",
    f'lax.argmax({_X}, 0, "int32") -> Array(3, {_ARRAY}',
)
argmin = _position(
    "argmin",
    reduction.argmin,
    "Return the index of the smallest element along an axis, the first of equals; NaN is smallest.",
    f'lax.argmin({_X}, 0, "int32") -> Array(0, {_ARRAY}',
)


def _complex_sums(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    return [transcendental.logaddexp(before[0], after[0])]


def _cumulative(name: str, effect: Effect, meaning: str, example: str) -> Cumulation:
    def running(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        given = typeof(operand)
        axis = from_front(axis, given.ndim)
        if effect is cumulative.cumlogsumexp and is_complex(given.dtype):
            return cumulative.associative_scan(_complex_sums, [operand], axis, bool(reverse))[0]
        return effect(operand, axis=axis, reverse=bool(reverse))

    _named(running, name, meaning, _CUMULATION_ARGUMENTS, example)
    return running


cumsum = _cumulative(
    "cumsum",
    cumulative.cumsum,
    "Return the sum of each element and all before it, along an axis.",
    f"lax.cumsum({_X}) -> Array([0, 1, 3, 6], {_ARRAY}",
)
cumprod = _cumulative(
    "cumprod",
    cumulative.cumprod,
    "Return the product of each element and all before it, along an axis.",
    f"lax.cumprod({_X}, reverse=True) -> Array([0, 6, 6, 3], {_ARRAY}",
)
cummax = _cumulative(
    "cummax",
    cumulative.cummax,
    "Return the largest of each element and all before it, along an axis.",
    f"lax.cummax({_X}) -> Array([0, 1, 2, 3], {_ARRAY}",
)
cummin = _cumulative(
    "cummin",
    cumulative.cummin,
    "Return the smallest of each element and all before it, along an axis.",
    f"lax.cummin({_X}) -> Array([0, 0, 0, 0], {_ARRAY}",
)
cumlogsumexp = _cumulative(
    "cumlogsumexp",
    cumulative.cumlogsumexp,
    "Return the logarithm of the cumulative sum of exponentials, along an axis.",
    "lax.cumlogsumexp(jnp.zeros(1)) -> Array([0.], dtype=float32)",
)


def monoid(computation: Any, inits: Sequence[Any], dtypes: Sequence[Any], folds: Any) -> Any:
    """Return the effect that folds by one of lax's operators from its identity, or None.

    The second result says whether the initial value is that identity; for extremes, that of its
    own dtype too: -inf begins a maximum of integers, as in JAX. XLA may use the
    initial value of a fold several times (its GPU compiler does), so any other value is combined
    with the result.
    """
    if len(inits) != 1 or len(dtypes) != 1 or typeof(inits[0]).shape:
        return None, False
    # The public function may wrap the one that the table holds.
    found = folds.get(computation) or folds.get(getattr(computation, "__wrapped__", None))
    if found is None:
        return None, False
    effect, identity = found
    if is_complex(dtypes[0]) and effect in _OF_REAL_NUMBERS:
        return None, False
    init = np.asarray(inits[0]) if isinstance(inits[0], Concrete) else inits[0]
    if not _is_number(init):
        return effect, False
    own = [typeof(init).dtype] if identity in (reduction.lowest, reduction.highest) else []
    with np.errstate(over="ignore"):
        return effect, any(bool(init == identity(kind)) for kind in (dtypes[0], *own))


def _is_number(x: Any) -> bool:
    return isinstance(x, bool | int | float | complex | np.generic) or (
        isinstance(x, np.ndarray) and not x.shape
    )


_REDUCTIONS = {
    operators.add: (reduction.reduce_sum, lambda _: 0),
    operators.mul: (reduction.reduce_prod, lambda _: 1),
    operators.max: (reduction.reduce_max, reduction.lowest),
    operators.min: (reduction.reduce_min, reduction.highest),
    operators.bitwise_and: (reduction.reduce_and, lambda dtype: np.invert(np.zeros((), dtype))),
    operators.bitwise_or: (reduction.reduce_or, lambda _: 0),
    operators.bitwise_xor: (reduction.reduce_xor, lambda _: 0),
}
WINDOWS = {
    operators.add: (window.reduce_window_sum, lambda _: 0),
    operators.max: (window.reduce_window_max, reduction.lowest),
    operators.min: (window.reduce_window_min, reduction.highest),
}
_OF_REAL_NUMBERS = (window.reduce_window_max, window.reduce_window_min)


def _holds(dtype: Any, x: np.ndarray[Any, Any]) -> bool:
    """Whether numbers are the same in another dtype."""
    if is_complex(x.dtype) and not is_complex(dtype):
        return False
    with np.errstate(all="ignore"):
        return np.array_equal(x.astype(dtype), x, equal_nan=is_float(x.dtype))


def _initial(init: Any, dtype: Any) -> Any:
    """An initial value in the operand's dtype. One of another dtype must be a number that the
    operand's dtype has, as 0 is for floats; `TypeError` otherwise."""
    found = typeof(init).dtype
    if found != dtype and not (_is_number(init) and _holds(dtype, np.asarray(init))):
        raise TypeError(
            f"the initial value {init} must have the operand's dtype {dtype}, got {found}; "
            "convert it first"
        )
    return convert_element_type(init, dtype)


def folded(name: str, operands: Any, init_values: Any, computation: Any) -> tuple[Any, ...]:
    """Flat operands and initial values, the computation as a program on scalars, its tree.

    The computation may return another tree of as many leaves, as in JAX; in a `reduce_window` the
    tree must be that of the operands.
    """
    xs, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    inits = [_initial(i, typeof(x).dtype) for i, x in zip(inits, xs, strict=True)]
    scalars = [typeof(i).strong() for i in inits]
    returned: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        half = len(values) // 2
        result = computation(
            tree_unflatten(tree, values[:half]), tree_unflatten(tree, values[half:])
        )
        leaves, found = tree_flatten(result)
        returned.append(found)
        if found != tree and (name != "reduce" or len(leaves) != half):
            raise ValueError(
                f"{name} output must have the same tree structure as the operands, {tree}, but "
                f"the computation returns {found}"
            )
        return list(leaves)

    staged = stage(flat, scalars * 2, getattr(computation, "__name__", "computation"))
    if staged.captured:
        raise NotImplementedError(
            "the computation of a reduction closes over a traced value; pass that value as an "
            "operand"
        )
    return xs, inits, staged.program, returned[-1]


@placed
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    *,
    out_sharding: OutSharding = None,
) -> Any:
    """Fold some axes by an associative function whose identity is the initial value.

    Several arrays of one shape (a pytree of them) can be folded together.

    Args:
      operands: an array, or a pytree of arrays of one shape.
      init_values: the identity of `computation` for each array, a scalar; in the tree of
        `operands`.
      computation: an associative function of two scalars, or of two trees of them.
      dimensions: the axes to fold, counted from the front.
      out_sharding: the sharding of the result, or its spec over the mesh in context.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.reduce(jnp.arange(4), 0, lax.add, (0,))
    Array(6, dtype=int32)
    """
    xs, tree = tree_flatten(operands)
    axes = tuple(from_front(d, typeof(xs[0]).ndim) for d in dimensions)
    effect, from_identity = monoid(
        computation, tree_flatten(init_values)[0], [typeof(x).dtype for x in xs], _REDUCTIONS
    )
    weak = all(typeof(i).weak_type for i in tree_flatten(init_values)[0])
    if effect is not None and from_identity:
        found = [effect(xs[0], axes=axes)]
    elif effect is not None:
        xs, inits, _, tree = folded("reduce", operands, init_values, computation)
        total = effect(xs[0], axes=axes)
        found = [computation(broadcast(inits[0], typeof(total).shape), total)]
    else:
        xs, inits, body, tree = folded("reduce", operands, init_values, computation)
        found = reduction.reduce(*xs, *inits, body=body, axes=axes)
    return tree_unflatten(tree, found if weak else [strong(x) for x in found])


@overload
def sort(
    operand: NumPyArray | Array, dimension: int = ..., is_stable: bool = ..., num_keys: int = ...
) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = ..., is_stable: bool = ..., num_keys: int = ...
) -> tuple[Array, ...]: ...
def sort(
    operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Array | tuple[Array, ...]:
    """Sort an array in ascending order along an axis; a sequence of them in the order of the first.

    The first `num_keys` are compared, lexicographically. NaN comes last.

    Args:
      operand: an array, or a sequence of arrays of one shape.
      dimension: the axis to sort along; negative ones count from the end.
      is_stable: whether equal elements keep their order.
      num_keys: the number of arrays that are compared.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.sort((jnp.array([2, 1]), jnp.array([10, 20])))
    (Array([1, 2], dtype=int32), Array([20, 10], dtype=int32))
    """
    several = isinstance(operand, Sequence)
    operands = tuple(operand) if several else (operand,)
    if not operands:
        raise TypeError("Sort requires at least one operand")
    at = axis_of(dimension, typeof(operands[0]).ndim)
    done = sorting.sort(*operands, dimension=at, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(done) if several else done[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Return keys in ascending order, and values in the order of their keys.

    Args:
      keys: array_like.
      values: array_like, of the shape of `keys`.
      dimension: the axis to sort along; negative ones count from the end.
      is_stable: whether equal keys keep the order of their values.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.sort_key_val(jnp.array([2, 1]), jnp.array([10, 20]))[1]
    Array([20, 10], dtype=int32)
    """
    one, other = sort((keys, values), dimension, is_stable)
    return one, other


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """Return the k largest elements along an axis, in descending order, and their indices.

    Args:
      operand: array_like of Booleans, integers or floats.
      k: the number of elements, at most the length of the axis.
      axis: the axis to search; negative ones count from the end.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.top_k(jnp.array([1, 3, 2]), 2)
    (Array([3, 2], dtype=int32), Array([1, 2], dtype=int32))
    """
    ndim = typeof(operand).ndim
    if ndim == 0:
        raise ValueError("top_k operand must have >= 1 dimension, got ()")
    values, places = sorting.top_k(
        operand, k=known_index("top_k", "k", k), axis=axis_of(axis, ndim)
    )
    return values, places


def _approximable(operand: ArrayLike, k: int, dimension: int, recall_target: float) -> int:
    """The axis, from the front; raise `ValueError` where its k largest cannot be asked for."""
    given = typeof(operand)
    if not is_float(given.dtype):
        raise ValueError(f"operand must be a floating type, got {given.str_short()}")
    axis = axis_of(dimension, given.ndim)
    length = given.shape[axis]
    if k > length:
        raise ValueError(f"k must not be larger than the length {length} of the axis, got {k}")
    if not 0 < recall_target <= 1:
        raise ValueError(f"recall_target must be in (0, 1], got {recall_target}")
    return axis


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """Return the k largest elements along an axis, and their indices; on a TPU most of them.

    Elsewhere all are found.

    Args:
      operand: array_like of floats.
      k: the number of elements, at most the length of the axis.
      reduction_dimension: the axis to search; negative ones count from the end.
      recall_target: the share of the k that must be found on average, in (0, 1].
      reduction_input_size_override, aggregate_to_topk: of no effect: the k are found.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.approx_max_k(jnp.array([1.0, 3.0, 2.0]), 2)[0]
    Array([3., 2.], dtype=float32)
    """
    axis = _approximable(operand, k, reduction_dimension, recall_target)
    values, places = sorting.top_k(
        operand, k=python_operator.index(k), axis=axis, recall=float(recall_target)
    )
    return values, places


@whole(
    *("k", "reduction_dimension", "recall_target", "reduction_input_size_override"),
    "aggregate_to_topk",
)
def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Array, Array]:
    """Return the k smallest elements along an axis, and their indices; on a TPU most of them.

    Elsewhere all are found.

    Args:
      operand: array_like of floats.
      k: the number of elements, at most the length of the axis.
      reduction_dimension: the axis to search; negative ones count from the end.
      recall_target: the share of the k that must be found on average, in (0, 1].
      reduction_input_size_override, aggregate_to_topk: of no effect: the k are found.

    >>> import effax.lax as lax, effax.numpy as jnp
    >>> lax.approx_min_k(jnp.array([1.0, 3.0, 2.0]), 2)[0]
    Array([1., 2.], dtype=float32)
    """
    values, places = approx_max_k(operators.neg(operand), k, reduction_dimension, recall_target)
    return operators.neg(values), places
