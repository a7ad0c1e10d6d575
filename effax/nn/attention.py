"""Dot-product attention."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final, Literal, overload

import effax.numpy as jnp
from effax.api.custom.jvp import stop_gradient
from effax.eager.whole import whole
from effax.effects.rows import contraction, shape
from effax.effects.types import finfo, float32, int32, is_bool, typeof
from effax.effects.value import Array, ArrayLike, is_symbolic_length
from effax.lax.choosing import platform
from effax.lax.contraction import canonical_precision
from effax.lax.slicing import slice_in_dim
from effax.nn import cudnn
from effax.nn.functions import logsumexp, softmax


def _four(x: ArrayLike | None) -> Any:
    """The array with new first axes, until it has four."""
    if x is None:
        return None
    x = jnp.asarray(x)
    return shape.reshape(x, shape=(1,) * (4 - x.ndim) + x.shape) if x.ndim < 4 else x


def _check(name: str, x: ArrayLike | None, lengths: Sequence[int], dtype: Any = None) -> None:
    """Raise `ValueError` unless an argument has these lengths (-1: any) and this dtype."""
    if x is None:
        return
    type = typeof(x)
    if type.ndim != len(lengths):
        raise ValueError(f"{name} ndim should be {len(lengths)}, but got {type.ndim}")
    if dtype is not None and type.dtype != dtype:
        raise ValueError(f"{name} dtype should be {dtype}, but got {type.dtype}")
    if any(want not in (-1, have) for want, have in zip(lengths, type.shape, strict=True)):
        raise ValueError(f"{name} shape should be {list(lengths)}: but got {type.shape}")


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = ...,
    mask: ArrayLike | None = ...,
    *,
    scale: float | None = ...,
    is_causal: bool = ...,
    query_seq_lengths: ArrayLike | None = ...,
    key_value_seq_lengths: ArrayLike | None = ...,
    local_window_size: int | tuple[int, int] | None = ...,
    implementation: str | None = ...,
    return_residual: Literal[False] = ...,
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = ...,
    mask: ArrayLike | None = ...,
    *,
    scale: float | None = ...,
    is_causal: bool = ...,
    query_seq_lengths: ArrayLike | None = ...,
    key_value_seq_lengths: ArrayLike | None = ...,
    local_window_size: int | tuple[int, int] | None = ...,
    implementation: str | None = ...,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = ...,
    mask: ArrayLike | None = ...,
    *,
    scale: float | None = ...,
    is_causal: bool = ...,
    query_seq_lengths: ArrayLike | None = ...,
    key_value_seq_lengths: ArrayLike | None = ...,
    local_window_size: int | tuple[int, int] | None = ...,
    implementation: str | None = ...,
    return_residual: bool = ...,
) -> Array | tuple[Array, Array]: ...
@whole("scale", "is_causal", "local_window_size", "implementation", "return_residual")
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """Return `softmax(query @ key^T * scale + bias) @ value` (Vaswani et al. 2017), head by head.

    The letters are B: batch, T and S: places of queries and keys, N: heads of queries, K: heads of
    keys and values, of which N is a multiple, H: the length of a head. The softmax is in float32.

    Args:
      query: of shape (B, T, N, H) or (T, N, H).
      key: of shape (B, S, K, H) or (S, K, H).
      value: like key.
      bias: added to the logits, of a shape that broadcasts to (B, N, T, S).
      mask: which keys each query sees, as Booleans of such a shape.
      scale: what the logits are multiplied by, `1 / sqrt(H)` by default.
      is_causal: a query sees no later keys.
      query_seq_lengths: how many queries count, for each member of the batch.
      key_value_seq_lengths: how many keys count.
      local_window_size: how many keys before and after its own place a query sees.
      implementation: "xla", "cudnn" (NVIDIA's GPUs, 16-bit floats), or None for "xla".
      return_residual: give also the logarithms of the softmax's denominators, (B, T, N).

    Raises:
      ValueError: where shapes or dtypes do not fit.
      NotImplementedError: for dtypes and lengths of heads that cuDNN has no kernels for.
      UnhandledEffectError: where "cudnn" is compiled for another platform.

    >>> import effax.nn as nn, effax.numpy as jnp
    >>> x = jnp.ones((1, 2, 1, 4))
    >>> nn.dot_product_attention(x, x, x, is_causal=True).shape
    (1, 2, 1, 4)
    """
    if implementation not in (None, "xla", "cudnn"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    given = typeof(query).shape
    operands: list[Any] = [_four(x) for x in (query, key, value, bias, mask)]
    q, k, v, logit_bias, seen_pairs = operands
    b, s, heads, h = k.shape
    _check("value", v, (b, s, heads, h), k.dtype)
    _check("query", q, (b, -1, -1, h), k.dtype)
    _check("mask", seen_pairs, (-1,) * 4)
    _check("bias", logit_bias, (-1,) * 4)
    if seen_pairs is not None and not is_bool(seen_pairs.dtype):
        raise ValueError(f"mask dtype should be bool, but got {seen_pairs.dtype}")
    t, n = q.shape[1:3]
    if n % heads:
        raise ValueError(
            f"The number of query heads must be a multiple of key/value heads, but got {n} vs "
            f"{heads}"
        )
    query_seq_lengths = _checked_lengths("query_seq_lengths", query_seq_lengths)
    key_value_seq_lengths = _checked_lengths("key_value_seq_lengths", key_value_seq_lengths)
    window = _window(local_window_size)
    factor = 1.0 / math.sqrt(h) if scale is None else scale
    if implementation == "cudnn":
        found = cudnn.attention(
            q,
            k,
            v,
            logit_bias,
            seen_pairs,
            _lengths(b, (t, query_seq_lengths), (s, key_value_seq_lengths)),
            scale=factor,
            causal=is_causal,
            window=window,
            residual=return_residual,
        )
        out = shape.reshape(found[0], shape=given)
        if not return_residual:
            return out
        return out, shape.reshape(found[1].astype(k.dtype), shape=given[:-1])
    others = (logit_bias, seen_pairs, query_seq_lengths, key_value_seq_lengths, window)
    plain = all(x is None for x in others)
    if plain and is_causal and not return_residual and _worth_pieces(b * n, t, s):
        return shape.reshape(_causal_in_pieces(q, k, v, factor), shape=given)
    seen = _visible(seen_pairs, t, s, is_causal, query_seq_lengths, key_value_seq_lengths, window)
    logits = _logits(q, k, factor, logit_bias, seen)
    out = _averaged(logits, v)
    if query_seq_lengths is not None:
        counted = jnp.arange(t)[None, :] < jnp.asarray(query_seq_lengths)[:, None]
        counted = shape.expand_dims(counted, tuple(range(2, out.ndim)))
        out = out * counted.astype(out.dtype)
    out = shape.reshape(out, shape=given)
    if not return_residual:
        return out
    residual = jnp.moveaxis(logsumexp(logits, axis=-1).astype(k.dtype), 1, 2)
    return out, stop_gradient(shape.reshape(residual, shape=given[:-1]))


def _checked_lengths(name: str, lengths: ArrayLike | None) -> Array | None:
    if lengths is None:
        return None
    found = jnp.asarray(lengths)
    if found.dtype != int32:
        raise ValueError(f"{name} dtype should be int32, but got {found.dtype.name}")
    return found


def _logits(q: Array, k: Array, scale: Any, bias: Array | None, seen: Array | None) -> Array:
    """The logits, lowest where a query does not see a key: (B, N, T, S), or (B, K, T, N / K, S).

    Heads of queries that share keys are rows of one product, so that nothing is repeated.
    """
    (b, t, n, h), heads = q.shape, k.shape[2]
    shared = n // heads
    dtype = jnp.promote_types(q.dtype, float32)
    grouped = shape.reshape(q, shape=(b, t, heads, shared, h)) if shared > 1 else q
    last = grouped.ndim - 1
    logits = _contract(grouped, k, ((last,), (3,)), ((0, 2), (0, 2)), dtype)
    logits = logits * jnp.asarray(scale, dtype)
    if bias is not None:
        logits = (logits + _grouped(bias, shared)).astype(dtype)
    if seen is not None:
        lowest = -0.7 * min(float(finfo(dtype).max), float(finfo(float32).max))
        logits = jnp.where(_grouped(seen, shared), logits, jnp.asarray(lowest, dtype))
    return logits.astype(float32)


def _averaged(logits: Array, v: Array) -> Array:
    """The values, averaged with the weights that logits give: (B, T, K, [N / K,] H)."""
    weights = softmax(logits, axis=-1).astype(v.dtype)
    out = _contract(weights, v, ((logits.ndim - 1,), (1,)), ((0, 1), (0, 2)), None)
    return jnp.moveaxis(out, 1, 2)


_PIECE: Final = 256
"""Queries of a piece, at least. With blocks half as long, programs take longer to compile than they
gain; four pieces are enough for that reason too."""
_PIECES: Final = 4
_WORTH: Final = 1 << 20
"""Logits from which pieces are worth their compilation."""


def _worth_pieces(rows: int, t: int, s: int) -> bool:
    """Whether causal attention is faster in pieces: on a CPU, of more logits than a cache holds."""
    if is_symbolic_length(rows * t * s):
        return False
    return t >= 2 * _PIECE and rows * t * s >= _WORTH and platform() == "cpu"


def _causal_in_pieces(q: Array, k: Array, v: Array, scale: Any) -> Array:
    """Causal attention, some queries at a time, of the keys alone that the last of them sees.

    Of four pieces, that is 5/8 of the products. What a query does not see has the weight 0 in the
    plain form, so the results are the same, but where values that no query sees are not finite.
    """
    t, s = q.shape[1], k.shape[1]
    pieces = _PIECES if t >= _PIECES * _PIECE else 2
    bounds = [t * i // pieces for i in range(pieces + 1)]
    found = []
    for start, stop in itertools.pairwise(bounds):
        some = slice_in_dim(q, start, stop, axis=1)
        seen_k, seen_v = (slice_in_dim(x, 0, min(stop, s), axis=1) for x in (k, v))
        seen = jnp.arange(min(stop, s))[None, :] <= jnp.arange(start, stop)[:, None]
        found.append(_averaged(_logits(some, seen_k, scale, None, seen[None, None]), seen_v))
    return jnp.concatenate(found, axis=1)


def _window(size: int | tuple[int, int] | None) -> tuple[int, int] | None:
    """The numbers of keys before and after its own place that a query sees; None for all."""
    return (size, size) if isinstance(size, int) else size


def _lengths(batch: int, *given: tuple[int, ArrayLike | None]) -> list[Array]:
    """Lengths for each member of the batch, whole ones where none are given; or no list at all."""
    if all(lengths is None for _, lengths in given):
        return []
    return [
        jnp.full(batch, whole, int32) if lengths is None else jnp.asarray(lengths)
        for whole, lengths in given
    ]


def _grouped(x: Array, shared: int) -> Array:
    """Values for (B, N, T, S), or 1 of some, where heads are (B, N / shared, T, shared, S)."""
    if shared == 1:
        return x
    b, n, t, s = x.shape
    apart = (n // shared, shared) if n > 1 else (1, 1)
    return jnp.swapaxes(shape.reshape(x, shape=(b, *apart, t, s)), 2, 3)


def _contract(x: Array, y: Array, contracted: Any, batch: Any, dtype: Any) -> Array:
    return contraction.dot_general(
        x,
        y,
        dimension_numbers=(contracted, batch),
        precision=canonical_precision(None),
        preferred_element_type=dtype,
    )


def _visible(
    mask: ArrayLike | None,
    t: int,
    s: int,
    is_causal: bool,
    query_lengths: ArrayLike | None,
    key_lengths: ArrayLike | None,
    window: tuple[int, int] | None,
) -> Array | None:
    """Return the mask of keys that each query sees, broadcastable to (B, N, T, S); None for all."""
    queries, keys = jnp.arange(t)[:, None], jnp.arange(s)[None, :]
    parts: list[Any] = [] if mask is None else [mask]
    if is_causal:
        parts.append((keys <= queries)[None, None])
    if window is not None:
        before, after = window
        inside = (queries <= keys + before) & (queries >= keys - after)
        parts.append(inside[None, None])
    if query_lengths is not None:
        counted = queries < jnp.asarray(query_lengths)[:, None, None]
        parts.append(counted[:, None])
    if key_lengths is not None:
        counted = keys < jnp.asarray(key_lengths)[:, None, None]
        parts.append(counted[:, None])
    if not parts:
        return None
    return functools.reduce(operator.and_, parts)
