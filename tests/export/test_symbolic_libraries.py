"""Decompositions, transforms and random numbers of symbolic lengths, called at several sizes."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import export, lax, random
from effax.scipy import linalg
from tests.export.test_symbolic_export import B, N, agrees, struct

KEY = random.key(3)


def definite(x):
    return x @ jnp.swapaxes(x, -1, -2) + 3 * jnp.eye(x.shape[-1])


def rebuilt(x):
    u, s, v = jnp.linalg.svd(x, full_matrices=False)
    return (u * s[..., None, :]) @ v


BATCHES = {
    "cholesky": lambda x: jnp.linalg.cholesky(definite(x)),
    "eigh": lambda x: jnp.linalg.eigh(definite(x))[0],
    "eig": lambda x: jnp.sort(jnp.abs(jnp.linalg.eig(definite(x))[0]), -1),
    "qr": lambda x: jnp.abs(jnp.linalg.qr(x)[1]),
    "lu": lambda x: lax.linalg.lu(definite(x)),
    "solve": lambda x: jnp.linalg.solve(definite(x), x),
    "triangular": lambda x: linalg.solve_triangular(definite(x), x, lower=True),
    "inv": lambda x: jnp.linalg.inv(definite(x)),
    "slogdet": lambda x: jnp.linalg.slogdet(definite(x)),
    "svd": rebuilt,
    "pinv": lambda x: jnp.linalg.pinv(definite(x)),
    "gradient": effax.grad(lambda x: jnp.linalg.cholesky(definite(x)).sum()),
    "fft": lambda x: jnp.fft.ifft(jnp.fft.fft(x)).real,
    "rfft2": lambda x: jnp.abs(jnp.fft.rfft2(x)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_matrices(name):
    f = BATCHES[name]
    agrees(export.export(effax.jit(f))(struct(B, 3, 3)), f, [struct(B, 3, 3)])


@pytest.mark.parametrize("name", ["cholesky", "eigh", "qr", "lu", "solve", "triangular", "inv"])
def test_matrices_of_unknown_size(name):
    f = BATCHES[name]
    agrees(export.export(effax.jit(f))(struct(N, N)), f, [struct(N, N)])


DRAWN = {
    "bits": lambda x: random.bits(KEY, x.shape),
    "bits of a byte": lambda x: random.bits(KEY, x.shape, "uint8"),
    "uniform": lambda x: random.uniform(KEY, x.shape, minval=x.min(), maxval=9.0),
    "normal": lambda x: random.normal(KEY, x.shape),
    "randint": lambda x: random.randint(KEY, x.shape, 0, 10),
    "bernoulli": lambda x: jnp.where(random.bernoulli(KEY, 0.5, x.shape), x, 0),
    "categorical": lambda x: random.categorical(KEY, x),
    "gamma": lambda x: random.gamma(KEY, jnp.abs(x) + 1),
    "split": lambda x: random.key_data(random.split(KEY, x.shape[0])),
    "in lanes": lambda x: effax.vmap(random.normal)(random.split(KEY, x.shape[0])),
}


@pytest.mark.parametrize("name", DRAWN)
def test_random_numbers_are_those_of_the_size(name):
    f = DRAWN[name]
    agrees(export.export(effax.jit(f))(struct(B, N)), f, [struct(B, N)])


def test_each_platform_has_the_calls_of_its_own():
    platforms = ("cpu", "cuda", "tpu")
    exported = export.export(effax.jit(BATCHES["lu"]), platforms=platforms)(struct(B, 3, 3))
    read = export.deserialize(exported.serialize())
    x = np.random.default_rng(0).standard_normal((4, 3, 3)).astype("f4")
    for found, wanted in zip(read.call(x), BATCHES["lu"](x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
