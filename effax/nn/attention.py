"""Dot-product attention."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Literal, overload

import effax.numpy as jnp
from effax.api.custom.jvp import stop_gradient
from effax.eager.whole import whole
from effax.effects.rows import contraction, shape
from effax.effects.types import finfo, float32, int32, is_bool, typeof
from effax.effects.value import Array, ArrayLike
from effax.lax.contraction import canonical_precision
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
    for name, lengths in (
        ("query_seq_lengths", query_seq_lengths),
        ("key_value_seq_lengths", key_value_seq_lengths),
    ):
        if lengths is not None and typeof(lengths).dtype != int32:
            raise ValueError(f"{name} dtype should be int32, but got {typeof(lengths).dtype.name}")
    if implementation == "cudnn":
        found = cudnn.attention(
            q,
            k,
            v,
            logit_bias,
            seen_pairs,
            _lengths(b, (t, query_seq_lengths), (s, key_value_seq_lengths)),
            scale=1.0 / math.sqrt(h) if scale is None else scale,
            causal=is_causal,
            window=_window(local_window_size),
            residual=return_residual,
        )
        out = shape.reshape(found[0], shape=given)
        if not return_residual:
            return out
        return out, shape.reshape(found[1].astype(k.dtype), shape=given[:-1])
    logits_dtype = jnp.promote_types(q.dtype, float32)
    # Query heads that share keys and values are rows of one product, so that nothing is repeated.
    shared = n // heads
    grouped = shape.reshape(q, shape=(b, t, heads, shared, h)) if shared > 1 else q
    last = grouped.ndim - 1
    logits = _contract(grouped, k, ((last,), (3,)), ((0, 2), (0, 2)), logits_dtype)
    logits = logits * jnp.asarray(1.0 / math.sqrt(h) if scale is None else scale, logits_dtype)
    if logit_bias is not None:
        logits = (logits + _grouped(logit_bias, shared)).astype(logits_dtype)
    seen = _visible(
        seen_pairs,
        t,
        s,
        is_causal,
        query_seq_lengths,
        key_value_seq_lengths,
        _window(local_window_size),
    )
    if seen is not None:
        lowest = -0.7 * min(float(finfo(logits_dtype).max), float(finfo(float32).max))
        logits = jnp.where(_grouped(seen, shared), logits, jnp.asarray(lowest, logits_dtype))
    logits = logits.astype(float32)
    weights = softmax(logits, axis=-1).astype(k.dtype)
    out = _contract(weights, v, ((last,), (1,)), ((0, 1), (0, 2)), None)
    out = jnp.moveaxis(out, 1, 2)
    if query_seq_lengths is not None:
        counted = jnp.arange(t)[None, :] < jnp.asarray(query_seq_lengths)[:, None]
        counted = shape.expand_dims(counted, tuple(range(2, out.ndim)))
        out = out * counted.astype(out.dtype)
    out = shape.reshape(out, shape=given)
    if not return_residual:
        return out
    residual = jnp.moveaxis(logsumexp(logits, axis=-1).astype(k.dtype), 1, 2)
    return out, stop_gradient(shape.reshape(residual, shape=given[:-1]))


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
