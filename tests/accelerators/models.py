"""Programs that take more than a line: callbacks, training steps, and programs over many chips.

Each is written once, over `jax`, which is either library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from benchmarks import models

Shape = tuple[int, ...]


@attrs.frozen
class Type:
    """The type of an operand; over many chips also its axes' mesh axes."""

    dtype: str
    shape: Shape
    spec: tuple[Any, ...] = ()


def _f32(*shape: int) -> Type:
    return Type("float32", shape)


def _i32(*shape: int) -> Type:
    return Type("int32", shape)


def functions(jax: Any) -> dict[str, Callable[..., Any]]:
    """The functions that lines of the table mention beside the library's own."""
    jnp, lax = jax.numpy, jax.lax

    def same(x: Any) -> Any:
        return np.sin(np.asarray(x))

    def seen(*_: Any) -> None:
        return None

    def debugged(x: Any) -> Any:
        jax.debug.print("sum {}", jnp.sum(x))
        return x * 2

    def ordered_debugged(x: Any) -> Any:
        jax.debug.print("first {}", x[0, 0], ordered=True)
        jax.debug.print("second {}", x[0, 1], ordered=True)
        return x * 2

    def debugged_in_a_loop(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            jax.debug.print("{}", carry[0])
            return carry + row, None

        return lax.scan(step, x[0], x)[0]

    def debug_called(x: Any) -> Any:
        jax.debug.callback(seen, x)
        return x * 2

    def pure_called(x: Any) -> Any:
        return jax.pure_callback(same, x, x) * 2

    def io_called(x: Any) -> Any:
        return jax.experimental.io_callback(same, x, x, ordered=True) * 2

    return {
        f.__name__: f
        for f in (
            debugged,
            ordered_debugged,
            debugged_in_a_loop,
            debug_called,
            pure_called,
            io_called,
        )
    }


def _step(jax: Any, loss: Callable[..., Any]) -> Callable[..., Any]:
    """One step of gradient descent: the loss, and new parameters."""

    def step(params: Any, *rest: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(params, *rest)
        return value, jax.tree.map(lambda p, g: p - 0.01 * g, params, slopes)

    return step


def _adam(jax: Any, loss: Callable[..., Any]) -> Callable[..., Any]:
    jnp = jax.numpy

    def step(params: Any, m: Any, v: Any, *rest: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(params, *rest)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, slopes)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, slopes)
        new = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, m, v)
        return value, new, m, v

    return step


def _types(tree: Any) -> Any:
    """The types of the arrays in nested lists, tuples and dicts."""
    if isinstance(tree, dict):
        return {k: _types(x) for k, x in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(map(_types, tree))
    return Type(str(tree.dtype), tree.shape)


def transformer(jax: Any) -> Callable[..., Any]:
    return _step(jax, models.transformer(jax, jax.numpy, 2))


def network(jax: Any) -> Callable[..., Any]:
    return _adam(jax, models.network(jax.numpy))


def convolutions(jax: Any) -> Callable[..., Any]:
    jnp, lax = jax.numpy, jax.lax

    def loss(params: Any, x: Any, labels: Any) -> Any:
        for k in params["kernels"]:
            x = lax.conv_general_dilated(
                x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            mean = jnp.mean(x, (0, 1, 2))
            x = jax.nn.relu((x - mean) * lax.rsqrt(jnp.var(x, (0, 1, 2)) + 1e-5))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = jnp.mean(x, (1, 2)) @ params["head"]
        chosen = jax.nn.one_hot(labels, 10) * jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.sum(chosen, -1))

    return _step(jax, loss)


def language_model(jax: Any) -> Callable[..., Any]:
    """A decoder of scanned and recomputed blocks, with grouped-query attention and rotary
    positions, in bfloat16."""
    jnp, lax = jax.numpy, jax.lax

    def normalized(x: Any, scale: Any) -> Any:
        wide = x.astype("float32")
        size = lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
        return (wide * size).astype(x.dtype) * scale

    def rotated(x: Any) -> Any:
        half = x.shape[-1] // 2
        angles = jnp.arange(x.shape[1])[:, None] * 0.01 ** (jnp.arange(half) / half)
        cos, sin = (f(angles)[None, :, None].astype(x.dtype) for f in (jnp.cos, jnp.sin))
        one, other = jnp.split(x, 2, -1)
        return jnp.concatenate([one * cos - other * sin, one * sin + other * cos], -1)

    def block(x: Any, p: Any) -> Any:
        y = normalized(x, p["before"])
        q = jnp.einsum("btd,dhk->bthk", y, p["q"])
        k, v = jnp.split(jnp.einsum("btd,dhk->bthk", y, p["kv"]), 2, -1)
        attended = jax.nn.dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + jnp.einsum("bthk,hkd->btd", attended, p["out"])
        y = normalized(x, p["after"])
        gate, up = jnp.split(y @ p["up"], 2, -1)
        return x + (jax.nn.silu(gate) * up) @ p["down"], None

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embedding"][tokens[:, :-1]]
        x, _ = lax.scan(jax.checkpoint(block), x, params["blocks"])
        logits = (x @ params["embedding"].T).astype("float32")
        right = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - right)

    return _step(jax, loss)


def language_model_types(layers: int = 3, width: int = 128, heads: int = 4) -> Any:
    size = width // heads

    def block(*shape: int) -> Type:
        return Type("bfloat16", (layers, *shape))

    blocks = {
        "before": block(width),
        "after": block(width),
        "q": block(width, heads, size),
        "kv": block(width, heads // 2, 2 * size),
        "out": block(heads, size, width),
        "up": block(width, 8 * width),
        "down": block(4 * width, width),
    }
    return {"blocks": blocks, "embedding": Type("bfloat16", (512, width))}, _i32(4, 129)


def recurrent(jax: Any) -> Callable[..., Any]:
    jnp, lax = jax.numpy, jax.lax

    def loss(params: Any, xs: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ params["w"] + params["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((xs.shape[1], 64))
        return jnp.mean(lax.scan(cell, (zero, zero), xs)[1] ** 2)

    return _step(jax, loss)


def experts(jax: Any) -> Callable[..., Any]:
    """A mixture of experts by grouped products."""
    jnp, lax = jax.numpy, jax.lax

    def loss(params: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ params["router"])
        weight, chosen = lax.top_k(gates, 2)
        order = jnp.argsort(chosen.reshape(-1))
        sizes = jnp.bincount(chosen.reshape(-1), length=8)
        rows = jnp.repeat(x, 2, axis=0)[order]
        hidden = jax.nn.gelu(lax.ragged_dot(rows, params["up"], sizes))
        out = lax.ragged_dot(hidden, params["down"], sizes)
        back = jnp.zeros_like(out).at[order].set(out).reshape(x.shape[0], 2, -1)
        return jnp.mean(jnp.sum(back * weight[..., None], 1) ** 2)

    return _step(jax, loss)


TRAINING: dict[str, tuple[Callable[..., Any], Any]] = {
    "transformer": (transformer, _types(models.transformer_inputs(np, 2))),
    "network, adam": (
        network,
        tuple(_types(models.network_inputs(np, 3, 64, 32)[i]) for i in (0, 0, 0, 1)),
    ),
    "convolutions": (
        convolutions,
        (
            {
                "kernels": [_f32(3, 3, 3, 16), _f32(3, 3, 16, 32), _f32(3, 3, 32, 64)],
                "head": _f32(64, 10),
            },
            _f32(32, 32, 32, 3),
            _i32(32),
        ),
    ),
    "language model": (language_model, language_model_types()),
    "recurrent": (
        recurrent,
        ({"w": _f32(96, 256), "b": _f32(256)}, _f32(20, 16, 32)),
    ),
    "experts": (
        experts,
        (
            {
                "router": _f32(128, 8),
                "up": _f32(8, 128, 256),
                "down": _f32(8, 256, 128),
            },
            _f32(512, 128),
        ),
    ),
}
"""Training steps, and the types of their arguments."""
