"""Samplers of integers and Booleans, and of the elements of an array."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, prod
from operator import index
from typing import Any, Final

import numpy as np

from effax import lax
from effax import numpy as jnp
from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.errors import SymbolicShapeError
from effax.effects.types import (
    DType,
    canonical_shape,
    default_float,
    default_int,
    finfo,
    iinfo,
    int32,
    is_float,
    is_inexact,
    is_integer,
    typeof,
    user_dtype,
)
from effax.effects.value import Array, ArrayLike, DTypeLike, OutSharding, Shape, is_symbolic
from effax.operands.arguments import known_index
from effax.random.bits import UNSIGNED, int_dtype, random_bits, result_shape, shape_of
from effax.random.keys import split_words, words_of
from effax.random.samplers import gumbel_mode, gumbel_words, uniform_words

# The exponent in the number of sorts of a permutation, from an analysis in tf2xla's random_ops.cc.
_EXPONENT: Final = 3


def _clip_and_convert(x: Any, dtype: DType) -> Any:
    """An integer array in another integer dtype; what that does not hold goes to its ends."""
    info, own = iinfo(dtype), iinfo(x.dtype)
    low, high = max(int(info.min), int(own.min)), min(int(info.max), int(own.max))
    clipped = lax.clamp(np.array(low, x.dtype)[()], x, np.array(high, x.dtype)[()])
    return lax.convert_element_type(clipped, dtype)


def _integers(x: Any) -> Any:
    """A bound of `randint`; floats are cut."""
    x = jnp.asarray(x)
    return x if is_integer(x.dtype) else lax.convert_element_type(x, default_int())


@whole("shape", "dtype")
def _randint(words: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """Uniform integers by a remainder of twice as many bits as the dtype has."""
    minval, maxval = _integers(minval), _integers(maxval)
    result, info = dtype, iinfo(dtype)
    if info.bits < 32:
        # With fewer bits the bias of the remainder would be visible.
        dtype = int32
        least, most = int(info.min), int(info.max)
        minval = jnp.clip(lax.convert_element_type(minval, int32), least, most)
        maxval = jnp.clip(lax.convert_element_type(maxval, int32), least, most + 1)
        info = iinfo(dtype)
    # A maxval of one above the largest integer means that all integers may be drawn.
    largest = min(int(info.max), int(iinfo(maxval.dtype).max))
    above = jnp.broadcast_to(maxval > np.array(largest, maxval.dtype)[()], shape)
    low = jnp.broadcast_to(_clip_and_convert(minval, dtype), shape)
    high = jnp.broadcast_to(_clip_and_convert(maxval, dtype), shape)
    keys = split_words(words, shape=(2,))
    higher, lower = (random_bits(keys[i], info.bits, shape) for i in (0, 1))
    unsigned = UNSIGNED[info.bits]
    span = lax.convert_element_type(high - low, unsigned)
    one = lax.full_like(span, 1)
    span = lax.select(high <= low, one, span)
    # The span of all integers wraps to zero, and a remainder by zero leaves a number unchanged.
    span = lax.select(above & (high > low), lax.add(span, one), span)
    half = lax.rem(lax.full_like(span, 2 ** (info.bits // 2)), span)
    multiplier = lax.rem(lax.mul(half, half), span)
    offset = lax.add(lax.mul(lax.rem(higher, span), multiplier), lax.rem(lower, span))
    drawn = lax.add(low, lax.convert_element_type(lax.rem(offset, span), dtype))
    return lax.convert_element_type(drawn, result)


@whole("shape", "dtype")
def _randint_between(words: Any, bounds: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    low, high = (lax.index_in_dim(bounds, i, axis=0, keepdims=False) for i in (0, 1))
    return _randint(words, low, high, shape=shape, dtype=dtype)


@placed
def randint(
    key: ArrayLike,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw uniform integers in [minval, maxval); `minval` where that is empty.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      minval, maxval: array_like, the bounds; they broadcast to `shape`, and floats are truncated.
      dtype: the integer dtype of the result; by default int32 (int64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      TypeError: for a dtype that is not an integer's.

    >>> from effax import random
    >>> random.randint(random.PRNGKey(0), (4,), 5, 6).tolist()
    [5, 5, 5, 5]
    """
    words = words_of("randint", key)
    asked = int_dtype("randint", dtype, TypeError)
    if type(minval) is int and type(maxval) is int:
        bounds = np.array((minval, maxval), default_int())  # one operand costs less than two
        return _randint_between(words, bounds, shape=canonical_shape(shape), dtype=asked)
    found = result_shape("randint", shape, shape_of(minval), shape_of(maxval))
    return _randint(words, minval, maxval, shape=found, dtype=asked)


@whole("axis")
def _shuffle(words: Any, x: Any, axis: int) -> Any:
    """Sort along an axis by random numbers, often enough that ties do not matter."""
    if is_symbolic(x.shape):
        raise SymbolicShapeError(
            "shape polymorphism for `permutation` or `shuffle` for arrays of non-constant size: "
            f"{prod(x.shape)}, on which the number of sorts depends; export the function at fixed "
            "sizes, or draw with replacement"
        )
    size = max(1, prod(x.shape))
    for _ in range(ceil(_EXPONENT * log(size) / log(2**32 - 1))):
        keys = split_words(words, shape=(2,))
        words = keys[0]
        _, x = lax.sort_key_val(random_bits(keys[1], 32, x.shape), x, axis)
    return x


@whole("n")
def _permuted_range(words: Any, n: int) -> Any:
    return _shuffle(words, jnp.arange(n), axis=0)


@whole("axis")
def _permuted_rows(words: Any, x: Any, axis: int) -> Any:
    order = _shuffle(words, jnp.arange(x.shape[axis]), axis=0)
    return jnp.take(x, order, axis)


def _axis(axis: Any, ndim: int) -> int:
    found = index(axis)
    if not -ndim <= found < ndim:
        raise ValueError(f"axis {found} is out of bounds for array of dimension {ndim}")
    return found % ndim


@placed
def permutation(
    key: ArrayLike,
    x: ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the numbers below `x` in random order, or an array with an axis in random order.

    Args:
      key: a random key (or its words).
      x: an integer, or an array_like.
      axis: the axis to permute.
      independent: whether each vector along the axis has an order of its own.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      TypeError: for a scalar that is not an integer.

    >>> from effax import random
    >>> sorted(random.permutation(random.PRNGKey(0), 4).tolist())
    [0, 1, 2, 3]
    """
    words = words_of("permutation", key)
    type = typeof(x)
    axis = _axis(axis, type.ndim or 1)
    if not type.ndim:
        if not is_integer(type.dtype):
            raise TypeError("x must be an integer or at least 1-dimensional")
        return _permuted_range(words, n=known_index("permutation", "x", x))
    if independent or type.ndim == 1:
        return _shuffle(words, x, axis=axis)
    return _permuted_rows(words, x, axis=axis)


@whole("shape", "axis")
def _choose_weighted(words: Any, p: Any, a: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Invert the cumulative sum of the weights."""
    total = jnp.cumsum(_inexact(p))
    u = uniform_words(words, 0.0, 1.0, shape=shape, dtype=total.dtype)
    chosen = jnp.searchsorted(total, total[-1] * (1 - u))
    return _taken(a, lax.convert_element_type(chosen, default_int()), shape, axis)


@whole("shape", "axis", "mode")
def _choose_some(words: Any, p: Any, a: Any, shape: tuple[int, ...], axis: int, mode: str) -> Any:
    """The largest of perturbed logarithms: sampling without replacement (Vieira 2014)."""
    p = _inexact(p)
    scores = gumbel_words(words, shape=p.shape, dtype=p.dtype, mode=mode) + lax.log(p)
    chosen = lax.top_k(scores, prod(shape))[1]
    return _taken(a, lax.convert_element_type(chosen, default_int()), shape, axis)


@whole("shape", "axis", "n")
def _choose_uniform(words: Any, a: Any, shape: tuple[int, ...], axis: int, n: int) -> Any:
    chosen = _randint(words, 0, n, shape=shape, dtype=default_int())
    return _taken(a, chosen, shape, axis)


@whole("shape", "axis", "n")
def _choose_distinct(words: Any, a: Any, shape: tuple[int, ...], axis: int, n: int) -> Any:
    """The first of a permutation."""
    if a is None:
        x = _permuted_range(words, n=n)
    else:
        x = (_shuffle if a.ndim == 1 else _permuted_rows)(words, a, axis=axis)
    taken = lax.slice_in_dim(x, 0, prod(shape), axis=axis)
    return lax.reshape(taken, x.shape[:axis] + shape + x.shape[axis + 1 :])


def _inexact(p: Any) -> Any:
    p = jnp.asarray(p)
    return p if is_inexact(p.dtype) else lax.convert_element_type(p, default_float())


def _taken(a: Any, chosen: Any, shape: tuple[int, ...], axis: int) -> Any:
    if a is None:
        return lax.reshape(chosen, shape)
    taken = jnp.take(a, chosen, axis)
    return lax.reshape(taken, a.shape[:axis] + shape + a.shape[axis + 1 :])


def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Draw elements (or slices along `axis`) of an array, or numbers below `a`, at random.

    Args:
      key: a random key (or its words).
      a: an array_like, or an integer.
      shape: the shape of the draws, which takes the place of `axis` in the result.
      replace: whether an element may be drawn several times.
      p: array_like, (n,), the probabilities of the n elements along `axis`; equal if None.
      axis: the axis of `a` to draw along.
      mode: as for `gumbel`; used where `p` is given and `replace` is false.

    Raises:
      TypeError: where `shape` is not a sequence.
      ValueError: where there is nothing to draw from, or not enough, or `p` has another length.

    >>> from effax import random
    >>> random.choice(random.PRNGKey(0), 5, (3,)).shape
    (3,)
    """
    words = words_of("choice", key)
    if mode is not None:
        gumbel_mode(mode)
    if not isinstance(shape, Sequence):
        raise TypeError(
            f"shape argument of random.choice must be a sequence, got {shape}; write ({shape},)"
        )
    found = canonical_shape(shape)
    if isinstance(a, list | tuple) or hasattr(a, "__jax_array__"):
        a = jnp.asarray(a)
    type = typeof(a)
    array = a if type.ndim else None
    axis = _axis(axis, type.ndim) if type.ndim else 0
    n = type.shape[axis] if type.ndim else known_index("choice", "a", a)
    draws = prod(found)
    if not draws:
        return jnp.zeros(found, dtype=type.dtype)
    if n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError(
            f"Cannot take a larger sample (size {draws}) than population (size {n}) when "
            "'replace=False'"
        )
    if p is None:
        if replace:
            return _choose_uniform(words, array, shape=found, axis=axis, n=n)
        return _choose_distinct(words, array, shape=found, axis=axis, n=n)
    if shape_of(p) != (n,):
        raise ValueError(
            f"random.choice: p must have the shape ({n},), a probability for each of the {n} "
            f"elements along the axis, got {shape_of(p)}"
        )
    p = jnp.asarray(p)
    if replace:
        return _choose_weighted(words, p, array, shape=found, axis=axis)
    return _choose_some(words, p, array, shape=found, axis=axis, mode=gumbel_mode(mode))


@whole("shape", "mode")
def _bernoulli(words: Any, p: Any, shape: tuple[int, ...], mode: str) -> Any:
    p = jnp.asarray(p)
    dtype = p.dtype
    if mode == "high":
        pair = uniform_words(words, 0.0, 1.0, shape=(2, *shape), dtype=dtype)
        return pair[1] * 2.0 ** -int(finfo(dtype).nmant) < p - pair[0]
    return uniform_words(words, 0.0, 1.0, shape=shape, dtype=dtype) < p


@placed
def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw Booleans that are true with probability `p`.

    Args:
      key: a random key (or its words).
      p: array_like of floats, the probability.
      shape: the shape of the result; by default that of `p`.
      mode: "low", or "high" for probabilities below 1e-7, which takes twice the bits.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      TypeError: where `p` is not a float.

    >>> from effax import random
    >>> random.bernoulli(random.key(0), 0.5, (4,)).tolist()
    [False, False, True, True]
    """
    words = words_of("bernoulli", key)
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    type = typeof(p)
    if not is_float(type.dtype):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {type.dtype}.")
    return _bernoulli(words, p, shape=result_shape("bernoulli", shape, type.shape), mode=mode)


@whole("shape", "dtype")
def rademacher_words(words: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    """-1 or 1 from the words of a key."""
    drawn = lax.convert_element_type(_bernoulli(words, 0.5, shape=shape, mode="low"), dtype)
    return lax.convert_element_type(2 * drawn - 1, dtype)


@placed
def rademacher(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw -1 or 1, each with probability 1/2.

    Args:
      key: a random key (or its words).
      shape: the shape of the result.
      dtype: the dtype of the result; by default int32 (int64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.rademacher(random.key(0), (4,)).tolist()
    [-1, -1, 1, 1]
    """
    words = words_of("rademacher", key)
    asked = user_dtype(int if dtype is None else dtype, "rademacher")
    return rademacher_words(words, shape=canonical_shape(shape), dtype=asked)


@whole("axis", "shape", "replace", "mode")
def _categorical(
    words: Any, logits: Any, axis: int, shape: tuple[int, ...], replace: bool, mode: str
) -> Any:
    batch = logits.ndim - 1
    prefix = shape[: len(shape) - batch]
    if not replace:
        scores = logits + gumbel_words(words, shape=logits.shape, dtype=logits.dtype, mode=mode)
        chosen = lax.top_k(jnp.moveaxis(scores, axis, -1), prod(prefix))[1]
        return lax.reshape(jnp.moveaxis(chosen, -1, 0), shape)
    drawn = list(shape[len(shape) - batch :])
    drawn.insert(axis, logits.shape[axis])
    noise = gumbel_words(words, shape=(*prefix, *drawn), dtype=logits.dtype, mode=mode)
    scores = noise + lax.expand_dims(logits, tuple(range(len(prefix))))
    return jnp.argmax(scores, axis=axis + len(prefix))


@placed
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw indices along `axis`, with probabilities `softmax(logits, axis)`.

    Args:
      key: a random key (or its words).
      logits: array_like, logarithms of probabilities up to a constant.
      axis: the axis of the categories.
      shape: the shape of the result; it ends in the shape of the other axes of `logits`, or in one
        that they broadcast to. By default it is the shape of the other axes.
      replace: whether a category may be drawn several times; else the draws along the leading axes
        of `shape` differ.
      mode: as for `gumbel`.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      ValueError: for more draws without replacement than there are categories.
      IndexError: for an axis that is not there.

    >>> import effax.numpy as jnp
    >>> from effax import random
    >>> random.categorical(random.key(0), jnp.log(jnp.array([0.1, 0.9])), shape=(6,)).tolist()
    [1, 1, 1, 1, 1, 0]
    """
    words = words_of("categorical", key)
    logits = jnp.asarray(logits)
    if not -logits.ndim <= axis < logits.ndim:
        raise IndexError(f"axis {axis} is out of bounds for logits of dimension {logits.ndim}")
    axis %= logits.ndim
    batch = logits.shape[:axis] + logits.shape[axis + 1 :]
    found = result_shape("categorical", shape, batch)
    draws = prod(found[: len(found) - len(batch)])
    if not replace and draws > logits.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({draws}) cannot exceed number of categories "
            f"({logits.shape[axis]})."
        )
    return _categorical(
        words, logits, axis=axis, shape=found, replace=replace, mode=gumbel_mode(mode)
    )


@whole("shape", "dtype")
def _geometric(words: Any, p: Any, shape: tuple[int, ...], dtype: DType) -> Any:
    p = _inexact(p)
    u = uniform_words(words, 0.0, 1.0, shape=shape, dtype=p.dtype)
    log_u = lax.log(jnp.where(u == 0, 1, u))
    failures = lax.floor(lax.div(log_u, jnp.broadcast_to(lax.log1p(-p), shape)))
    return lax.convert_element_type(failures + 1, dtype)


@placed
def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: OutSharding = None,
) -> Array:
    """Draw the number of trials of probability `p` until the first success: 1, 2, ...

    Args:
      key: a random key (or its words).
      p: array_like, the probability of success.
      shape: the shape of the result; by default that of `p`.
      dtype: the integer dtype of the result; by default int32 (int64 with x64).
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    >>> from effax import random
    >>> random.geometric(random.key(0), 0.5, (4,)).tolist()
    [1, 1, 2, 2]
    """
    words = words_of("geometric", key)
    asked = int_dtype("geometric", dtype)
    found = result_shape("geometric", shape, shape_of(p))
    return _geometric(words, p, shape=found, dtype=asked)
