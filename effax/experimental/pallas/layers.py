"""Kernels for what networks are made of: attention that keeps no matrix of weights, and norms."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

import effax.lax as lax
import effax.numpy as jnp
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.api.custom.vjp import custom_vjp
from effax.effects.frames import filtered
from effax.effects.types import typeof
from effax.effects.value import Array, ArrayLike
from effax.experimental.pallas.calling import pallas_call
from effax.experimental.pallas.inside import cdiv, dot, when
from effax.experimental.pallas.points import num_programs, program_id
from effax.experimental.pallas.specs import BlockSpec, MemorySpace
from effax.experimental.pallas.tpu import CompilerParams

__all__ = ["attention", "rms_norm"]
__dir__ = __all__.copy

_LOWEST: Final = -1e30
"""A finite stand-in for minus infinity among logits: the difference of two is 0 instead of NaN."""

_ELEMENTS: Final = 8192
"""Elements of a block of rows on a GPU: on an H100, 16384 rows of 4096 in bfloat16 take 0.095 ms in
blocks of two, as by XLA's form of a norm, and 0.129 in blocks of eight."""


@attrs.frozen
class _Hints(CompilerParams):
    """Hints for both compilers: those of TPUs do not look at warps, nor those of GPUs at axes."""

    num_warps: int | None = None


_ORDER: Final = ("parallel", "parallel", "parallel", "arbitrary")
_WIDE_BLOCK: Final = 128 * 128
"""Blocks of as many logits have 8 warps. With 4, registers spill: on an H200 the gradient of 4096
causal bfloat16 queries in 4 x 16 heads of 64 takes 7.3 ms then, not 2.8. Smaller blocks are faster
with 4, by half."""


@filtered
def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    block_q: int = 128,
    block_k: int = 128,
    interpret: bool = False,
) -> Array:
    """Return `softmax(query @ key^T * scale) @ value`, block by block (Dao et al. 2022).

    The matrix of weights is never held: its blocks are computed as they are needed, and once more
    for the gradient, which is made of kernels too.

    Args:
      query: of shape (B, N, T, H): batch, heads, places, length of a head.
      key: of shape (B, K, S, H), where N is a multiple of K.
      value: like key.
      is_causal: whether a query sees no later keys.
      scale: what the logits are multiplied by, `1 / sqrt(H)` by default.
      block_q: how many queries a block has, a divisor of T.
      block_k: how many keys a block has, a divisor of S.
      interpret: whether the kernels are run as loops on every platform.

    Returns:
      An array of the shape and dtype of `query`.

    Raises:
      ValueError: where shapes do not fit, or lengths are no multiples of the blocks'.

    >>> x = jnp.ones((1, 2, 16, 4))
    >>> attention(x, x, x, is_causal=True, block_q=8, block_k=8).shape
    (1, 2, 16, 4)
    """
    q, k, v = (jnp.asarray(x) for x in (query, key, value))
    if q.ndim != 4 or k.ndim != 4 or k.shape != v.shape or q.shape[3] != k.shape[3]:
        raise ValueError(
            "attention: query must be of shape (B, N, T, H), key and value of (B, K, S, H), got "
            f"{q.shape}, {k.shape} and {v.shape}"
        )
    (b, n, t, h), (kb, heads, s, _) = q.shape, k.shape
    if kb != b or n % heads:
        raise ValueError(
            f"attention: the heads of query must be a multiple of those of key, got {n} and {heads}"
        )
    block_q, block_k = min(block_q, t), min(block_k, s)
    if t % block_q or s % block_k:
        raise ValueError(
            "attention: the numbers of queries and keys must be multiples of the block sizes "
            f"{block_q} and {block_k}, got {t} and {s}; pad them, or choose other block sizes"
        )
    factor = 1 / math.sqrt(h) if scale is None else scale
    return _Attention(is_causal, factor, block_q, block_k, interpret)(q, k, v)


class _Attention:
    """Attention with these options, and its derivative."""

    def __init__(
        self, is_causal: bool, scale: float, block_q: int, block_k: int, interpret: bool
    ) -> None:
        self.is_causal, self.scale = is_causal, scale
        self.rows, self.columns, self.interpret = block_q, block_k, interpret
        self.call = custom_vjp(lambda q, k, v: self.forward(q, k, v)[0])
        self.call.defvjp(self.kept, self.backward)

    def __call__(self, q: Array, k: Array, v: Array) -> Array:
        found: Array = self.call(q, k, v)
        return found

    def kept(self, q: Array, k: Array, v: Array) -> tuple[Array, tuple[Array, ...]]:
        """The result, and what the gradient needs."""
        out, sums = self.forward(q, k, v)
        return out, (q, k, v, out, sums)

    def specs(self, q: Array, k: Array, turned: bool) -> tuple[BlockSpec, BlockSpec, BlockSpec]:
        """The blocks of queries, of keys, and of one number for each query.

        The grid is over batch, heads, blocks of queries, and blocks of keys (the last two
        exchanged where `turned`).
        """
        group = q.shape[1] // k.shape[1]

        def pair(i: Any, j: Any) -> tuple[Any, Any]:
            return (j, i) if turned else (i, j)

        def head(n: Any) -> Any:
            return n if group == 1 else lax.div(n, jnp.int32(group))

        return (
            BlockSpec(
                (None, None, self.rows, q.shape[3]), lambda b, n, i, j: (b, n, pair(i, j)[0], 0)
            ),
            BlockSpec(
                (None, None, self.columns, k.shape[3]),
                lambda b, n, i, j: (b, head(n), pair(i, j)[1], 0),
            ),
            BlockSpec((None, None, self.rows, 1), lambda b, n, i, j: (b, n, pair(i, j)[0], 0)),
        )

    def logits(self, q: Array, k: Array, turned: bool) -> Array:
        """A block of logits, those of later keys lowest."""
        found = dot(q, k, trans_b=True) * self.scale
        if not self.is_causal:
            return found
        i, j = (3, 2) if turned else (2, 3)
        row = program_id(i) * self.rows + lax.broadcasted_iota(jnp.int32, found.shape, 0)
        column = program_id(j) * self.columns + lax.broadcasted_iota(jnp.int32, found.shape, 1)
        return jnp.where(column <= row, found, _LOWEST)

    def where_seen(self, turned: bool) -> Callable[[Callable[[], None]], Any]:
        """A decorator: do this at blocks of which a query sees some key."""
        if not self.is_causal:
            return lambda f: f()
        i, j = (3, 2) if turned else (2, 3)
        return when(program_id(j) * self.columns < (program_id(i) + 1) * self.rows)

    def run(
        self,
        kernel: Any,
        grid: Sequence[int],
        ins: Sequence[BlockSpec],
        outs: Sequence[BlockSpec],
        types: Sequence[Any],
        scratch: Sequence[Any],
        args: Sequence[Array],
    ) -> Any:
        """Call a kernel over batch, heads, and the blocks of one axis for each of the other."""
        warps = 8 if self.rows * self.columns >= _WIDE_BLOCK else 4
        return pallas_call(
            kernel,
            list(types),
            grid=tuple(grid),
            in_specs=list(ins),
            out_specs=list(outs),
            scratch_shapes=[MemorySpace.VMEM(lengths, "float32") for lengths in scratch],
            compiler_params=_Hints(dimension_semantics=_ORDER, num_warps=warps),
            interpret=self.interpret,
            name=kernel.__name__,
        )(*args)

    def forward(self, q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        """The result, and the logarithm of the sum of each row of weights."""

        def attention_kernel(*refs: Any) -> None:
            q_ref, k_ref, v_ref, o_ref, s_ref, m_ref, l_ref, a_ref = refs

            @when(program_id(3) == 0)
            def _() -> None:
                m_ref[...] = jnp.full(m_ref.shape, _LOWEST, "float32")
                l_ref[...] = jnp.zeros(l_ref.shape, "float32")
                a_ref[...] = jnp.zeros(a_ref.shape, "float32")

            @self.where_seen(False)
            def _() -> None:
                x = self.logits(q_ref[...], k_ref[...], False)
                top = jnp.maximum(m_ref[...], jnp.max(x, axis=1, keepdims=True))
                weights = jnp.exp(x - top)
                fade = jnp.exp(m_ref[...] - top)
                l_ref[...] = fade * l_ref[...] + jnp.sum(weights, axis=1, keepdims=True)
                a_ref[...] = fade * a_ref[...] + dot(weights.astype(v_ref.dtype), v_ref[...])
                m_ref[...] = top

            @when(program_id(3) == num_programs(3) - 1)
            def _() -> None:
                o_ref[...] = (a_ref[...] / l_ref[...]).astype(o_ref.dtype)
                s_ref[...] = m_ref[...] + jnp.log(l_ref[...])

        (b, n, t, h), s = q.shape, k.shape[2]
        of_q, of_k, of_row = self.specs(q, k, False)
        row = (self.rows, 1)
        out, sums = self.run(
            attention_kernel,
            (b, n, t // self.rows, s // self.columns),
            [of_q, of_k, of_k],
            [of_q, of_row],
            [ShapeDtypeStruct(q.shape, q.dtype), ShapeDtypeStruct((b, n, t, 1), jnp.float32)],
            [row, row, (self.rows, h)],
            (q, k, v),
        )
        return out, sums

    def weights(self, refs: Sequence[Any], turned: bool) -> tuple[Array, Array]:
        """A block of weights, and of the cotangents of its logits."""
        q_ref, k_ref, v_ref, ct_ref, sums_ref, dots_ref = refs
        x = self.logits(q_ref[...], k_ref[...], turned)
        weights = jnp.exp(x - sums_ref[...])
        along = dot(ct_ref[...], v_ref[...], trans_b=True)
        return weights, weights * (along - dots_ref[...]) * self.scale

    def backward(self, kept: tuple[Array, ...], ct: Array) -> tuple[Array, Array, Array]:
        """The cotangents of queries, by blocks of them, then of keys and values, by theirs."""
        q, k, v, out, sums = kept
        dots = jnp.sum(out.astype("float32") * ct.astype("float32"), axis=3, keepdims=True)
        args = (q, k, v, ct, sums, dots)
        (b, n, t, h), s = q.shape, k.shape[2]
        lengths = (t // self.rows, s // self.columns)

        def query_kernel(*refs: Any) -> None:
            *given, o_ref, a_ref = refs

            @when(program_id(3) == 0)
            def _() -> None:
                a_ref[...] = jnp.zeros(a_ref.shape, "float32")

            @self.where_seen(False)
            def _() -> None:
                moved = self.weights(given, False)[1]
                key = given[1][...]
                a_ref[...] += dot(moved.astype(key.dtype), key)

            @when(program_id(3) == num_programs(3) - 1)
            def _() -> None:
                o_ref[...] = a_ref[...].astype(o_ref.dtype)

        def key_kernel(*refs: Any) -> None:
            *given, k_ref, v_ref, a_ref, c_ref = refs

            @when(program_id(3) == 0)
            def _() -> None:
                a_ref[...] = jnp.zeros(a_ref.shape, "float32")
                c_ref[...] = jnp.zeros(c_ref.shape, "float32")

            @self.where_seen(True)
            def _() -> None:
                weights, moved = self.weights(given, True)
                query, along = given[0][...], given[3][...]
                a_ref[...] += dot(moved.astype(query.dtype), query, trans_a=True)
                c_ref[...] += dot(weights.astype(along.dtype), along, trans_a=True)

            @when(program_id(3) == num_programs(3) - 1)
            def _() -> None:
                k_ref[...] = a_ref[...].astype(k_ref.dtype)
                v_ref[...] = c_ref[...].astype(v_ref.dtype)

        of_q, of_k, of_row = self.specs(q, k, False)
        ins = [of_q, of_k, of_k, of_q, of_row, of_row]
        (dq,) = self.run(
            query_kernel,
            (b, n, *lengths),
            ins,
            [of_q],
            [ShapeDtypeStruct(q.shape, q.dtype)],
            [(self.rows, h)],
            args,
        )
        of_q, of_k, of_row = self.specs(q, k, True)
        ins = [of_q, of_k, of_k, of_q, of_row, of_row]
        every = BlockSpec((None, None, self.columns, h), lambda b, n, j, i: (b, n, j, 0))
        type = ShapeDtypeStruct((b, n, s, h), k.dtype)
        dk, dv = self.run(
            key_kernel,
            (b, n, *lengths[::-1]),
            ins,
            [every, every],
            [type, type],
            [(self.columns, h)] * 2,
            args,
        )
        return dq, _summed(dk, k.shape), _summed(dv, k.shape)


def _summed(x: Array, lengths: tuple[int, ...]) -> Array:
    """The cotangents of heads that several heads of queries looked at."""
    b, heads, s, h = lengths
    if x.shape == lengths:
        return x
    return jnp.sum(x.reshape(b, heads, -1, s, h), axis=2, dtype="float32").astype(x.dtype)


def _norm_kernel(x_ref: Any, w_ref: Any, o_ref: Any, *, epsilon: float) -> None:
    x = x_ref[...].astype("float32")
    size = lax.rsqrt(jnp.mean(jnp.square(x), axis=1, keepdims=True) + epsilon)
    o_ref[...] = (x * size * w_ref[...]).astype(o_ref.dtype)


@filtered
def rms_norm(
    x: ArrayLike,
    weight: ArrayLike,
    *,
    epsilon: float = 1e-6,
    block_rows: int | None = None,
    interpret: bool = False,
) -> Array:
    """Return the rows of `x`, each divided by its root mean square, times `weight`.

    Args:
      x: of shape (..., H).
      weight: of shape (H,).
      epsilon: added to the mean square.
      block_rows: how many rows a block has; by default 8, and on a GPU at most as many as have 8192
        elements, which its registers hold.
      interpret: whether the kernel is run as a loop on every platform.

    Raises:
      ValueError: where `weight` is not as long as a row.

    >>> rms_norm(jnp.array([[3.0, 4.0]]), jnp.ones(2), epsilon=0.0)
    Array([[0.84852815, 1.1313709 ]], dtype=float32)
    """
    given = typeof(x)
    n = given.shape[-1]
    if typeof(weight).shape != (n,):
        raise ValueError(f"rms_norm: weight must be of shape ({n},), got {typeof(weight).shape}")
    rows, weights = jnp.reshape(x, (-1, n)), jnp.reshape(weight, (1, n))

    def normed(block: int, rows: Array, weights: Array) -> Array:
        block = min(block, rows.shape[0])
        spec = BlockSpec((block, n), lambda i: (i, 0))
        found: Array = pallas_call(
            functools.partial(_norm_kernel, epsilon=epsilon),
            ShapeDtypeStruct(rows.shape, given.dtype),
            grid=cdiv(rows.shape[0], block),
            in_specs=[spec, BlockSpec((1, n), lambda i: (0, 0))],
            out_specs=spec,
            compiler_params=CompilerParams(dimension_semantics=("parallel",)),
            interpret=interpret,
            name="rms_norm",
        )(rows, weights)
        return found

    few = next((b for b in (4, 2) if b * n <= _ELEMENTS), 1)
    if block_rows is not None or 8 * n <= _ELEMENTS:
        found = normed(block_rows or 8, rows, weights)
    else:
        found = lax.platform_dependent(
            rows,
            weights,
            cuda=functools.partial(normed, few),
            default=functools.partial(normed, 8),
        )
    return jnp.reshape(found, given.shape)
