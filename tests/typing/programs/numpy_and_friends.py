"""Types that functions of arrays take and return."""

from typing import Any, assert_type

import numpy as np

import effax
import effax.numpy as jnp
import effax.scipy.linalg
import effax.scipy.special
import effax.scipy.stats
from effax import lax, nn, random
from effax.typing import ArrayLike, DTypeLike


def made(key: effax.Array, dtype: DTypeLike) -> None:
    assert_type(jnp.zeros(3), effax.Array)
    assert_type(jnp.ones((2, 3), dtype=jnp.bfloat16), effax.Array)
    assert_type(jnp.full([2, 3], 1.0, dtype), effax.Array)
    assert_type(jnp.arange(0, 10, 2), effax.Array)
    assert_type(jnp.array([[1, 2], [3, 4]], dtype=np.float32), effax.Array)
    assert_type(jnp.asarray(np.ones(3)), effax.Array)
    assert_type(jnp.linspace(0.0, 1.0, 5), effax.Array)
    assert_type(jnp.linspace(0.0, 1.0, 5, retstep=True), tuple[effax.Array, effax.Array])
    assert_type(jnp.eye(3), effax.Array)
    assert_type(random.split(key, 3), effax.Array)
    assert_type(random.normal(key, (3, 4), dtype=jnp.float32), effax.Array)
    assert_type(random.randint(key, (3,), 0, 10), effax.Array)
    first, second = random.split(random.key(0))
    print(first, second, jnp.zeros_like(key), jnp.empty(()), jnp.identity(2))


def placed(x: effax.Array, key: effax.Array, where: effax.NamedSharding) -> None:
    print(jnp.zeros((4, 2), out_sharding=where), jnp.reshape(x, (4, 2), out_sharding=effax.P("x")))
    print(random.normal(key, (4,), out_sharding=where), x.at[0].set(1.0, out_sharding=where))
    print(jnp.einsum("ij->ji", x, out_sharding=where), lax.dot(x, x, out_sharding=where))


def computed(x: effax.Array, y: ArrayLike, host: np.ndarray[Any, np.dtype[np.float32]]) -> None:
    assert_type(jnp.sin(x), effax.Array)
    assert_type(jnp.sin(1.0), effax.Array)
    assert_type(jnp.exp(host) + jnp.add(y, 1), effax.Array)
    assert_type(jnp.sum(x, axis=(0, 1)), effax.Array)
    assert_type(jnp.add.reduce(x), effax.Array)
    assert_type(jnp.maximum(x, 0), effax.Array)
    assert_type(jnp.where(x > 0, x, 0.0), effax.Array)
    assert_type(jnp.where(x > 0), tuple[effax.Array, ...])
    assert_type(jnp.concatenate([x, host], axis=-1), effax.Array)
    assert_type(jnp.stack([x, x]), effax.Array)
    assert_type(jnp.split(x, 2), list[effax.Array])
    assert_type(jnp.meshgrid(x, x, indexing="ij"), list[effax.Array])
    assert_type(jnp.unique(x), effax.Array)
    assert_type(jnp.unique(x, return_counts=True), tuple[effax.Array, effax.Array])
    assert_type(jnp.divmod(x, 2), tuple[effax.Array, effax.Array])
    assert_type(jnp.broadcast_arrays(x, 1.0), list[effax.Array])
    assert_type(jnp.einsum("ij,jk->ik", x, x), effax.Array)
    assert_type(jnp.matmul(x, x, precision="highest"), effax.Array)
    assert_type(jnp.atleast_2d(x), effax.Array)
    assert_type(jnp.shape(x), tuple[int, ...])
    assert_type(jnp.ndim(x), int)
    assert_type(jnp.result_type(x, 1.0), np.dtype[Any])
    assert_type(jnp.reshape(x, -1), effax.Array)
    assert_type(jnp.transpose(x, (1, 0)), effax.Array)
    assert_type(jnp.argsort(x), effax.Array)
    assert_type(jnp.clip(x, min=0), effax.Array)
    assert_type(jnp.average(x, returned=True), tuple[effax.Array, effax.Array])
    assert_type(jnp.allclose(x, host), effax.Array)
    assert_type(float(jnp.finfo(x.dtype).eps), float)
    print(jnp.pad(x, 1), jnp.pad(x, [(0, 1), (1, 0)]), jnp.roll(x, 1), jnp.take(x, jnp.arange(2)))
    print(jnp.isclose(x, host).all(), jnp.tile(x, (2, 1)), jnp.repeat(x, 2, axis=0), jnp.pi * x)
    print(jnp.issubdtype(x.dtype, jnp.floating), jnp.float32(1), jnp.inf, x[jnp.newaxis])


def decomposed(x: effax.Array) -> None:
    u, s, vt = jnp.linalg.svd(x, full_matrices=False)
    assert_type(s, effax.Array)
    assert_type(jnp.linalg.svd(x, compute_uv=False), effax.Array)
    q, r = jnp.linalg.qr(x)
    assert_type(jnp.linalg.qr(x, mode="r"), effax.Array)
    w, v = jnp.linalg.eigh(x)
    assert_type(jnp.linalg.norm(x), effax.Array)
    assert_type(jnp.linalg.solve(x, s), effax.Array)
    assert_type(jnp.fft.fft(x, axis=-1), effax.Array)
    assert_type(jnp.fft.fftn(x, axes=(0, 1)), effax.Array)
    assert_type(effax.scipy.linalg.eigh(x, eigvals_only=True), effax.Array)
    assert_type(effax.scipy.special.erf(x), effax.Array)
    assert_type(effax.scipy.stats.norm.logpdf(x, scale=2.0), effax.Array)
    print(u, vt, q, r, w, v)


def layers(x: effax.Array, key: effax.Array) -> None:
    assert_type(nn.relu(x), effax.Array)
    assert_type(nn.softmax(x, axis=-1), effax.Array)
    assert_type(nn.gelu(x), effax.Array)
    assert_type(nn.one_hot(x, 10), effax.Array)
    assert_type(nn.logsumexp(x), effax.Array)
    assert_type(nn.logsumexp(x, return_sign=True), tuple[effax.Array, effax.Array])
    assert_type(nn.initializers.glorot_normal()(key, (3, 4)), effax.Array)
    assert_type(lax.add(x, 1.0), effax.Array)
    assert_type(lax.dynamic_slice(x, (0, 0), (1, 1)), effax.Array)
    print(lax.stop_gradient(x).sum(), lax.psum(x, "i") + 1, effax.device_put({"x": x})["x"])
    assert_type(effax.block_until_ready((x, x)), tuple[effax.Array, effax.Array])


def mistakes(x: effax.Array, key: effax.Array) -> None:
    jnp.sin("hello")  # refused
    jnp.sin([1.0])  # refused
    jnp.sum(x, axes=0)  # refused
    jnp.zeros("3")  # refused
    jnp.zeros(3, dtype=3)  # refused
    jnp.add(x)  # refused
    jnp.concatenate(x, x)  # refused
    jnp.linalg.norm("x")  # refused
    jnp.fft.fft(x, axes=0)  # refused
    lax.add(x, y=x, z=x)  # refused
    random.normal(key, shape="3")  # refused
    nn.relu(x, 1)  # refused
    jnp.reshape(x)  # refused
    count: int = jnp.sum(x)  # refused
    print(count)
