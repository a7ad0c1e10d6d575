"""Products of matrices in block-scaled formats: MXFP8 and NVFP4.

A block of elements in a narrow dtype shares one scale. On Blackwell GPUs such products are one
instruction of the hardware; here they are what it computes, by widened operands.
Sources: OCP Microscaling Formats (MX) v1.0; NVIDIA's recipes for MXFP8 (scales are powers of two,
rounded up) and NVFP4 (scales in float8_e4m3fn under one scale in float32).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import attrs

import effax.numpy as jnp
from effax.api.custom.vjp import custom_vjp
from effax.eager.whole import whole
from effax.effects.rows.contraction import free_dims
from effax.effects.types import typeof
from effax.effects.value import Array, DTypeLike
from effax.lax.contraction import dot_general
from effax.lax.shapes import optimization_barrier


@attrs.frozen(eq=False)
class BlockScaleConfig:
    """The narrow format of an operand: block length, and dtypes of elements and scales."""

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Array | None
    infer_only: bool = False


def get_scaled_dot_general_config(mode: str, global_scale: Array | None = None) -> BlockScaleConfig:
    """Return the narrow formats that `scaled_dot_general` uses for an operand.

    Args:
      mode: "mxfp8": blocks of 32 in float8_e4m3fn, scales that are powers of two; "nvfp4": blocks
        of 16 in float4_e2m1fn, scales in float8_e4m3fn times a `global_scale`.
      global_scale: for nvfp4, an array of one float32; 1 by default.

    Raises `ValueError` for another mode, or a global scale of another shape.

    >>> get_scaled_dot_general_config("mxfp8").block_size
    32
    """
    if mode == "mxfp8":
        return BlockScaleConfig(mode, 32, jnp.float8_e4m3fn, jnp.float8_e8m0fnu, None)
    if mode != "nvfp4":
        raise ValueError(f"Unsupported mode: {mode}; it must be 'mxfp8' or 'nvfp4'")
    scale = jnp.ones(1, "float32") if global_scale is None else jnp.asarray(global_scale)
    if scale.size != 1:
        raise ValueError(f"global_scale must be a scalar, got shape {scale.shape}")
    return BlockScaleConfig(mode, 16, jnp.float4_e2m1fn, jnp.float8_e4m3fn, scale)


def scaled_matmul(
    lhs: Array,
    rhs: Array,
    lhs_scales: Array,
    rhs_scales: Array,
    preferred_element_type: DTypeLike = jnp.float32,
) -> Array:
    """Multiply two batches of matrices whose blocks of elements share scales.

    Args:
      lhs: (B, M, K).
      rhs: (B, N, K).
      lhs_scales: (B, M, K / block), one scale for each block of a row.
      rhs_scales: (B, N, K / block).
      preferred_element_type: the dtype of the result. Sums are in float32.

    Returns:
      (B, M, N): sums over K of `lhs * scales` times `rhs * scales`.

    Raises:
      ValueError: for shapes that don't fit.

    >>> import effax.numpy as jnp
    >>> a, b = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[4.0, 5.0, 6.0]]])
    >>> half = jnp.full((1, 1, 1), 0.5)
    >>> scaled_matmul(a, b, half, half)
    Array([[[8.]]], dtype=float32)
    """
    shapes = [typeof(x).shape for x in (lhs, rhs, lhs_scales, rhs_scales)]
    if any(len(s) != 3 for s in shapes):
        raise ValueError("scaled_matmul requires all inputs to be 3-dimensional arrays")
    for what, (a, b) in (("inputs a and b", shapes[:2]), ("scales", shapes[2:])):
        if (a[0], a[2]) != (b[0], b[2]):
            raise ValueError(
                f"scaled_matmul requires {what} to have matching batch (B) and contract (K) "
                f"dimensions, but got shapes {a} and {b}"
            )
    for x, s in zip(shapes[:2], shapes[2:], strict=True):
        if s[:2] != x[:2] or s[2] == 0 or x[2] % s[2]:
            raise ValueError(
                f"scaled_matmul requires scales for blocks of rows, but got {s} for {x}: the "
                "first two lengths must be equal, and the last must divide"
            )
    dtype = jnp.dtype(preferred_element_type)
    return _scaled_matmul(lhs, rhs, lhs_scales, rhs_scales, dtype)


@whole("dtype")
def _scaled_matmul(lhs: Array, rhs: Array, lhs_scales: Array, rhs_scales: Array, dtype: Any) -> Any:
    a, b = _widened(lhs, lhs_scales), _widened(rhs, rhs_scales)
    return dot_general(a, b, (((2,), (2,)), ((0,), (0,)))).astype(dtype)


def _widened(x: Array, scales: Array) -> Array:
    """The values that narrow elements stand for, in float32."""
    blocks = x.astype("float32").reshape(*scales.shape, -1)
    return (blocks * scales.astype("float32")[..., None]).reshape(x.shape)


def scaled_dot_general(
    lhs: Array,
    rhs: Array,
    dimension_numbers: Any,
    preferred_element_type: Any = jnp.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Array:
    """Compute `dot_general` of operands that are made narrow on the way, block by block.

    Contracted axes are cut into blocks, each of which is rounded to a narrow dtype under a scale
    of its own. Backwards, cotangents and operands are made narrow in the same way; rounding itself
    passes cotangents on as they are.

    Args:
      lhs, rhs: arrays of floats.
      dimension_numbers: as for `dot_general`.
      preferred_element_type: the dtype of the result.
      configs: for lhs, rhs and cotangents, of `get_scaled_dot_general_config`; None for a plain
        `dot_general`.
      implementation: must be None or "cudnn", for which XLA chooses its own way too.

    Returns:
      The product, of the shape that `dot_general` gives.

    Raises:
      ValueError: for other than three configs, and for another implementation.

    >>> import effax.numpy as jnp
    >>> x = jnp.arange(8.0).reshape(2, 4)
    >>> configs = [get_scaled_dot_general_config("mxfp8")] * 3
    >>> scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)[0].tolist()
    [14.0, 38.0]
    """
    if implementation not in (None, "cudnn"):
        raise ValueError(
            f"scaled_dot_general: implementation must be None or 'cudnn', got {implementation!r}"
        )
    (contract, batch) = dimension_numbers
    dims: Any = tuple(tuple(map(tuple, pair)) for pair in (contract, batch))
    dtype = jnp.dtype(preferred_element_type)
    if configs is None:
        return dot_general(lhs, rhs, dims, preferred_element_type=dtype)
    if len(configs) != 3:
        raise ValueError(
            f"scaled_dot_general takes 3 configs, for both operands and grad: {configs}"
        )
    levels = [c.global_scale for c in configs]
    kinds = tuple((c.mode, c.block_size, c.data_type, c.scale_type) for c in configs)
    return _scaled_dot_general(lhs, rhs, levels, dims, dtype, kinds)


@whole("dims", "dtype", "kinds")
def _scaled_dot_general(
    lhs: Array, rhs: Array, levels: Sequence[Any], dims: Any, dtype: Any, kinds: Any
) -> Array:
    configs = [
        BlockScaleConfig(mode, block, narrow, of_scales, level)
        for (mode, block, narrow, of_scales), level in zip(kinds, levels, strict=True)
    ]
    return _differentiable(dims, dtype, configs)(jnp.asarray(lhs), jnp.asarray(rhs))


def _differentiable(dims: Any, dtype: Any, configs: Sequence[BlockScaleConfig]) -> Any:
    of_lhs, of_rhs, of_ct = configs

    def product(lhs: Array, rhs: Array) -> Array:
        (lc, rc), (lb, rb) = dims
        a = _narrowed(_rows(lhs, lc, lb), of_lhs)
        b = _narrowed(_rows(rhs, rc, rb), of_rhs)
        lengths = [lhs.shape[i] for i in (*lb, *free_dims(lhs.ndim, lc, lb))]
        lengths += [rhs.shape[i] for i in free_dims(rhs.ndim, rc, rb)]
        return scaled_matmul(a[0], b[0], a[1], b[1], dtype).reshape(lengths)

    made = custom_vjp(product)
    plain = partial(dot_general, dimension_numbers=dims, preferred_element_type=dtype)

    def forward(lhs: Array, rhs: Array) -> tuple[Array, tuple[Array, Array]]:
        return made(lhs, rhs), (lhs, rhs)

    def backward(operands: tuple[Array, Array], ct: Array) -> tuple[Array, Array]:
        # The transposes of dot_general. Their operands are quantized along the axes that they
        # contract: the other operand's free axes.
        from effax.api.derivatives.reverse import linear_transpose

        lhs, rhs = operands
        (lc, rc), (lb, rb) = dims
        n, left = len(lb), len(free_dims(lhs.ndim, lc, lb))
        of_left, of_right = range(n, n + left), range(n + left, ct.ndim)
        narrow_rhs = _rounded(rhs, free_dims(rhs.ndim, rc, rb), of_rhs)
        narrow_lhs = _rounded(lhs, free_dims(lhs.ndim, lc, lb), of_lhs)
        to_lhs = linear_transpose(lambda x: plain(x, narrow_rhs), lhs)
        to_rhs = linear_transpose(lambda y: plain(narrow_lhs, y), rhs)
        return (
            to_lhs(_rounded(ct, tuple(of_right), of_ct))[0],
            to_rhs(_rounded(ct, tuple(of_left), of_ct))[0],
        )

    made.defvjp(forward, backward)
    return made


def _rows(x: Array, contracted: Sequence[int], batch: Sequence[int]) -> Array:
    """An operand as (batch, free, contracted)."""
    free = free_dims(x.ndim, tuple(contracted), tuple(batch))
    lengths = [prod(x.shape[i] for i in axes) for axes in (batch, free, contracted)]
    return x.transpose(*batch, *free, *contracted).reshape(lengths)


@whole("block", "narrow", "of_scales", "two_levels")
def _quantized(
    x: Array, level: Array, block: int, narrow: Any, of_scales: Any, two_levels: bool
) -> tuple[Array, Array]:
    limit = float(jnp.finfo(narrow).max)
    padding = -x.shape[-1] % block
    padded = jnp.pad(x.astype("float32"), [*[(0, 0)] * (x.ndim - 1), (0, padding)])
    blocks = padded.reshape(*x.shape[:-1], -1, block)
    wanted = jnp.abs(blocks).max(-1) / limit
    if two_levels:
        largest = float(jnp.finfo(of_scales).max)
        scales = jnp.clip(wanted / level, 0, largest).astype(of_scales)
        factors = scales.astype("float32") * level
    else:
        # A power of two, rounded up, so that no element of the block overflows the dtype.
        mantissa, exponent = jnp.frexp(wanted)
        exponent = jnp.where(mantissa == 0.5, exponent - 1, exponent)
        factors = jnp.ldexp(jnp.ones_like(wanted), jnp.clip(exponent, -126, 127))
        scales = factors.astype(of_scales)
    safe = jnp.where(factors == 0, 1, factors)[..., None]
    elements = jnp.clip(blocks / safe, -limit, limit).astype(narrow)
    # XLA for GPUs takes a float for what it was before it was made narrow, where it sees both.
    return optimization_barrier((elements.reshape(padded.shape), scales))


def _narrowed(x: Array, config: BlockScaleConfig) -> tuple[Array, Array]:
    """The narrow elements of rows, and the scales of their blocks, the global one multiplied in."""
    level = jnp.ones(1, "float32") if config.global_scale is None else config.global_scale
    two_levels = config.global_scale is not None
    elements, scales = _quantized(
        x, level[0], config.block_size, config.data_type, config.scale_type, two_levels
    )
    return elements, scales.astype("float32") * level[0] if two_levels else scales


def _rounded(x: Array, axes: Sequence[int], config: BlockScaleConfig) -> Array:
    """An array rounded as `config` says, in blocks along some axes."""
    others = tuple(i for i in range(x.ndim) if i not in axes)
    order = (*others, *axes)
    rows = _rows(x, axes, ())
    wide = _widened(*_narrowed(rows, config))[..., : rows.shape[-1]]
    moved = wide.reshape([x.shape[i] for i in order])
    return moved.transpose(*[order.index(i) for i in range(x.ndim)]).astype(x.dtype)
