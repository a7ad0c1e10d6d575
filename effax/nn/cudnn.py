"""Dot-product attention by cuDNN's fused kernels, which hold no matrix of weights."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Final

import attrs

import effax.numpy as jnp
from effax.api.custom.vjp import custom_vjp
from effax.custom_batching import custom_vmap
from effax.effects.rows.foreign import Target, foreign_call
from effax.effects.types import ShapedArray, bfloat16, float16, float32, uint8
from effax.effects.value import Array

_ELEMENTS: Final = {bfloat16: "BF16", float16: "F16"}
_LARGEST_HEAD: Final = 256

# Axes of (lhs, rhs) that a product contracts, and its batch axes: queries are BTNH, keys and values
# BSNH, weights BNTS. XLA's `CudnnfMHABackendConfig` names the products.
_FORWARD: Final = {"bmm1": ((3, 3), ((0, 2), (0, 2))), "bmm2": ((3, 1), ((0, 1), (0, 2)))}
_BACKWARD: Final = {
    "bmm1_grad_gemm1": ((2, 1), ((0, 1), (0, 2))),
    "bmm1_grad_gemm2": ((3, 1), ((0, 1), (0, 2))),
    "bmm2_grad_gemm1": ((2, 1), ((0, 1), (0, 2))),
    "bmm2_grad_gemm2": ((3, 3), ((0, 2), (0, 2))),
}


@attrs.frozen
class Fused:
    """The static arguments of an attention.

    `window` is how many keys a query sees, itself and those before it, 0 for all. `padded` says
    that lengths of queries and keys are given, `biased` that a bias is, `slope` that it has a
    cotangent, `residual` that the denominators are a result.
    """

    scale: float
    causal: bool
    window: int
    padded: bool
    biased: bool
    slope: bool
    residual: bool

    def config(self, q: Any, k: Any, products: dict[str, Any]) -> str:
        """The `GpuBackendConfig`, in JSON, that XLA's rewriter of these calls reads."""
        (b, t, n, _), s = q.shape, k.shape[1]
        padding, causal = "PADDING" * self.padded, "CAUSAL" * self.causal
        fmha = {
            "algorithm": {
                "algo_id": "0",
                "math_type": "TENSOR_OP_MATH",
                "tuning_knobs": {"17": "1", "24": "0"},
                "is_cudnn_frontend": True,
                "workspace_size": "0",
            },
            "fmha_scale": self.scale,
            "intermediate_tensor_shape": {
                "element_type": _ELEMENTS[q.dtype],
                "dimensions": [str(length) for length in (b, n, t, s)],
                "layout": {"minor_to_major": ["3", "2", "1", "0"]},
                "is_dynamic_dimension": [False] * 4,
            },
            "is_flash_attention": True,
            "mask_type": "_".join(filter(None, (padding, causal))) or "NO_MASK",
            "dropout_rate": 0.0,
            "seed": 42,
            "sliding_window_length": self.window,
            "max_seg_per_batch": 1,
            "is_paged_attention": False,
        }
        for name, ((lhs, rhs), (lhs_batch, rhs_batch)) in products.items():
            fmha[f"{name}_dot_dimension_numbers"] = {
                "lhs_contracting_dimensions": [str(lhs)],
                "rhs_contracting_dimensions": [str(rhs)],
                "lhs_batch_dimensions": [str(i) for i in lhs_batch],
                "rhs_batch_dimensions": [str(i) for i in rhs_batch],
            }
        return json.dumps({"operation_queue_id": "0", "cudnn_fmha_backend_config": fmha})

    def call(
        self, name: str, operands: Sequence[Any], heads: Sequence[Any], flat: Sequence[ShapedArray]
    ) -> list[Any]:
        """Perform the call. Results like `heads`, (B, T, N, H), come before those of types `flat`.

        cuDNN gives the first as (B, N, T, H), lying in memory as they are asked for here.
        """
        kind = "ScaleBiasSoftmax" if self.biased else "Softmax"
        q, k, *_ = operands
        turned = [ShapedArray(tuple([x.shape[i] for i in (0, 2, 1, 3)]), x.dtype) for x in heads]
        types = (*turned, *flat, ShapedArray((0,), uint8))  # a workspace, to which XLA gives a size
        target = Target(
            f"__cudnn$fmha{kind}{name}",
            result_layouts=tuple([(0, 2, 1, 3)] * len(heads) + [None] * (len(flat) + 1)),
            api_version=2,
            config=self.config(q, k, _BACKWARD if name else _FORWARD),
        )
        found = foreign_call(*operands, target=target, result_types=types, vmap_method=None)
        n = len(heads)
        return [*(jnp.swapaxes(x, 1, 2) for x in found[:n]), *found[n:-1]]

    def forward(self, sums: bool, q: Any, k: Any, v: Any, bias: Any, lengths: Any) -> list[Any]:
        """The result; and the logarithms of the softmax's denominators, (B, N, T), with `sums`."""
        b, t, n, _ = q.shape
        operands = [q, k, v, *bias, *lengths]
        return self.call("", operands, [q], [ShapedArray((b, n, t), float32)] * sums)

    def backward(
        self, q: Any, k: Any, v: Any, bias: Any, lengths: Any, out: Any, sums: Any, ct: Any
    ) -> list[Any]:
        """The cotangents of queries, keys, values and, where asked for, of the bias."""
        operands = [q, k, v, sums, ct, *bias, out, *lengths]
        slopes = [ShapedArray(x.shape, x.dtype) for x in bias if self.slope]
        return self.call("Backward", operands, [q, k, v], slopes)


def _one_batch(f: Any) -> Any:
    """A function of arrays with a batch axis in front, under `vmap` called once for all lanes."""
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def lanes_in_front(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        def merged(x: Any, batched: bool) -> Any:
            if not batched:
                x = jnp.broadcast_to(x, (axis_size, *x.shape))
            return jnp.reshape(x, (axis_size * x.shape[1], *x.shape[2:]))

        found = mapped(*[merged(x, b) for x, b in zip(args, in_batched, strict=True)])
        split = [jnp.reshape(x, (axis_size, -1, *x.shape[1:])) for x in found]
        return split, [True] * len(split)

    return mapped


@functools.lru_cache(maxsize=256)
def _attention(fused: Fused) -> Any:
    """The attention as a function with a gradient, and a batch rule for both directions."""

    def parts(args: Sequence[Any]) -> tuple[Any, ...]:
        q, k, v, *rest = args
        return q, k, v, rest[: fused.biased], rest[fused.biased :]

    inputs = 3 + fused.biased + 2 * fused.padded
    value = _one_batch(lambda *args: fused.forward(fused.residual, *parts(args)))
    forward = _one_batch(lambda *args: fused.forward(True, *parts(args)))
    backward = _one_batch(lambda *args: fused.backward(*parts(args[:inputs]), *args[inputs:]))

    @custom_vjp
    def attention(*args: Any) -> Any:
        return value(*args)

    def attention_fwd(*args: Any) -> Any:
        out, sums = forward(*args)
        return [out, sums] if fused.residual else [out], (args, out, sums)

    def attention_bwd(residuals: Any, cts: Any) -> tuple[Any, ...]:
        args, out, sums = residuals
        found = backward(*args, out, sums, cts[0])
        return (*found, *[None] * (inputs - len(found)))

    attention.defvjp(attention_fwd, attention_bwd)
    return attention


def attention(
    q: Array,
    k: Array,
    v: Array,
    bias: Array | None,
    mask: Array | None,
    lengths: Sequence[Array],
    *,
    scale: float,
    causal: bool,
    window: tuple[int, int] | None,
    residual: bool,
) -> list[Array]:
    """Return the attention; and the logarithms of its softmax's denominators, where asked for.

    These are (B, T, N), and have no gradient, as in JAX.

    Args:
      q, k, v: of shapes (B, T, N, H), (B, S, K, H) and (B, S, K, H), bfloat16 or float16.
      bias, mask: what is added to the logits, and which keys are seen: (B or 1, N or 1, T, S).
      lengths: how many queries and how many keys of each member of the batch count; or nothing.
      scale: what the logits are multiplied by.
      causal: whether a query sees no later keys.
      window: how many keys before and after its own place a query sees; None for all.
      residual: whether the logarithms are a result too.

    Raises:
      NotImplementedError: for dtypes and lengths of heads that cuDNN has no kernels for.
      ValueError: for a window that reaches beyond a query's own place where `causal` is not set.
    """
    if q.dtype not in _ELEMENTS or k.dtype != q.dtype:
        raise NotImplementedError(
            "dot_product_attention(implementation='cudnn'): query, key and value must all be "
            f"bfloat16 or float16, got {q.dtype} and {k.dtype}; convert them, or leave out "
            "implementation"
        )
    if q.shape[3] % 8 or q.shape[3] > _LARGEST_HEAD:
        raise NotImplementedError(
            "dot_product_attention(implementation='cudnn'): the length of a head must be a "
            f"multiple of 8 and at most {_LARGEST_HEAD}, got {q.shape[3]}"
        )
    seen = 0
    if window is not None:
        before, after = window
        if after and not causal:
            raise ValueError(
                "dot_product_attention(implementation='cudnn'): cuDNN has no window after a "
                f"query's own place without is_causal=True, got local_window_size={window}"
            )
        seen = before + 1
    both = _masked_bias(bias, mask, q, k)
    fused = Fused(
        float(scale), causal, seen, bool(lengths), both is not None, bias is not None, residual
    )
    operands = [q, k, v, *([] if both is None else [both]), *lengths]
    out, *sums = _attention(fused)(*operands)
    return [out, *(jnp.swapaxes(x, 1, 2) for x in sums)]


def _masked_bias(bias: Any, mask: Any, q: Any, k: Any) -> Any:
    """A bias of queries' dtype, lowest where a key is not seen; (B, N, T, S), or None.

    It is of a power of two that half the dtype's range holds: cuDNN subtracts two of them.
    """
    if bias is None and mask is None:
        return None
    shape = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    lowest = jnp.asarray(-(2.0**41) if q.dtype == bfloat16 else -(2.0**15), q.dtype)
    added = jnp.zeros((), q.dtype) if bias is None else jnp.asarray(bias, q.dtype)
    both = added if mask is None else jnp.where(mask, added, lowest)
    return jnp.broadcast_to(both, shape)
