"""Functions for kernels, beside `effax.numpy` and `effax.lax`: parts of references."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import effax.lax as lax
import effax.numpy as jnp
from effax import debug
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.api.references.references import TransformedRef, empty_ref, get, new_ref
from effax.api.references.references import set as set_part
from effax.effects.frames import filtered
from effax.effects.rows.state import Ref
from effax.effects.tree import tree_map
from effax.effects.types import typeof
from effax.effects.value import Array, ArrayLike
from effax.experimental.pallas.specs import MemoryRef
from effax.numpy.indexing import getitem, update
from effax.numpy.slices import Slice, cut, has_slices
from effax.numpy.slices import ds as ds


def when(condition: ArrayLike, /) -> Callable[[Callable[[], None]], None]:
    """Call the decorated function where a condition holds.

    A `bool` decides while the kernel is traced; a traced condition is a `cond`.

    >>> import effax
    >>> ref = effax.new_ref(1.0)
    >>> @when(ref[...] > 0)
    ... def _():
    ...     ref[...] = 2.0
    >>> ref
    Ref(2., dtype=float32, weak_type=True)
    """

    def decide(function: Callable[[], None]) -> None:
        if isinstance(condition, bool):
            if condition:
                function()
        else:
            lax.cond(condition, function, lambda: None)

    return decide


def loop(
    lower: Any,
    upper: Any,
    *,
    init_carry: Any = None,
    step: Any = 1,
    unroll: int | bool | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Call the decorated function for each index from `lower`, below `upper`.

    With `init_carry` it is called with an index and the carry, and returns the next carry; the
    decorated name is then the last carry.

    Args:
      lower: the first index.
      upper: the end of the indices, which is not one of them.
      init_carry: the first carry, a pytree; None for no carry.
      step: the distance between indices.
      unroll: as for `lax.fori_loop`.

    >>> @loop(1, 5, init_carry=1)
    ... def product(i, carry):
    ...     return carry * i
    >>> int(product)
    24
    """

    def run(body: Callable[..., Any]) -> Any:
        def one(i: Any, carry: Any) -> Any:
            at = lower + i * step
            return body(at) if init_carry is None else body(at, carry)

        return lax.fori_loop(0, cdiv(upper - lower, step), one, init_carry, unroll=unroll)

    return run


@filtered
def load(
    x_ref_or_view: Ref | TransformedRef,
    idx: Any = None,
    *,
    mask: ArrayLike | None = None,
    other: ArrayLike | None = None,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
) -> Array:
    """Return a part of a reference's contents: `ref[idx]`.

    Args:
      x_ref_or_view: the reference, or a part of it.
      idx: the index, all by default. Where `mask` is given, a `ds` may reach beyond the end.
      mask: which elements are read, of a shape that broadcasts against the part's.
      other: what stands for the elements that are not read; 0 by default.
      cache_modifier: accepted for JAX's sake.
      eviction_policy: accepted for JAX's sake.
      volatile: accepted for JAX's sake.

    >>> import effax, effax.numpy as jnp
    >>> ref, i = effax.new_ref(jnp.arange(6)), jnp.arange(4) + 4
    >>> load(ref, ds(4, 4), mask=i < 6, other=-1)
    Array([ 4,  5, -1, -1], dtype=int32)
    """
    if mask is None:
        return get(x_ref_or_view, idx)
    x, index = _reaching(get(x_ref_or_view), idx)
    part = getitem(x, index)
    instead = jnp.asarray(0 if other is None else other, dtype=part.dtype)
    return jnp.where(mask, part, instead)


@filtered
def swap(
    x_ref_or_view: Ref | TransformedRef,
    idx: Any,
    val: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    eviction_policy: str | None = None,
) -> Array:
    """Write a part of a reference's contents, and return what was there.

    Args:
      x_ref_or_view: the reference, or a part of it.
      idx: the index; None is all of it.
      val: the new elements.
      mask: which elements are written, of a shape that broadcasts against the part's. With it a
        `ds` may reach beyond the end.
      eviction_policy: accepted for JAX's sake.

    >>> import effax
    >>> ref = effax.new_ref(jnp.arange(3))
    >>> int(swap(ref, 1, 10)), ref
    (1, Ref([ 0, 10,  2], dtype=int32))
    """
    if mask is None:
        before = get(x_ref_or_view, idx)
        set_part(x_ref_or_view, idx, val)
        return before
    whole = get(x_ref_or_view)
    x, index = _reaching(whole, idx)
    before = getitem(x, index)
    after = update(x, index, jnp.where(mask, val, before), "set", mode="clip")
    set_part(x_ref_or_view, None, after[tuple(slice(n) for n in whole.shape)])
    return before


def store(
    x_ref_or_view: Ref | TransformedRef,
    idx: Any,
    val: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    eviction_policy: str | None = None,
) -> None:
    """Write a part of a reference's contents: `ref[idx] = val`, where `mask` holds.

    Args:
      x_ref_or_view: the reference, or a part of it.
      idx: the index; None is all of it.
      val: the new elements.
      mask: which elements are written, of a shape that broadcasts against the part's. With it a
        `ds` may reach beyond the end.
      eviction_policy: accepted for JAX's sake.

    >>> import effax
    >>> ref = effax.new_ref(jnp.arange(3))
    >>> store(ref, ds(1, 4), jnp.full(4, 9), mask=jnp.arange(4) < 2)
    >>> ref
    Ref([0, 9, 9], dtype=int32)
    """
    if mask is None:
        set_part(x_ref_or_view, idx, val)
    else:
        swap(x_ref_or_view, idx, val, mask=mask)


def _reaching(x: Array, idx: Any) -> tuple[Array, Any]:
    """An array with room for the slices of an index to reach beyond its ends, and the index."""
    index = Ellipsis if idx is None else idx
    if has_slices(index):
        room = [(0, 0)] * x.ndim
        for axis, part in _axes(x, index):
            if not isinstance(part.start, int) or part.start + part.size > x.shape[axis]:
                room[axis] = (0, part.size)
        x = jnp.pad(x, room)
    return x, index


def _axes(x: Array, index: Any) -> list[tuple[int, Slice]]:
    parts = index if isinstance(index, tuple) else (index,)
    short = tuple(Slice(0, 0, p.stride) if type(p) is Slice else p for p in parts)
    sizes = [p for p in parts if type(p) is Slice]
    found, _ = cut(x, short)
    return [(axis, part) for (axis, _), part in zip(found, sizes, strict=True)]


def dot(
    a: ArrayLike,
    b: ArrayLike,
    trans_a: bool = False,
    trans_b: bool = False,
    allow_tf32: bool | None = None,
    precision: Any = None,
) -> Array:
    """Return the product of two matrices, accumulated in float32 (or int32, float64).

    Args:
      a: a matrix.
      b: a matrix.
      trans_a: whether `a` is transposed first.
      trans_b: whether `b` is transposed first.
      allow_tf32: whether products may be rounded to TF32.
      precision: the precision, in place of `allow_tf32`.

    Raises:
      ValueError: for operands that are no matrices, or with both `allow_tf32` and `precision`.

    >>> dot(jnp.eye(2, dtype="bfloat16"), jnp.eye(2, dtype="bfloat16")).dtype
    dtype('float32')
    """
    one, other = typeof(a), typeof(b)
    if one.ndim != 2 or other.ndim != 2:
        raise ValueError(f"dot: a and b must be matrices, got {one} and {other}")
    if allow_tf32 is not None:
        if precision is not None:
            raise ValueError("dot: give allow_tf32 or precision, not both")
        precision = lax.Precision.HIGH if allow_tf32 else lax.Precision.HIGHEST
    kind = jnp.promote_types(one.dtype, other.dtype)
    wide = "int32" if kind.kind in "iub" else "float64" if kind == "float64" else "float32"
    return lax.dot_general(
        a,
        b,
        (((0 if trans_a else 1,), (1 if trans_b else 0,)), ((), ())),
        precision=precision,
        preferred_element_type=jnp.dtype(wide),
    )


def reciprocal(x: ArrayLike, *, approx: bool = False, full_range: bool = True) -> Array:
    """Return `1 / x`.

    Args:
      x: array_like.
      approx: whether an approximation will do; the result is exact all the same.
      full_range: accepted for JAX's sake.

    >>> float(reciprocal(4.0))
    0.25
    """
    return jnp.reciprocal(x)


def multiple_of(x: Array, values: Sequence[int] | int) -> Array:
    """Return `x`, which the caller promises to be a multiple of some numbers: a hint.

    Args:
      x: the value.
      values: the number or numbers that `x` is promised to be a multiple of; unused.

    >>> multiple_of(16, 8)
    16
    """
    return x


def debug_print(fmt: str, *args: ArrayLike) -> None:
    """Print values, or the contents of references, while the kernel runs.

    Args:
      fmt: a format string, or a text that the values follow.
      *args: array_likes, or references.

    >>> debug_print("x =", jnp.float32(2.0))
    x = 2.0
    """
    if args and "{" not in fmt:
        fmt = " ".join([fmt, *["{}"] * len(args)])
    debug.print(fmt, *(get(x) if isinstance(x, Ref | TransformedRef) else x for x in args))


def run_scoped(
    f: Callable[..., Any], *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Any:
    """Call a function with references to scratch arrays of these types, made for the call.

    Args:
      f: the function of references.
      types: trees of `tpu.VMEM(shape, dtype)` and the like.
      collective_axes: must be empty.
      kw_types: types of references that are passed by keyword.

    >>> from effax.experimental.pallas.tpu import VMEM
    >>> run_scoped(lambda ref: ref.shape, VMEM((2,), "float32"))
    (2,)
    """
    if collective_axes:
        raise NotImplementedError("run_scoped: collective_axes are not supported")
    return f(*_scratch(types), **_scratch(kw_types))


def _scratch(types: Any) -> Any:
    return tree_map(
        lambda t: empty_ref(ShapeDtypeStruct(t.shape, t.dtype)),
        types,
        is_leaf=lambda t: isinstance(t, MemoryRef),
    )


def with_scoped(*types: Any, collective_axes: Any = (), **kw_types: Any) -> Callable[..., Any]:
    """Decorate a function with scratch arrays, which it takes after its arguments.

    Args:
      *types: trees of `tpu.VMEM(shape, dtype)` and the like.
      collective_axes: must be empty.
      **kw_types: types of references that are passed by keyword.

    >>> from effax.experimental.pallas.tpu import VMEM
    >>> @with_scoped(VMEM((2,), "float32"))
    ... def double(x, ref):
    ...     ref[...] = x + x
    ...     return ref[...]
    >>> double(jnp.arange(2.0))
    Array([0., 2.], dtype=float32)
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def inner(*args: Any) -> Any:
            given = functools.partial(f, *args)
            return run_scoped(given, *types, collective_axes=collective_axes, **kw_types)

        return inner

    return decorate


def run_state(f: Callable[[Any], None]) -> Callable[[Any], Any]:
    """Return the function of arrays that calls `f` with references to them and reads them after.

    >>> def double(ref):
    ...     ref[...] *= 2
    >>> run_state(double)(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """

    def run(init_val: Any) -> Any:
        refs = tree_map(new_ref, init_val)
        f(refs)
        return tree_map(get, refs, is_leaf=lambda r: isinstance(r, Ref))

    return run


def empty(shape: Sequence[int], dtype: Any) -> Array:
    """Return an array of that shape and dtype whose elements say nothing.

    >>> empty((2, 3), "float32").shape
    (2, 3)
    """
    return jnp.zeros(shape, dtype)


def empty_like(x: Any) -> Any:
    """Return arrays like those of a tree, with unspecified elements.

    Args:
      x: a pytree of arrays, or of anything with a shape and a dtype.

    >>> empty_like({"a": jnp.arange(3)})["a"].shape
    (3,)
    """
    return tree_map(lambda leaf: empty(leaf.shape, leaf.dtype), x)


def cdiv(a: Any, b: Any) -> Any:
    """Return `a / b`, rounded up.

    >>> cdiv(7, 2)
    4
    """
    return (a + b - 1) // b


def align_to(a: int, alignment: int) -> int:
    """Return the least multiple of `alignment` that is not below `a`.

    >>> align_to(9, 8)
    16
    """
    return int(cdiv(a, alignment) * alignment)


def next_power_of_2(x: int) -> int:
    """Return the least power of two that is not below `x`.

    Raises `ValueError` for a negative number.

    >>> next_power_of_2(5)
    8
    """
    if x < 0:
        raise ValueError(f"next_power_of_2: x must not be negative, got {x}")
    return 1 if x == 0 else 2 ** (x - 1).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the number of elements between neighbours along each axis, in row-major order.

    Args:
      shape: the lengths of the axes.

    >>> strides_from_shape((2, 3, 4))
    (12, 4, 1)
    """
    steps = [1]
    for n in reversed(shape[1:]):
        steps.append(steps[-1] * n)
    return tuple(reversed(steps[: len(shape)]))
