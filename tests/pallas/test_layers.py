"""Kernels for what networks are made of, against the plain functions: values and gradients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import effax as fx
import effax.numpy as jnp
from effax import nn
from effax.experimental.pallas import layers
from tests.pallas.kernels import drawn
from tests.pallas.test_mosaic import lowered
from tests.pallas.test_triton import run

pytestmark = pytest.mark.cpu


def plain(q, k, v, is_causal):
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q, k, v))
    return jnp.swapaxes(nn.dot_product_attention(q, k, v, is_causal=is_causal), 1, 2)


def close(found, expected):
    for x, y in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        assert_allclose(x, y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention(is_causal, heads):
    q, k, v, w = drawn((2, 4, 32, 8), (2, heads, 32, 8), (2, heads, 32, 8), (2, 4, 32, 8))

    def blocks(q, k, v):
        return layers.attention(q, k, v, is_causal=is_causal, block_q=16, block_k=8)

    def gradient(f):
        return fx.grad(lambda *xs: jnp.sum(f(*xs) * w), (0, 1, 2))(q, k, v)

    close(blocks(q, k, v), plain(q, k, v, is_causal))
    close(gradient(blocks), gradient(lambda *xs: plain(*xs, is_causal)))
    close(fx.vmap(blocks)(*(x[None] for x in (q, k, v)))[0], plain(q, k, v, is_causal))


def test_attention_of_other_lengths_and_scale():
    q, k, v = drawn((1, 1, 8, 4), (1, 1, 24, 4), (1, 1, 24, 4))
    found = layers.attention(q, k, v, scale=0.3, block_k=8)
    weights = nn.softmax(0.3 * jnp.einsum("bnth,bnsh->bnts", q, k), axis=-1)
    close(found, jnp.einsum("bnts,bnsh->bnth", weights, v))


def test_attention_holds_no_matrix_of_weights():
    def text(f):
        x = fx.ShapeDtypeStruct((1, 1, 512, 8), "float32")
        return fx.jit(fx.grad(lambda x: jnp.sum(f(x, x, x)))).lower(x).as_text()

    assert "512x512" in text(lambda *xs: plain(*xs, True))
    assert "512x512" not in text(lambda *xs: layers.attention(*xs, is_causal=True))


def test_attention_for_a_gpu():
    q, k, v = drawn((1, 2, 32, 16), (1, 1, 32, 16), (1, 1, 32, 16))

    def blocks(q, k, v):
        return layers.attention(q, k, v, is_causal=True, block_q=16, block_k=16)

    def forward(q, k, v):  # the function, and not the rule of its derivative
        return layers._Attention(True, 0.25, 16, 16, False).forward(q, k, v)[0]

    close(run(forward, q, k, v), blocks(q, k, v))


def test_attention_for_a_tpu():
    x = fx.ShapeDtypeStruct((1, 2, 512, 128), "bfloat16")

    def loss(*xs):
        return jnp.sum(layers.attention(*xs, is_causal=True).astype("float32"))

    def gradient(*xs):
        return fx.grad(loss, (0, 1, 2))(*xs)

    _, texts = lowered(gradient, x, x, x)
    assert len(texts) == 3
    assert all("dimension_semantics<parallel>" in text for text in texts)


@pytest.mark.parametrize(
    "shapes, match",
    [
        (((2, 8, 4), (2, 8, 4)), "must be of shape"),
        (((1, 3, 8, 4), (1, 2, 8, 4)), "a multiple of those of key"),
        (((1, 1, 130, 4), (1, 1, 8, 4)), "must be multiples of the block sizes"),
    ],
)
def test_attention_refuses_shapes_that_do_not_fit(shapes, match):
    q, k = drawn(*shapes)
    with pytest.raises(ValueError, match=match):
        layers.attention(q, k, k)


@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 5, 8), (19, 8), (3, 2048)])
def test_rms_norm(shape):
    def of_rows(x, w):
        return x * fx.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * w

    x, w, ct = drawn(shape, shape[-1], shape)
    close(layers.rms_norm(x, w), of_rows(x, w))
    close(fx.vjp(layers.rms_norm, x, w)[1](ct), fx.vjp(of_rows, x, w)[1](ct))
    half = layers.rms_norm(x.astype("float16"), w)
    assert half.dtype == np.float16
    assert_allclose(half, of_rows(x, w), rtol=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match="must be of shape"):
        layers.rms_norm(x, w[:3])
